//! Many targets at once, and targets that come and go while the trace runs.

use std::{collections::BTreeMap, path::Path, process::Command};

use fdtide::{
    event::{Event, Head, decode},
    model::Options,
    pipeline::{self, Pipeline},
    probe::{Choice, Extent, LoadOptions, ProbeError, Session},
    record::Depth,
    target::{Selector, Targets},
};
use serde_json::Value;

use crate::{
    support::{
        self,
        fixture::{Fixture, bin},
        limits::kill,
        line::number,
    },
    world::holding,
};

/// As many as issue 6 asks for.
const ROOTS: u32 = 1000;

/// A trace whose targets are changed while it runs.
struct Trace {
    session: Session,
    pipeline: Pipeline,
    targets: Targets,
}

impl Trace {
    fn start(selectors: &[String], follow_new: bool) -> Self {
        let session = Session::open(Choice::from_env(), &LoadOptions::default()).expect("a session");
        let start = pipeline::start(&session, Vec::new(), Options::default(), Depth::Records);
        let selectors = selectors.iter().map(|text| text.parse().expect("a selector")).collect();
        let targets = Targets::new(Path::new("/"), selectors, follow_new);
        Self { session, pipeline: Pipeline::new(start, false), targets }
    }

    /// What an agent does several times a second.
    fn tend(&mut self) {
        self.take();
        self.targets.tend(&mut self.session).expect("the kernel is told");
    }

    fn take(&mut self) {
        let Self { session, pipeline, targets } = self;
        session.drain(|bytes| targets.take(bytes, &mut |input, event| pipeline.take_decoded(input, event)));
    }

    /// Every table that is followed now, by its process.
    fn tables(&mut self) -> BTreeMap<u32, Head> {
        self.take();
        let mut tables = BTreeMap::new();
        let look = |bytes: &[u8]| {
            if let Ok(Event::Table(seen)) = decode(bytes) {
                tables.insert(seen.table.owner, seen.table);
            }
        };
        self.session.snapshot(look).expect("a snapshot");
        tables
    }

    fn finish(mut self) -> fdtide::model::Report {
        self.take();
        let Self { session, mut pipeline, mut targets } = self;
        let stopped = session
            .stop(|bytes| targets.take(bytes, &mut |input, event| pipeline.take_decoded(input, event)))
            .expect("it stops");
        assert_eq!(stopped.lost(), 0);
        pipeline.take(fdtide::record::Input::End(Box::new(pipeline::closing(&stopped, None, None))));
        pipeline.finish()
    }
}

/// A fixture that holds something and waits.
fn held(count: u32) -> (Fixture, Value) {
    holding(&mut Command::new(bin("fd-holder")), count)
}

/// As [`held`], and its process id; not a child of this test's process, whose children a search passes over.
fn held_apart(count: u32) -> (Fixture, u32, Value) {
    let script = "\"$0\" \"$@\" <&0; exit 0";
    let (shell, line) = holding(Command::new("sh").args(["-c", script]).arg(bin("fd-holder")), count);
    let pid = crate::world::child_of(shell.pid());
    (shell, pid, line)
}

#[test]
fn a_thousand_roots_are_added_at_once_and_removed_while_they_run() {
    let Some(_kernel) = support::kernel() else { return };
    let all: Vec<(Fixture, Value)> = (0..ROOTS).map(|n| held(4 + n % 13)).collect();
    let pids: Vec<u32> = all.iter().map(|(fixture, _)| fixture.pid()).collect();
    let mut trace = Trace::start(&[], false);
    let since = std::time::Instant::now();
    assert_eq!(trace.session.add_targets(&pids).expect("they are traced"), Vec::<u32>::new());
    println!("{ROOTS} roots added in {:?}", since.elapsed());
    let tables = trace.tables();
    assert_eq!(trace.pipeline.alive(), ROOTS as usize);
    for (fixture, line) in &all {
        assert_eq!(u64::from(tables[&fixture.pid()].live), number(line, "live"));
    }
    let (out, stay) = pids.split_at(300);
    for pid in out {
        assert_eq!(trace.session.remove(*pid, Extent::Tree).expect("it is let go"), 1);
    }
    assert_eq!(trace.tables().keys().copied().collect::<Vec<_>>(), {
        let mut stay = stay.to_vec();
        stay.sort_unstable();
        stay
    });
    assert_eq!(trace.pipeline.alive(), stay.len());
    // Those that were let go come back, and the others have not noticed.
    assert!(trace.session.add_targets(out).expect("they are traced").is_empty());
    assert_eq!(trace.tables().len(), ROOTS as usize);
    let report = trace.finish();
    assert_eq!(report.tables.len(), ROOTS as usize + out.len());
    for (fixture, line) in &all {
        let rows = report.tables.iter().filter(|row| row.pids[0] == fixture.pid());
        assert!(rows.clone().count() == 1 + usize::from(out.contains(&fixture.pid())));
        rows.for_each(|row| assert_eq!(row.high_water.map(u64::from), Some(number(line, "live"))));
    }
}

#[test]
fn a_selector_that_is_taken_back_lets_go_what_no_other_one_fits() {
    let Some(_kernel) = support::kernel() else { return };
    let (_one, one, _) = held_apart(7);
    let (_two, two, line) = held_apart(8);
    let both = format!("exe:{}", bin("fd-holder").display());
    let only = format!("pid:{two}");
    let mut trace = Trace::start(&[both.clone(), only.clone()], false);
    assert!(trace.targets.begin(&mut trace.session).expect("they are found") >= 2);
    let selector = |text: &str| text.parse::<Selector>().expect("a selector");
    assert!(trace.tables().contains_key(&one));
    let removed = trace.targets.remove(&mut trace.session, &selector(&both)).expect("it is in force");
    assert!(removed >= 1);
    let tables = trace.tables();
    assert_eq!(tables.keys().copied().collect::<Vec<_>>(), [two]);
    assert_eq!(u64::from(tables[&two].live), number(&line, "live"));
    let again = trace.targets.remove(&mut trace.session, &selector(&both)).expect_err("it has gone");
    assert!(again.to_string().contains(&only), "{again}");
    // And back again, while the other one is traced.
    let pid = format!("pid:{one}");
    let added = trace.targets.add(&mut trace.session, selector(&pid)).expect("it is there");
    assert_eq!((added.processes, added.already), (1, false));
    assert_eq!(trace.tables().len(), 2);
    // Once more changes nothing, and tells who is traced.
    let again = trace.targets.add(&mut trace.session, selector(&pid)).expect("it is known");
    assert_eq!((again.processes, again.already), (1, true));
    assert_eq!((trace.tables().len(), trace.targets.selectors().count()), (2, 2));
    assert!(trace.targets.add(&mut trace.session, selector("name:nobody-is-called-this")).is_err());
    assert_eq!(trace.targets.selectors().count(), 2);
}

/// A process that has this id; None where ids can't be chosen.
fn with_id(pid: u32) -> Option<Fixture> {
    support::poll(20, "the id is given away again", || {
        if std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).is_err() {
            return Some(None);
        }
        let fixture = Fixture::spawn(&mut Command::new("cat"));
        (fixture.pid() == pid).then_some(Some(fixture))
    })
}

#[test]
fn an_id_whose_process_has_ended_means_whoever_has_it_now() {
    let Some(_kernel) = support::kernel() else { return };
    let mut trace = Trace::start(&[], false);
    let mut first = Fixture::spawn(&mut Command::new("cat"));
    let pid = first.pid();
    let selector: Selector = format!("pid:{pid}").parse().expect("a selector");
    let added = trace.targets.add(&mut trace.session, selector.clone()).expect("it is there");
    assert_eq!((added.processes, added.already), (1, false));
    kill(pid, libc::SIGKILL);
    first.wait();
    trace.tables();
    let nobody = trace.targets.add(&mut trace.session, selector.clone()).expect_err("nobody has it");
    assert!(nobody.to_string().contains(&pid.to_string()), "{nobody}");
    assert_eq!(trace.targets.selectors().count(), 1);
    let Some(_second) = with_id(pid) else {
        support::skip("process ids can't be chosen here");
        return;
    };
    let added = trace.targets.add(&mut trace.session, selector).expect("it is there again");
    assert_eq!((added.processes, added.already, trace.targets.selectors().count()), (1, false, 1));
    assert_eq!(trace.tables().keys().copied().collect::<Vec<_>>(), [pid]);
}

#[test]
fn one_process_of_a_tree_can_be_let_go_alone() {
    let Some(_kernel) = support::kernel() else { return };
    let mut shell = Fixture::spawn(Command::new("sh").args(["-c", "exec 7</; (echo '{}'; read line) <&0; exit 0"]));
    shell.next().expect("the child runs");
    let child = crate::world::child_of(shell.pid());
    let mut trace = Trace::start(&[], false);
    trace.session.add_target(shell.pid()).expect("it is traced");
    assert!(matches!(trace.session.remove(child, Extent::Tree), Err(ProbeError::NoTarget(_))));
    assert!(matches!(trace.session.remove(1, Extent::Alone), Err(ProbeError::NotTraced(1))));
    assert_eq!(trace.session.remove(child, Extent::Alone).expect("it is let go"), 1);
    assert_eq!(trace.tables().keys().copied().collect::<Vec<_>>(), [shell.pid()]);
    shell.go();
    shell.wait();
    let report = trace.finish();
    let state = |pid: u32| report.tables.iter().find(|row| row.pids[0] == pid).map(|row| row.state);
    use fdtide::model::report::TableState::{Ended, Removed};
    assert_eq!((state(shell.pid()), state(child)), (Some(Ended), Some(Removed)));
}

#[test]
fn what_is_not_meant_is_let_go_by_the_kernel_while_it_runs_and_what_is_stays() {
    let Some(_kernel) = support::kernel() else { return };
    let mut trace = Trace::start(&["exe:*/fd-holder".to_owned(), "exe:fd-h?lder".to_owned()], true);
    trace.targets.begin(&mut trace.session).expect("it is told");
    // A shell with a child, which both run on. What this process itself starts is no target: it is the agent here.
    let apart = || {
        let mut command = Command::new("unshare");
        command.args(["--fork", "--kill-child"]);
        command
    };
    let mut other = Fixture::spawn(apart().args(["sh", "-c", "exec 7</; echo '{}'; cat; exit 0"]));
    other.next().expect("it runs");
    let shell = crate::world::child_of(other.pid());
    let cat = crate::world::child_of(shell);
    let (fixture, line) = holding(apart().arg(bin("fd-holder")), 14);
    let pid = crate::world::child_of(fixture.pid());
    assert_eq!(trace.session.untraced(&[shell, pid]).expect("a map"), Vec::<u32>::new(), "both are traced at first");
    support::poll(5, "the shell and its child are let go", || {
        trace.tend();
        (trace.session.untraced(&[shell, cat]).expect("a map").len() == 2).then_some(())
    });
    let tables = trace.tables();
    assert_eq!(tables.keys().copied().collect::<Vec<_>>(), [pid], "nothing of the others is left in the kernel");
    assert_eq!(u64::from(tables[&pid].live), number(&line, "live"));
    assert_eq!(trace.pipeline.alive(), 1);
    drop((fixture, other));
    let report = trace.finish();
    assert_eq!((report.tables.len(), report.execs.len()), (1, 1));
}
