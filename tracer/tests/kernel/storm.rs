//! Many processes at once: every one is told, and nothing of them stays in the kernel.

use std::{process::Command, thread};

use fdtide::{
    event::{Event, decode},
    probe::{Choice, LoadOptions, Session},
};

use crate::support::{
    self,
    fixture::{Fixture, bin},
    line::number,
    poll, watch,
};

/// All of them may be alive at once, and the ring has room for what is told of them: under emulation nobody may come to empty it
/// before the storm is over. `cargo xtask bench` has ten thousand.
const PROCESSES: usize = 200;

/// What the records told.
#[derive(Default)]
struct Told {
    /// Live descriptors before each exec of a process that was forked.
    before: Vec<u32>,
    ends: usize,
}

impl Told {
    fn read(records: &[Vec<u8>]) -> Self {
        let mut told = Self::default();
        for record in records {
            match decode(record).expect("a record of this version") {
                Event::Exec(exec) if !exec.again => told.before.extend(exec.before.map(|head| head.live)),
                Event::Exit(_) => told.ends += 1,
                _ => {}
            }
        }
        told
    }
}

#[test]
fn a_fork_storm_is_told_whole_and_leaves_nothing_behind() {
    let Some(_kernel) = support::kernel() else { return };
    let mut session = Session::open(Choice::from_env(), &LoadOptions::default()).expect("a session");
    let mut storm =
        Fixture::spawn(Command::new(bin("fork-storm")).args(["--step", "--processes", &PROCESSES.to_string()]));
    storm.next().expect("the line `base`");
    session.add_target(storm.pid()).expect("it is traced");
    // As in the tool, whoever empties the ring does not wait for its turn after the storm.
    // SAFETY: no preconditions; 0 is this thread.
    let nice = |level| unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, level) };
    nice(-10);
    storm.go();
    // Read when it is over: a debug build under emulation takes longer to than the storm.
    let mut records: Vec<Vec<u8>> = Vec::new();
    let end = thread::scope(|scope| {
        let end = scope.spawn(|| storm.next().expect("the line `end`"));
        while !end.is_finished() {
            session.drain(|bytes| records.push(bytes.to_vec()));
        }
        end.join().expect("a line")
    });
    nice(0);
    storm.go();
    assert!(storm.wait().success());
    let missed: u64 = session.coverage().expect("counters").missed.iter().map(|(_, count)| count).sum();
    if missed > 0 && support::skips_hooks() {
        return support::skip(&format!(
            "the kernel skipped {missed} runs of hooks, as it preempts tasks inside of them"
        ));
    }
    poll(10, "the last process has gone", || session.is_deserted().then_some(()));
    session.drain(|bytes| records.push(bytes.to_vec()));
    let told = Told::read(&records);
    let mut left = Vec::new();
    session.snapshot(|bytes| left.push(decode(bytes))).expect("a snapshot");
    let counters = session.coverage().expect("counters").counters;
    let counted = watch::busy(&counters);
    let about = format!("{} execs and {} ends told, counted {counted:?}", told.before.len(), told.ends);
    assert!(left.is_empty(), "{} tables are left in the kernel, {about}; the first: {:?}", left.len(), left[0]);
    let stopped = session.stop(|_| ()).expect("it stops");
    assert_eq!(stopped.lost(), 0, "{about}");
    let forkers = number(&end, "forkers") as usize;
    assert_eq!((told.before.len(), told.ends), (PROCESSES, PROCESSES + forkers + 1));
    assert!(told.before.iter().all(|live| u64::from(*live) == number(&end, "high_water")), "{:?}", told.before);
}
