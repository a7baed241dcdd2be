use fdtide_abi::event::{ExecRecord, Header, record};

use super::*;
use crate::{
    event::{Exit, Group, decode::decode},
    model::testing::{child, exec, exec_event, exit, head, proc, process, snapshot},
};

/// A process of a group that the kernel is not sure of.
fn unsure(process: Process, group: u32) -> Process {
    Process { group: Group { id: group, unsure: true }, ..process }
}

/// A process that was not traced before its exec.
fn caught(pid: u32, table: u64, group: u32) -> Process {
    Process { caught: true, target: true, ..unsure(process(pid, table, "x"), group) }
}

/// An exec, whose bytes are a record's.
fn execs(process: &Process) -> (Vec<u8>, Event) {
    // SAFETY: integers, of which zero is a value.
    let mut raw: ExecRecord = unsafe { std::mem::zeroed() };
    raw.header = Header { kind: record::EXEC, len: size_of::<ExecRecord>() as u32, at_ns: 5 };
    (raw.row.tgid, raw.row.flags, raw.flags) = (process.id.pid, fdtide_abi::table::proc_flag::SPAWNER_KNOWN, 7);
    // SAFETY: integers without padding.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const raw).cast::<u8>(), size_of::<ExecRecord>()) };
    let table = process.table.map_or(0, |table| table.0);
    (bytes.to_vec(), exec_event(exec(5, process, "/bin/x", 3, head(table, 3), None)))
}

fn kept(sift: &mut Sift, event: &Event) -> bool {
    sift.sift(b"", event, |_, _| false).is_some()
}

#[test]
fn of_what_the_kernel_is_sure_of_everything_is_kept() {
    let mut sift = Sift::default();
    let root = process(7, 1, "sh");
    assert!(kept(&mut sift, &proc(1, &root, 3)) && kept(&mut sift, &execs(&root).1));
    assert!(kept(&mut sift, &exit(2, &root, 0, head(1, 3))) && sift.is_idle());
}

#[test]
fn a_process_that_is_not_meant_leaves_no_trace_nor_do_its_children() {
    let mut sift = Sift::default();
    let other = caught(7, 1, 40);
    let forked = unsure(child(8, 2, "x", &other), 40);
    assert!(!kept(&mut sift, &execs(&other).1));
    assert!(!kept(&mut sift, &proc(2, &forked, 3)));
    for table in [1, 2] {
        assert!(!kept(&mut sift, &snapshot(3, head(table, 3))));
    }
    assert!(kept(&mut sift, &snapshot(3, head(3, 3))), "a table of somebody else");
    assert_eq!(sift.answers().verdicts, [(40, Verdict::Leaves)]);
    assert!(!kept(&mut sift, &exit(4, &forked, 0, head(2, 3).unused())));
    assert!(!kept(&mut sift, &exit(4, &other, 0, head(1, 3).unused())));
    assert!(!kept(&mut sift, &snapshot(5, head(1, 3))), "a look that was under way");
    sift.answers();
    sift.answers();
    assert!(sift.procs.is_empty() && sift.tables.is_empty() && sift.groups.is_empty(), "nothing is remembered of it");
    assert!(sift.is_idle());
}

#[test]
fn a_target_is_kept_with_all_that_it_starts_before_the_kernel_knows() {
    let mut sift = Sift::default();
    let target = caught(7, 1, 40);
    let (bytes, event) = execs(&target);
    // No spawner was told, so nothing of it need be left out.
    assert_eq!(sift.sift(&bytes, &event, |_, _| true), Some(Cow::Borrowed(&bytes[..])));
    let forked = unsure(child(8, 2, "x", &target), 40);
    assert!(kept(&mut sift, &proc(2, &forked, 3)));
    let execed = Process { group: Group { id: 41, unsure: true }, ..forked };
    assert!(kept(&mut sift, &execs(&execed).1), "whatever it execs, it descends from a target");
    let answers = sift.answers();
    assert_eq!(answers.verdicts, [(40, Verdict::Stays(40)), (41, Verdict::Stays(40))]);
    assert_eq!(answers.accepted, [target.id], "it alone is a target by itself");
}

#[test]
fn a_target_in_the_tree_of_one_that_is_not_is_told_without_it() {
    let mut sift = Sift::default();
    let other = caught(7, 1, 40);
    assert!(!kept(&mut sift, &execs(&other).1));
    let forked = unsure(child(8, 2, "x", &other), 40);
    assert!(!kept(&mut sift, &proc(2, &forked, 3)));
    let (bytes, event) = execs(&Process { group: Group { id: 41, unsure: true }, ..forked.clone() });
    let told = sift.sift(&bytes, &event, |_, _| true).expect("it is meant");
    let Ok(Event::Exec(told)) = decode(&told) else { panic!("an exec") };
    assert!(told.process.caught && told.process.target && !told.process.spawner.known && told.spawner.is_none());
    assert!(kept(&mut sift, &snapshot(3, head(2, 3))), "its table is a target's now");
    assert_eq!(sift.answers().verdicts, [(40, Verdict::Leaves), (41, Verdict::Stays(41))]);
}

#[test]
fn where_the_exec_did_not_come_through_the_next_record_is_asked() {
    let mut sift = Sift::default();
    let lost = unsure(child(8, 2, "x", &process(7, 1, "x")), 40);
    assert!(sift.sift(b"", &proc(2, &lost, 3), |_, exec| exec.is_none()).is_some());
    assert_eq!(sift.answers().verdicts, [(40, Verdict::Stays(40))]);
    // Of one that is first heard of at its end nothing is told.
    let end = Event::Exit(Box::new(crate::event::Ended {
        at_ns: 3,
        process: caught(9, 3, 50),
        exit: Exit::Code(0),
        table: None,
    }));
    assert!(!kept(&mut sift, &end));
}
