//! Pids that are not unique: in two namespaces at once, and one after the other.

use serde_json::Value;

use crate::{
    able,
    support::{
        self,
        case::{base, case},
        line::{list, number},
        steps::agree_while_it_runs,
    },
};

#[test]
fn case_20_both_views_of_a_pid_are_told_and_containers_stay_apart() {
    let Some(_kernel) = support::kernel() else { return };
    if !able(&["20"]) {
        return;
    }
    let ran = case(&["20"]);
    let b = base(&ran);
    let execs = ran.execs_of("true");
    assert_eq!(execs.len(), 4);
    for line in ran.lines.iter().filter(|line| line["ns_pid"].is_u64()) {
        let pid = number(line, "pid");
        let mine: Vec<_> = execs.iter().filter(|exec| number(exec, "pid") == pid).collect();
        assert_eq!(mine.len(), 1, "{line}");
        assert_eq!(number(mine[0], "ns_pid"), number(line, "ns_pid"));
        assert_eq!(number(mine[0], "before_exec.high_water"), number(line, "high_water"));
        let row = ran.table(pid);
        assert_eq!(list(row, "pids").len(), 1, "{row}");
        assert_eq!(number(row, "high_water"), number(line, "high_water"));
    }
    let of = |ns_pid: u64| execs.iter().filter(|exec| number(exec, "ns_pid") == ns_pid).count();
    assert_eq!((of(1), of(2)), (2, 2));
    let highs = |ns_pid| -> Vec<u64> {
        let same = execs.iter().filter(|exec| number(exec, "ns_pid") == ns_pid);
        same.map(|exec| number(exec, "before_exec.high_water")).collect()
    };
    assert_eq!(highs(1), [b + 15, b + 25]);
    assert_eq!(highs(2), [b + 15 + 101, b + 25 + 102]);
}

#[test]
fn case_21_a_pid_that_is_used_again_is_another_process() {
    let Some(_kernel) = support::kernel() else { return };
    for args in [&["21", "--exec"][..], &["21", "--exec", "--by", "last-pid"]] {
        if !able(args) {
            continue;
        }
        let ran = case(args);
        let (first, second) = (ran.step("first"), ran.step("second"));
        let pid = number(first, "pid");
        assert_eq!(pid, number(second, "pid"));
        let rows: Vec<&Value> = ran.tables().iter().filter(|row| list(row, "pids").iter().any(|p| *p == pid)).collect();
        let told: Vec<_> = rows.iter().map(|row| (number(row, "high_water"), number(row, "installs"))).collect();
        let b = number(second, "base");
        assert_eq!(rows.len(), 2, "two records: {told:?}");
        assert_eq!((told[0].0, told[1].0), (number(first, "high_water"), number(second, "high_water")));
        let execs = ran.execs_of("true");
        let before: Vec<_> = execs.iter().map(|exec| number(exec, "before_exec.high_water")).collect();
        assert_eq!(before, [number(first, "high_water"), b + 10], "nothing is carried over");
        assert!(execs.iter().all(|exec| exec["again"] == false && number(exec, "pid") == pid));
        assert!(execs.iter().all(|exec| number(exec, "spawner.pid") == number(ran.step("end"), "pid")));
    }
}

#[test]
fn case_21_a_pid_that_is_used_again_agrees_at_each_step() {
    if !able(&["21"]) {
        return;
    }
    agree_while_it_runs("fd-case", &[&["21"], &["21", "--exec"]]);
}
