//! A look at every step at which a fixture stands still: no figure may be off by one.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use crate::{
    support::{
        self,
        fixture::Fixture,
        line::{Differences, number},
    },
    watch::Watch,
};

/// A little more than the settle time of a trace, which is 50 ms.
const SETTLE: Duration = Duration::from_millis(60);

/// Runs fixtures one after the other, attached to before they do anything, and looks at every step of each.
fn agree(name: &str, runs: &[&[&str]]) {
    let Some(_kernel) = support::kernel() else { return };
    let confines = name == "landlock-burst" || runs.iter().any(|args| args[0] == "02");
    if confines && !support::landlock() {
        return;
    }
    let mut differences = Differences::default();
    let mut last = BTreeMap::new();
    let mut watch = Watch::start();
    for args in runs {
        step_through(&mut watch, name, args, &mut last, &mut differences);
    }
    in_the_report(watch, &last, &mut differences);
    differences.none(&format!("{name} {runs:?}"));
}

/// One fixture from start to end; `last` gets the last line of each of its processes.
fn step_through(
    watch: &mut Watch,
    name: &str,
    args: &[&str],
    last: &mut BTreeMap<u64, Value>,
    differences: &mut Differences,
) {
    let mut fixture = Fixture::start(name, args);
    fixture.wait_until_it_reads();
    watch.attach(fixture.pid());
    fixture.go();
    while let Some(line) = fixture.next() {
        watch.compare(&line, differences);
        let step = line["step"].as_str().unwrap_or_default().to_owned();
        if line["fixture"] != "after-exec" {
            last.insert(number(&line, "pid"), line);
        }
        if step == "end" {
            // Still for the settle time: this is where the table came to rest.
            std::thread::sleep(SETTLE);
        }
        fixture.go();
        if name == "fd-holder" && step == "holding" {
            // Its stdin stays open for the line that it waits for at the end.
            support::limits::kill(fixture.pid(), libc::SIGTERM);
        }
    }
    assert!(fixture.wait().success(), "{name} {args:?} failed");
    support::poll(2, "the last process has gone", || (watch.alive() == 0).then_some(()));
}

/// The report says the same as the last line of each process.
fn in_the_report(watch: Watch, last: &BTreeMap<u64, Value>, differences: &mut Differences) {
    let report = serde_json::to_value(watch.finish()).expect("the report is JSON");
    for (pid, line) in last {
        let rows = report["tables"].as_array().expect("tables").iter();
        let mine: Vec<&Value> =
            rows.filter(|row| row["pids"].as_array().is_some_and(|pids| pids.iter().any(|p| *p == *pid))).collect();
        let about = format!("{} {pid} in the report", line["fixture"]);
        differences.check(&format!("{about}, ended tables"), mine.iter().filter(|row| row["live"] != 0).count(), 0);
        let high = mine.iter().map(|row| number(row, "high_water")).max();
        differences.check(&format!("{about}, high-water"), high, Some(number(line, "high_water")));
        if line["step"] == "end" {
            let sum = |field: &str| mine.iter().map(|row| number(row, field)).sum::<u64>();
            differences.check(&format!("{about}, installs"), sum("installs"), number(line, "opens"));
            differences.check(&format!("{about}, closes"), sum("closes"), number(line, "closes"));
            differences.check(&format!("{about}, settled"), sum("settled"), number(line, "live"));
        }
    }
}

/// One test for each fixture, with one or more ways to run it.
macro_rules! steps {
    ($($test:ident: $name:literal $([$($arg:literal),*])*;)*) => {
        $(#[test]
        fn $test() {
            agree($name, &[$(&[$($arg),*]),*]);
        })*
    };
}

steps! {
    an_eager_burst_agrees_at_its_crest_and_before_each_fork:
        "landlock-burst"
        ["--mode", "eager", "--entries", "987", "--execs", "3"]
        ["--mode", "eager", "--entries", "1500", "--execs", "1", "--private", "yes", "--nofile", "2000"];
    a_burst_that_does_not_fit_agrees:
        "landlock-burst" ["--mode", "eager", "--entries", "600", "--execs", "3", "--nofile", "512"];
    a_lazy_burst_agrees_at_its_crest_and_before_each_fork:
        "landlock-burst" ["--mode", "lazy", "--entries", "987", "--execs", "3"];
    many_kinds_agree: "fd-holder" ["--count", "300"];
    numbers_beyond_the_first_chunk_agree: "fd-holder" ["--count", "3000"] ["--count", "1020"] ["--count", "1022"];
    case_01_a_burst_in_the_child_agrees:
        "fd-case" ["01", "--program", "self", "--execs", "3"] ["01", "--program", "self", "--entries", "2500"];
    case_02_churn_agrees: "fd-case" ["02"] ["02", "--program", "self"];
    case_03_near_the_limit_agrees: "fd-case" ["03"] ["03", "--nofile", "256", "--hold", "250", "--execs", "3"];
    case_04_accept_at_the_limit_agrees: "fd-case" ["04"];
    case_05_a_lost_eventfd_per_exec_agrees: "fd-case" ["05"];
    case_06_a_lost_pidfd_per_child_agrees: "fd-case" ["06"];
    case_12_a_deep_walk_agrees_also_at_256: "fd-case" ["12"] ["12", "--depth", "1200"];
    case_13_an_exec_from_a_thread_agrees:
        "fd-case" ["13"] ["13", "--leader", "exit"] ["13", "--program", "true"];
    case_15_a_daemon_agrees: "fd-case" ["15"] ["15", "--root", "exits", "--linger", "10"];
    case_22_a_killed_holder_agrees: "fd-case" ["22"];
    case_26_a_program_that_probes_its_limit_agrees: "fd-case" ["26"];
    execs_one_after_the_other_agree: "exec-loop" ["--execs", "50", "--hold", "20"];
}
