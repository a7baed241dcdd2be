//! Verdicts: every budget against a report.

use std::collections::BTreeMap;

use super::budget::{Budget, Op, Stat};
use super::measure::Measure;
use super::points::{self, Choice, Counted, Group, Point};
use super::reasons;
use crate::model::report::{Kinds, Name, Report, ThreadRow};

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It holds, and everything that matters was seen.
    Pass,
    /// It holds in what was seen, which is not all; or there was nothing to judge.
    Inconclusive,
    /// It does not hold.
    Fail,
}

/// One budget on one group of values.
#[derive(Clone, Debug)]
pub struct Check {
    /// The budget.
    pub budget: Budget,
    /// The values.
    pub group: Group,
    /// What came out.
    pub verdict: Verdict,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Measured>,
    /// Why it is inconclusive.
    pub reasons: Vec<String>,
    /// The same figure in an earlier report, and what that is called.
    pub was: Option<(String, f64)>,
}

/// The values of a group in figures. A quantile is the least value that at least that share of them does not exceed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// How many are known.
    pub count: usize,
    /// What was compared with the limit: a figure, a sum, or the worst value.
    pub figure: f64,
    /// The least.
    pub min: f64,
    /// Half of them are not above this.
    pub p50: f64,
    /// 99 of 100 are not above this.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
    /// How many break the budget by themselves.
    pub exceeding: usize,
    /// The first of those.
    pub first: Option<First>,
    /// What the worst value was made of.
    pub made_of: Option<Kinds>,
    /// The thread that held most of that.
    pub thread: Option<(ThreadRow, u32)>,
    /// What a sum counts, a phrase each, most first.
    pub parts: Vec<String>,
}

/// The first value that breaks a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct First {
    /// Number of the exec, if it is one's.
    pub seq: Option<u64>,
    /// When, from the start of the trace, nanoseconds.
    pub after_ns: Option<u64>,
    /// The value.
    pub value: f64,
}

/// The worst of these.
pub fn worst(checks: &[Check]) -> Verdict {
    checks.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Pass)
}

/// Holds a report to budgets. Each gives a check per group of values; failed ones come first.
pub fn judge(report: &Report, budgets: &[Budget]) -> Vec<Check> {
    let mut checks: Vec<Check> = budgets.iter().flat_map(|budget| judge_one(report, budgets, budget)).collect();
    checks.sort_by_key(|check| std::cmp::Reverse(check.verdict));
    checks
}

/// Adds the figures that an earlier report gives for the same budgets, where it has the same groups.
pub fn with_base(checks: &mut [Check], name: &str, base: &Report, budgets: &[Budget]) {
    let earlier = judge(base, budgets);
    for check in checks {
        let same = |old: &&Check| old.budget == check.budget && old.group.is_like(&check.group);
        let figure = earlier.iter().find(same).and_then(|old| old.measured.as_ref()).map(|measured| measured.figure);
        check.was = figure.map(|figure| (name.to_owned(), figure));
    }
}

fn judge_one(report: &Report, all: &[Budget], budget: &Budget) -> Vec<Check> {
    let narrower: Vec<&Budget> = all.iter().filter(|other| budget.gives_way_to(other)).collect();
    let covers = |spawner: &Name, program: &Name| budget.scope.covers(spawner, program);
    let taken = |spawner: &Name, program: &Name| narrower.iter().any(|other| other.scope.covers(spawner, program));
    let choice = Choice { covers: &covers, taken: &taken, others: budget.scope.rank() == 0 };
    let measure = &budget.subject.measure;
    let points = points::of(report, measure, budget.limit.percent, &choice);
    if measure.has_distribution() {
        let mut groups: BTreeMap<&Group, Vec<&Point<'_>>> = BTreeMap::new();
        points.iter().for_each(|point| groups.entry(&point.group).or_default().push(point));
        if !groups.is_empty() {
            return groups.into_iter().map(|(group, points)| check(report, budget, group, &points)).collect();
        }
        // Where narrower budgets took every exec, nothing is missing.
        let all = Choice { covers: &covers, taken: &|_, _| false, others: false };
        if !narrower.is_empty() && points::any(report, &all) {
            return Vec::new();
        }
    } else if points::any(report, &choice) {
        let points: Vec<&Point<'_>> = points.iter().collect();
        return vec![check(report, budget, &Group::All, &points)];
    }
    let reason = reasons::no_data(report, measure, budget.scope.rank() > 0);
    let (verdict, reasons) = (Verdict::Inconclusive, vec![reason]);
    vec![Check { budget: budget.clone(), group: Group::All, verdict, measured: None, reasons, was: None }]
}

fn check(report: &Report, budget: &Budget, group: &Group, points: &[&Point<'_>]) -> Check {
    let reasons = reasons::of(report, &budget.subject.measure, points);
    let Some(measured) = measure(report, budget, points) else {
        let (verdict, group) = (Verdict::Inconclusive, group.clone());
        return Check { budget: budget.clone(), group, verdict, measured: None, reasons, was: None };
    };
    let holds = budget.op.holds(measured.figure, budget.limit.number);
    let (verdict, reasons) = match (holds, reasons.is_empty()) {
        (true, true) => (Verdict::Pass, reasons),
        (true, false) => (Verdict::Inconclusive, reasons),
        (false, _) if certain(report, budget, points) => (Verdict::Fail, Vec::new()),
        (false, _) => {
            let why =
                "what breaks it may be less than it seems: it was never still, or hooks or records were missed then";
            (Verdict::Inconclusive, [vec![why.to_owned()], reasons].concat())
        }
    };
    Check { budget: budget.clone(), group: group.clone(), verdict, measured: Some(measured), reasons, was: None }
}

/// Whether a budget stays broken with everything that is uncertain at its best.
fn certain(report: &Report, budget: &Budget, points: &[&Point<'_>]) -> bool {
    let best = if budget.op.is_lower_bound() { f64::INFINITY } else { f64::NEG_INFINITY };
    // Of what was seen in part a mark may have been higher, and headroom less.
    let understated = budget.op.is_lower_bound() != matches!(budget.subject.measure, Measure::Headroom(_));
    let unsure = |point: &Point<'_>| point.upper_bound || !point.whole && understated;
    let loose = points.iter().any(|point| unsure(point));
    let lost = usize::try_from(report.loss.lost).unwrap_or(usize::MAX).min(1 << 24);
    match budget.subject.stat {
        // A sum only grows with what is not known.
        None if !budget.subject.measure.has_distribution() => matches!(budget.op, Op::Le | Op::Lt) || lost == 0,
        None => known(points).any(|(value, point)| !unsure(point) && !budget.op.holds(value, budget.limit.number)),
        Some(_) if matches!(budget.op, Op::Eq | Op::Ne) => lost == 0 && !loose,
        Some(stat) => {
            let values = known(points).map(|(value, point)| if unsure(point) { best } else { value });
            let mut values: Vec<f64> = values.chain(std::iter::repeat_n(best, lost)).collect();
            values.sort_by(f64::total_cmp);
            figure(&values, stat).is_some_and(|value| !budget.op.holds(value, budget.limit.number))
        }
    }
}

fn known<'a>(points: &[&'a Point<'a>]) -> impl Iterator<Item = (f64, &'a Point<'a>)> {
    points.iter().filter_map(|point| point.value.map(|value| (value, *point)))
}

fn measure(report: &Report, budget: &Budget, points: &[&Point<'_>]) -> Option<Measured> {
    let sums = !budget.subject.measure.has_distribution();
    let mut values: Vec<f64> = known(points).map(|(value, _)| value).collect();
    values.sort_by(f64::total_cmp);
    let breaks = |value: f64| !budget.op.holds(value, budget.limit.number);
    let (min, max) = if sums {
        (0.0, values.iter().fold(0.0, |sum, value| sum + value))
    } else {
        (*values.first()?, *values.last()?)
    };
    let worst = match budget.op {
        Op::Ge | Op::Gt => min,
        Op::Ne if values.iter().any(|value| breaks(*value)) => budget.limit.number,
        // Any value on the wrong side is as bad as another; the greatest tells most.
        Op::Eq if !breaks(max) && breaks(min) => min,
        _ => max,
    };
    let figure = budget.subject.stat.map_or(Some(worst), |stat| figure(&values, stat))?;
    let exceeding: Vec<(f64, &Point<'_>)> = if sums {
        known(points).filter(|(value, _)| *value > 0.0).collect()
    } else {
        known(points).filter(|(value, _)| breaks(*value)).collect()
    };
    let first = exceeding.iter().min_by_key(|(_, point)| (point.record.map(|r| r.seq), point.at_ns));
    let first = first.map(|(value, point)| First {
        seq: point.record.map(|record| record.seq),
        after_ns: point.at_ns.or(point.record.map(|r| r.at_ns)).map(|at| at.saturating_sub(report.anchor.boot_ns)),
        value: *value,
    });
    let at_worst = known(points).find(|(value, _)| *value == worst).map(|(_, point)| point);
    let window = at_worst.and_then(|point| point.record).map(|record| &record.spawn_window);
    let own_window = at_worst.is_some_and(|point| window.is_some_and(|w| point.kinds == w.kinds.as_ref()));
    Some(Measured {
        count: values.len(),
        figure,
        min,
        p50: quantile(&values, 0.5).unwrap_or(figure),
        p99: quantile(&values, 0.99).unwrap_or(figure),
        max,
        exceeding: exceeding.len(),
        first,
        made_of: at_worst.and_then(|point| point.kinds).filter(|_| !sums).cloned(),
        thread: window.filter(|_| own_window).and_then(|w| w.thread.clone().zip(w.thread_high_water)),
        parts: parts(points),
    })
}

/// What a sum counts: failures by syscall and error, orphans one by one.
fn parts(points: &[&Point<'_>]) -> Vec<String> {
    let mut failures: Vec<(&str, &str, u64)> = Vec::new();
    let mut parts = Vec::new();
    for counted in points.iter().filter_map(|point| point.counted) {
        match counted {
            Counted::Orphan(orphan) => {
                let end = if orphan.end_ns.is_none() { "lives on" } else { "outlived it" };
                let holds = orphan.live.map_or(String::new(), |live| format!(", holds {live}"));
                parts.push(format!("{}[{}] of {} {end}{holds}", orphan.comm, orphan.pid, orphan.spawner));
            }
            Counted::Failures(table) => {
                for row in &table.failures {
                    match failures.iter_mut().find(|(call, errno, _)| *call == row.syscall && *errno == row.errno) {
                        Some((.., count)) => *count = count.saturating_add(row.count),
                        None => failures.push((&row.syscall, &row.errno, row.count)),
                    }
                }
            }
        }
    }
    failures.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    let told = failures.iter().map(|(call, errno, count)| format!("{call} {errno} ×{count}"));
    parts.into_iter().chain(told).collect()
}

/// A figure of sorted values.
fn figure(sorted: &[f64], stat: Stat) -> Option<f64> {
    match stat {
        Stat::Min => sorted.first().copied(),
        Stat::Max => sorted.last().copied(),
        Stat::Quantile(share) => quantile(sorted, share),
    }
}

/// The least value that at least this share of the sorted values does not exceed.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    // What is a whole number but for the last bits is meant as one: 0.99 of 100 is 99.
    let rank = (share * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).checked_sub(1)?).copied()
}
