//! Records as bytes, read back.

use fdtide_abi::abi::kind::KINDS;
use fdtide_abi::event::{ExecRecord, ExitRecord, Header, MoveRecord, ProcRecord, TableRecord};
use fdtide_abi::table::COMM;
use proptest::prelude::*;

use super::*;
use crate::event::Kind;

/// A record of zeros with this header, as bytes.
fn zeros<T>(kind: u32, at_ns: u64) -> Vec<u8> {
    let mut bytes = vec![0; size_of::<T>()];
    bytes[0..4].copy_from_slice(&kind.to_ne_bytes());
    bytes[4..8].copy_from_slice(&(size_of::<T>() as u32).to_ne_bytes());
    bytes[8..16].copy_from_slice(&at_ns.to_ne_bytes());
    bytes
}

fn bytes_of<T: Record>(value: &T) -> Vec<u8> {
    // SAFETY: a `Record` is integers without padding, as many bytes as its size.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }.to_vec()
}

fn zeroed<T: Record>(kind: u32, at_ns: u64) -> T {
    read(&zeros::<T>(kind, at_ns)).unwrap()
}

fn comm(text: &str) -> [u8; COMM] {
    let mut comm = [0; COMM];
    comm[..text.len()].copy_from_slice(text.as_bytes());
    comm
}

fn row() -> ProcRow {
    let mut record: ProcRecord = zeroed(record::PROC, 0);
    record.row.start_ns = 77;
    record.row.tgid = 4242;
    record.row.ns_tgid = 2;
    record.row.table_id = 9;
    record.row.flags = proc_flag::SPAWNER_KNOWN | proc_flag::TARGET;
    (record.row.spawner_tgid, record.row.spawner_tid, record.row.spawner_start_ns) = (4000, 4001, 66);
    record.row.comm = comm("landlock-burst");
    record.row.spawner_comm = comm("sh");
    record.row.spawner_thread = comm("tokio-rt-worker");
    record.row
}

#[test]
fn a_process_is_read_with_its_spawner() {
    let mut record: ProcRecord = zeroed(record::PROC, 5);
    (record.row, record.live, record.soft) = (row(), 12, 1024);
    let Event::Proc(proc) = decode(&bytes_of(&record)).unwrap() else { panic!("not a process") };
    assert_eq!((proc.at_ns, proc.live, proc.soft), (5, 12, 1024));
    assert_eq!(proc.process.id, ProcId { start_ns: 77, pid: 4242 });
    assert_eq!((proc.process.ns_pid, proc.process.table), (2, Some(TableId(9))));
    assert!(proc.process.target && !proc.process.seeded && proc.process.spawner.known);
    assert_eq!((proc.process.spawner.tid, proc.process.spawner.table), (4001, None));
    assert_eq!(proc.process.spawner.thread, Name::from("tokio-rt-worker"));
}

#[test]
fn a_dirty_mark_has_the_current_composition() {
    let mut record: TableRecord = zeroed(record::TABLE, 5);
    record.reason = table_reason::SNAPSHOT;
    let table = &mut record.table;
    (table.live, table.settled, table.highest) = (990, UNSETTLED, NO_NUMBER);
    (table.kinds[1], table.kinds[4], table.kinds[KINDS - 1]) = (3, 987, 2);
    table.dirty = scope::LIFE | scope::WINDOW;
    table.image.kinds[1] = 7;
    table.life.kinds[1] = 999;
    let Event::Table(seen) = decode(&bytes_of(&record)).unwrap() else { panic!("not a table") };
    let current: Kinds = [(Kind::File, 3), (Kind::OPath, 987), (Kind::Unknown, 2)].into_iter().collect();
    assert_eq!((&seen.table.kinds, &seen.table.life.kinds, &seen.table.window.kinds), (&current, &current, &current));
    assert_eq!(seen.table.image.kinds, [(Kind::File, 7)].into_iter().collect());
    assert_eq!((seen.table.settled, seen.table.highest, seen.reason), (None, None, Reason::Snapshot));
}

#[test]
fn an_exec_has_only_the_tables_that_its_flags_name() {
    let mut record: ExecRecord = zeroed(record::EXEC, 5);
    (record.row, record.live) = (row(), 3);
    record.filename[..13].copy_from_slice(b"/usr/bin/true");
    record.kinds[5] = 3;
    record.before.live = 40;
    record.flags = exec_flag::HAS_BEFORE | exec_flag::SELF;
    let Event::Exec(exec) = decode(&bytes_of(&record)).unwrap() else { panic!("not an exec") };
    assert_eq!((exec.path.clone(), exec.live, exec.kinds.get(Kind::Pipe)), (Name::from("/usr/bin/true"), 3, 3));
    assert_eq!((exec.before.map(|head| head.live), exec.spawner.is_none(), exec.again), (Some(40), true, true));
}

#[test]
fn an_exit_has_its_status_and_failures() {
    let mut record: ExitRecord = zeroed(record::EXIT, 5);
    (record.exit_code, record.has_table) = (9, 1);
    let failure = &mut record.table.failures[0];
    (failure.count, failure.nr, failure.errno, failure.lowest_free) = (19, 293, 24, NO_NUMBER);
    let failure = &mut record.table.failures[1];
    (failure.count, failure.nr, failure.errno) = (1, 5 | NR_COMPAT, 24);
    let Event::Exit(ended) = decode(&bytes_of(&record)).unwrap() else { panic!("not an exit") };
    assert_eq!(ended.exit, Exit::Signal { signal: 9, core: false });
    let failures = ended.table.unwrap().failures;
    let names: Vec<_> = failures.iter().map(|f| (f.syscall.name(), f.count, f.lowest_free)).collect();
    assert_eq!(names, [("pipe2".into(), 19, None), ("open (32-bit)".into(), 1, Some(0))]);
}

#[test]
fn a_move_names_both_tables() {
    let mut record: MoveRecord = zeroed(record::MOVE, 5);
    (record.from_id, record.to_id, record.tid, record.live) = (1, 2, 3, 4);
    let Event::Move(moved) = decode(&bytes_of(&record)).unwrap() else { panic!("not a move") };
    assert_eq!((moved.from, moved.to, moved.tid, moved.live), (TableId(1), TableId(2), 3, 4));
}

#[test]
fn what_can_not_be_read_is_an_error_that_says_why() {
    assert_eq!(decode(&[]), Err(DecodeError::NoHeader { len: 0 }));
    assert_eq!(decode(&zeros::<Header>(99, 0)), Err(DecodeError::UnknownKind { kind: 99 }));
    let mut longer = zeros::<ProcRecord>(record::PROC, 0);
    longer[4] += 8;
    longer.extend([0; 8]);
    let error = decode(&longer).unwrap_err();
    assert!(matches!(error, DecodeError::Length { kind: record::PROC, .. }), "{error}");
    let reason = decode(&zeros::<TableRecord>(record::TABLE, 0)).unwrap_err();
    assert_eq!(reason.to_string(), "table record with unknown reason 0");
}

#[test]
fn every_truncation_is_an_error() {
    let whole = [
        zeros::<ProcRecord>(record::PROC, 0),
        zeros::<ExecRecord>(record::EXEC, 0),
        zeros::<ExitRecord>(record::EXIT, 0),
        zeros::<MoveRecord>(record::MOVE, 0),
    ];
    for bytes in whole {
        assert!(decode(&bytes).is_ok());
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len} of {}", bytes.len());
        }
    }
}

/// Right head, anything behind it.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let size = size_of::<ExecRecord>();
    (1..6u32, 1..4u32, proptest::collection::vec(any::<u8>(), size)).prop_map(|(kind, reason, mut bytes)| {
        let len = match kind {
            record::PROC => size_of::<ProcRecord>(),
            record::EXEC => size_of::<ExecRecord>(),
            record::EXIT => size_of::<ExitRecord>(),
            record::TABLE => size_of::<TableRecord>(),
            _ => size_of::<MoveRecord>(),
        };
        bytes.truncate(len);
        bytes[0..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&(len as u32).to_ne_bytes());
        if kind == record::TABLE {
            bytes[16..20].copy_from_slice(&reason.to_ne_bytes());
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_give_an_event_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn garbage_goes_all_the_way_through(records in proptest::collection::vec(garbage(), 1..12)) {
        use crate::model::{End, Model, Options};
        let mut model = Model::new(Options::default());
        for bytes in &records {
            model.apply(&decode(bytes).unwrap());
        }
        let report = model.finish(End { at_ns: 1, ..End::default() });
        let mut out = Vec::new();
        crate::sink::text::write(&report, &mut out).unwrap();
        crate::sink::json::write(&report, &mut out).unwrap();
        for record in &report.execs {
            crate::sink::jsonl::write_exec(record, &mut out).unwrap();
        }
    }
}
