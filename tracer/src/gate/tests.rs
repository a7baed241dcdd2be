//! Budgets on whole reports of scripted runs.

use super::*;
use crate::model::Report;
use crate::model::report::{CoverageNote, Gap};
use crate::model::testing::sample;

fn checks(report: &Report, budgets: &[&str]) -> Vec<Check> {
    let budgets: Vec<Budget> = budgets.iter().map(|text| Budget::parse(text).unwrap()).collect();
    judge(report, &budgets)
}

fn one(report: &Report, budget: &str) -> Check {
    let mut checks = checks(report, &[budget]);
    assert_eq!(checks.len(), 1, "{checks:#?}");
    checks.remove(0)
}

fn verdict(report: &Report, budget: &str) -> Verdict {
    verdict::worst(&checks(report, &[budget]))
}

#[test]
fn a_burst_breaks_a_budget_and_is_told_with_its_figures() {
    let check = one(&sample::landlock(), "high_water <= 64");
    assert_eq!(check.verdict, Verdict::Fail);
    let measured = check.measured.unwrap();
    assert_eq!((measured.count, measured.exceeding), (100, 100));
    assert_eq!((measured.p50, measured.p99, measured.max), (1006.0, 1024.0, 1024.0));
    let first = measured.first.unwrap();
    assert_eq!((first.seq, first.value), (Some(1), 1006.0));
    assert_eq!(measured.made_of.unwrap().by_count()[0].0.name(), "o_path");
    assert!(measured.thread.is_some());
}

#[test]
fn every_measure_gives_a_verdict_on_a_burst_and_on_the_fixed_program() {
    use Verdict::{Fail, Pass};
    let (before, after) = (sample::landlock(), sample::lazy());
    for (budget, burst, fixed) in [
        ("high_water <= 64", Fail, Pass),
        ("p50(high_water) <= 1006", Pass, Pass),
        ("p99(high_water) <= 1006", Fail, Pass),
        ("min(high_water) >= 1006", Pass, Fail),
        ("headroom >= 20%", Fail, Pass),
        ("headroom >= 1", Fail, Pass),
        ("p90(headroom) >= 1", Pass, Pass),
        ("settled <= 32", Pass, Pass),
        ("growth_per_exec == 0", Pass, Pass),
        ("settled_delta <= 2", Pass, Pass),
        ("failures == 0", Fail, Pass),
        ("failures <= 38", Pass, Pass),
        ("orphans == 0", Pass, Pass),
        ("inherited <= 100", Pass, Pass),
        ("inherited <= 1", Fail, Fail),
        ("high_water != 1024", Fail, Pass),
        ("min(high_water) == 1006", Pass, Fail),
        ("kinds.o_path <= 64", Fail, Pass),
        ("kinds.socket <= 12", Pass, Pass),
        ("kinds.socket:unix <= 11", Fail, Fail),
        ("kinds.socket:tcp == 0", Pass, Pass),
        ("image.high_water <= 2000", Pass, Pass),
        ("before_exec.high_water <= 2", Fail, Fail),
        ("table.high_water <= 64", Fail, Pass),
        ("table.headroom >= 20%", Fail, Pass),
    ] {
        assert_eq!(verdict(&before, budget), burst, "burst: {budget}");
        assert_eq!(verdict(&after, budget), fixed, "fixed: {budget}");
    }
}

#[test]
fn a_leak_breaks_the_budgets_of_growth() {
    let check = one(&sample::leak(), "growth_per_exec == 0");
    assert_eq!((check.verdict, check.measured.unwrap().max), (Verdict::Fail, 1.0));
    assert_eq!(verdict(&sample::leak(), "settled_delta <= 2"), Verdict::Fail);
    assert_eq!(verdict(&sample::leak(), "growth_per_exec <= 1"), Verdict::Pass);
}

#[test]
fn failures_are_told_by_syscall_and_error() {
    let measured = one(&sample::landlock(), "failures == 0").measured.unwrap();
    assert_eq!((measured.figure, measured.parts[0].as_str()), (38.0, "pipe2 EMFILE ×24"));
}

#[test]
fn what_was_not_seen_is_never_a_pass_and_a_fact_stays_a_failure() {
    let mut report = sample::lazy();
    report.loss.lost = 1;
    let check = one(&report, "high_water <= 64");
    assert_eq!(check.verdict, Verdict::Inconclusive);
    assert!(check.reasons[0].contains("records lost: 1"), "{:?}", check.reasons);
    assert_eq!(verdict(&report, "high_water <= 2"), Verdict::Fail, "what was seen was seen");
    assert_eq!(verdict(&report, "p99(high_water) <= 2"), Verdict::Fail, "one more exec would not mend it");
    report.loss.lost = 100_000;
    assert_eq!(verdict(&report, "p99(high_water) <= 2"), Verdict::Inconclusive, "so many would");
}

#[test]
fn a_mark_set_while_hooks_were_missed_is_no_proof() {
    let mut report = sample::landlock();
    let end = report.anchor.boot_ns + report.duration_ns;
    report.loss.missed = 3;
    report.loss.gaps = vec![Gap { from_ns: 0, to_ns: end, missed: 3 }];
    assert_eq!(verdict(&report, "high_water <= 64"), Verdict::Inconclusive);
    report.loss.gaps[0].to_ns = 1;
    assert_eq!(verdict(&report, "high_water <= 64"), Verdict::Fail, "these marks were set outside of it");
}

#[test]
fn a_note_of_a_later_version_and_a_failed_self_test_count_against_a_pass() {
    let mut report = sample::lazy();
    report.coverage.push(CoverageNote { code: "truncated".into(), text: "the recording ends early".into() });
    assert_eq!(one(&report, "high_water <= 64").reasons, ["the recording ends early"]);
    let mut report = sample::lazy();
    report.plan.self_test = Some("saw 3 of 5".into());
    assert_eq!(verdict(&report, "failures == 0"), Verdict::Inconclusive);
}

#[test]
fn a_late_start_matters_to_what_it_hides_only() {
    let report = sample::attach();
    assert_eq!(verdict(&report, "failures <= 1000000"), Verdict::Inconclusive);
    let mut report = sample::lazy();
    report.tables.iter_mut().for_each(|row| row.seeded = true);
    report.coverage.push(CoverageNote { code: "attached".into(), text: "attached late".into() });
    assert_eq!(verdict(&report, "high_water <= 64"), Verdict::Pass, "all but the first window were seen whole");
    assert_eq!(verdict(&report, "table.high_water <= 64"), Verdict::Inconclusive);
}

#[test]
fn what_was_seen_of_a_window_that_began_earlier_can_break_a_budget_but_not_all() {
    let mut report = sample::lazy();
    report.tables.iter_mut().for_each(|row| row.seeded = true);
    let first = report.tables[0].first_ns;
    report.execs.iter_mut().for_each(|record| record.spawn_window.start_ns = Some(first));
    assert_eq!(verdict(&report, "high_water <= 2"), Verdict::Fail, "it held more than that");
    assert_eq!(verdict(&report, "headroom >= 1020"), Verdict::Fail, "it had less than that");
    assert_eq!(verdict(&report, "high_water >= 900"), Verdict::Inconclusive, "it may have held more before");
    assert_eq!(verdict(&report, "high_water <= 900"), Verdict::Inconclusive, "no window was seen whole");
}

#[test]
fn no_data_is_inconclusive_and_says_what_there_is() {
    let check = one(&sample::lazy(), "program=false: high_water <= 64");
    assert_eq!(check.verdict, Verdict::Inconclusive);
    assert!(check.reasons[0].contains("true by landlock-burst (100)"), "{:?}", check.reasons);
    assert_eq!(verdict(&sample::lazy(), "program=nothing: failures == 0"), Verdict::Inconclusive);
    let check = one(&sample::no_exec(), "high_water <= 64");
    assert!(check.reasons[0].contains("table.high_water"), "{:?}", check.reasons);
    assert_eq!(verdict(&sample::one_exec(), "growth_per_exec == 0"), Verdict::Inconclusive);
}

#[test]
fn a_narrower_budget_stands_in_for_a_wider_one_about_the_same() {
    let report = sample::landlock();
    let wide = "high_water <= 64";
    assert_eq!(verdict::worst(&checks(&report, &[wide, "program=true: high_water <= 2000"])), Verdict::Pass);
    assert_eq!(verdict::worst(&checks(&report, &[wide, "program=true: p50(high_water) <= 2000"])), Verdict::Fail);
    assert_eq!(verdict::worst(&checks(&report, &[wide, "program=false: high_water <= 2000"])), Verdict::Fail);
    let told = checks(&report, &["failures == 0", "spawner=landlock-burst: failures <= 100"]);
    assert_eq!(told[0].verdict, Verdict::Pass, "{told:#?}");
}

#[test]
fn any_budget_on_any_sample_gives_a_verdict() {
    for report in sample::all() {
        let names = measure::Measure::names();
        // Kinds are all alike.
        for name in names.iter().filter(|name| !name.starts_with("kinds.") || name.contains("socket")) {
            for op in ["<= 3", "!= 3"] {
                assert!(!checks(&report, &[&format!("{name} {op}")]).is_empty(), "{name} {op}");
            }
        }
    }
}

#[test]
fn orphans_are_told_one_by_one() {
    let report = sample::attach();
    let check = one(&report, "orphans == 0");
    let there = report.orphans.iter().filter(|orphan| points::outlived(orphan)).count();
    assert_eq!(check.measured.unwrap().parts.len(), there);
}

#[test]
fn transients_of_parallel_execs_are_no_growth() {
    let mut report = sample::leak();
    for (record, level) in
        report.execs.iter_mut().filter(|record| record.seq > 0).zip([5, 90, 41, 300].into_iter().cycle())
    {
        record.spawn_window.settled = Some(level);
    }
    let last = report.execs.iter_mut().rev().take(25);
    last.for_each(|record| record.spawn_window.settled = record.spawn_window.settled.map(|level| level + 1));
    report
        .execs
        .iter_mut()
        .for_each(|record| record.spawn_window.settled_from = Some(crate::model::report::SettledFrom::Floor));
    assert_eq!(verdict(&report, "growth_per_exec == 0"), Verdict::Inconclusive);
}
