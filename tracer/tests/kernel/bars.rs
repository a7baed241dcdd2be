//! The bars that every release has to clear.

use crate::support::{
    self,
    fixture::bin,
    line::{at, list, number},
    ran::{Ran, run},
};

/// Never still for the settle time, however busy the machine: where a table settles is its last level then.
fn burst(args: &[&str]) -> Ran {
    run(&["--settle", "60000"], &bin("landlock-burst"), args).ended_well().checked()
}

/// The row of `true`, spawned by the fixture.
fn histogram(ran: &Ran) -> &serde_json::Value {
    let mut rows = list(&ran.report, "histograms").iter();
    rows.rfind(|row| row["program"] == "true").expect("a histogram of `true`")
}

#[test]
fn a_hundred_eager_execs_have_the_whole_burst_in_their_windows() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let ran = run(&["--nofile", "1024"], &bin("landlock-burst"), &["--mode", "eager", "--execs", "100"]);
    let ran = ran.ended_well().checked();
    let end = ran.step("end");
    let (b, held) = (number(end, "base"), number(end, "prepare_held"));
    assert_eq!(held, 987 + 3);
    let row = histogram(&ran);
    assert_eq!(number(row, "count"), 100);
    for quantile in ["p50", "p90", "p99", "max"] {
        assert_eq!(number(row, quantile), b + held, "{quantile}");
    }
    assert!(number(row, "p50") <= b + 987 + 8);
    for exec in ran.execs_of("true") {
        assert_eq!(number(exec, "spawn_window.high_water"), b + held, "{exec}");
        assert_eq!(number(exec, "spawn_window.thread_high_water"), number(end, "thread_high_water"));
        assert_eq!(number(exec, "spawn_window.kinds.o_path"), 988, "the entries and their folder");
        assert_eq!(number(exec, "spawn_window.headroom"), 1024 - b - held);
        assert_eq!(number(exec, "before_exec.high_water"), number(end, "child_before_exec"));
        assert_eq!(number(exec, "inherited"), number(end, "inherited"));
        assert_eq!(*at(exec, "spawner.thread"), "workload-launch");
    }
}

#[test]
fn a_hundred_lazy_execs_stay_low_with_the_same_churn() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let eager = burst(&["--mode", "eager", "--execs", "5"]);
    let lazy = burst(&["--mode", "lazy", "--execs", "100"]);
    let end = lazy.step("end");
    let row = histogram(&lazy);
    assert_eq!(number(row, "count"), 100);
    assert_eq!(number(row, "max"), number(end, "high_water"), "the launch itself is the crest");
    assert!(number(row, "max") <= number(end, "base") + 12);
    for (ran, end) in [(&lazy, end), (&eager, eager.step("end"))] {
        // The first window has what came before main too; the others open what one exec opens, in both modes.
        for exec in &ran.execs_of("true")[1..] {
            assert_eq!(number(exec, "spawn_window.installs"), number(end, "opens_per_exec"));
        }
        let row = ran.table(number(end, "pid"));
        assert_eq!(number(row, "installs"), number(row, "closes"));
    }
    assert_eq!(eager.step("end")["opens_per_exec"], end["opens_per_exec"], "only the high-water tells them apart");
}

#[test]
fn executions_that_do_not_fit_are_told_as_failures_of_the_spawner() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let ran = burst(&["--mode", "eager", "--entries", "1100", "--execs", "3", "--nofile", "1024"]);
    let end = ran.step("end");
    let row = ran.table(number(end, "pid"));
    assert_eq!(number(row, "high_water"), 1024);
    assert_eq!(number(row, "headroom"), 0);
    let failure = &list(row, "failures")[0];
    assert_eq!((failure["syscall"].as_str(), number(failure, "count")), (Some("openat"), 3));
    assert_eq!(failure["cause"], "table full");
    assert_eq!(number(row, "settled"), number(end, "base"));
    assert!(ran.execs_of("true").is_empty());
}

#[test]
fn parallel_execs_each_have_a_row_with_their_threads_share() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let args = ["--mode", "eager", "--entries", "100", "--execs", "40", "--parallel", "4", "--nofile", "5000"];
    let ran = burst(&args);
    let end = ran.step("end");
    assert_eq!(number(end, "ok"), 40);
    let row = ran.table(number(end, "pid"));
    assert_eq!(number(row, "high_water"), number(end, "high_water"));
    assert_eq!(number(row, "settled"), number(end, "base"));
    let execs = ran.execs_of("true");
    assert_eq!(execs.len(), 40);
    let windows = execs.iter().map(|exec| &exec["spawn_window"]);
    let shares: Vec<u64> = windows.clone().map(|window| number(window, "thread_high_water")).collect();
    // A preparation holds 100 entries, the ruleset and two folders. Which of several that are under way belongs to an exec
    // can't be told from the table: one that starts before its thread's last was credited takes that one's place.
    assert!(shares.iter().all(|share| *share <= 103), "no thread held more than its preparation: {shares:?}");
    let credited = shares.iter().filter(|share| **share == 103).count();
    assert!(credited >= 32, "{credited} of 40 execs are credited with a preparation: {shares:?}");
    let crest = windows.map(|window| number(window, "high_water")).max();
    assert_eq!(crest, Some(number(end, "high_water")), "the highest window is the table's mark");
}
