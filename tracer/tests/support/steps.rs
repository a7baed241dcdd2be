//! A look at every step at which a fixture stands still: no figure may be off by one.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::{
    fixture::Fixture,
    line::{Differences, number},
    watch::Watch,
};

/// A little more than the settle time of a trace, which is 50 ms.
const SETTLE: Duration = Duration::from_millis(60);

/// Runs fixtures one after the other, attached to before they do anything, and looks at every step of each.
pub fn agree(name: &str, runs: &[&[&str]]) {
    let Some(_kernel) = super::kernel() else { return };
    let run = || {
        let (watch, last, mut differences) = step_through_all(name, runs)?;
        let missed = in_the_report(watch, &last, &mut differences);
        Some((differences, missed))
    };
    // What differs after a miss is looked at once more; what does not, need not be.
    let suspect = |done: &Option<(Differences, u64)>| {
        done.as_ref().map_or(0, |(differences, missed)| if differences.number() > 0 { *missed } else { 0 })
    };
    if let Some((differences, _)) = super::until_nothing_is_missed(run, suspect) {
        differences.none(&format!("{name} {runs:?}"));
    }
}

/// [`agree`] without the report's tables, for pids that are used more than once.
pub fn agree_while_it_runs(name: &str, runs: &[&[&str]]) {
    let Some(_kernel) = super::kernel() else { return };
    if let Some((watch, _, differences)) = step_through_all(name, runs) {
        watch.finish();
        differences.none(&format!("{name} {runs:?}"));
    }
}

type Stepped = (Watch, BTreeMap<u64, Value>, Differences);

/// None where the kernel lacks what it takes.
fn step_through_all(name: &str, runs: &[&[&str]]) -> Option<Stepped> {
    let confines = name == "landlock-burst" || runs.iter().any(|args| ["02", "19"].contains(&args[0]));
    if confines && !super::landlock() {
        return None;
    }
    let mut differences = Differences::default();
    let mut last = BTreeMap::new();
    let mut watch = Watch::start();
    for args in runs {
        step_through(&mut watch, name, args, &mut last, &mut differences);
    }
    Some((watch, last, differences))
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
            super::limits::kill(fixture.pid(), libc::SIGTERM);
        }
    }
    assert!(fixture.wait().success(), "{name} {args:?} failed");
    super::poll(2, "the last process has gone", || (watch.alive() == 0).then_some(()));
}

/// The report says the same as the last line of each process. Gives how many runs of hooks were missed.
fn in_the_report(watch: Watch, last: &BTreeMap<u64, Value>, differences: &mut Differences) -> u64 {
    let report = serde_json::to_value(watch.finish()).expect("the report is JSON");
    let missed = number(&report, "loss.missed");
    for (pid, line) in last {
        let rows = report["tables"].as_array().expect("tables").iter();
        let mine: Vec<&Value> =
            rows.filter(|row| row["pids"].as_array().is_some_and(|pids| pids.iter().any(|p| *p == *pid))).collect();
        let about = format!("{} {pid} in the report", line["fixture"]);
        differences.check(&format!("{about}, ended tables"), mine.iter().filter(|row| row["live"] != 0).count(), 0);
        let near = |got: u64, want: u64| if got.abs_diff(want) <= missed { want } else { got };
        let want = number(line, "high_water");
        let high = mine.iter().map(|row| near(number(row, "high_water"), want)).max();
        differences.check(&format!("{about}, high-water"), high, Some(want));
        if line["step"] == "end" {
            let sum = |field: &str| mine.iter().map(|row| number(row, field)).sum::<u64>();
            for (field, want) in [("installs", number(line, "opens")), ("closes", number(line, "closes"))] {
                differences.check(&format!("{about}, {field}"), near(sum(field), want), want);
            }
            differences.check(&format!("{about}, settled"), sum("settled"), number(line, "live"));
        }
    }
    missed
}
