//! Two reports side by side: per spawner and program the two distributions of high-water marks per exec, and whether they
//! differ by more than chance makes them.

pub mod series;
mod test;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::measure::{Life, Measure};
use super::points::{self, Choice, Group, Point};
use super::reasons;
use super::verdict::quantile;
use crate::model::report::{ExecRecord, Name, Report};
pub use test::Outcome;

/// Identity of the JSON form.
pub const SCHEMA: &str = "fdtide.comparison/1";

/// Everything there is to say about two reports.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Chance of any false alarm in the whole comparison, at most, if nothing has changed.
    pub error_rate: f64,
    /// Differences of figures up to this are no change.
    pub tolerance: Tolerance,
    /// One row per spawner, program and life that both have.
    pub rows: Vec<Row>,
    /// Spawners and programs that only the new report has.
    pub added: Vec<Pair>,
    /// Those that only the base has.
    pub gone: Vec<Pair>,
    /// What keeps either report from vouching for its marks.
    pub incomplete: Vec<String>,
}

/// A spawner, a program, and how many execs they came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Name of the spawner.
    pub spawner: Name,
    /// Base name of the program.
    pub program: Name,
    /// Execs.
    pub execs: usize,
    /// Highest mark of its windows.
    pub max: Option<f64>,
}

/// One pair of distributions.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the spawner.
    pub spawner: Name,
    /// Base name of the program.
    pub program: Name,
    /// Whose marks.
    pub life: &'static str,
    /// Before.
    pub base: Figures,
    /// Now.
    pub new: Figures,
    /// Now minus before.
    pub difference: Figures,
    /// Execs overlapped or threads took turns: marks depend on the order in which the machine ran them.
    pub concurrent: bool,
    /// What the test says.
    pub test: Outcome,
    /// What that comes to.
    pub change: Change,
    /// Kinds that are at crests only now.
    pub kinds_added: Vec<String>,
    /// Kinds that were at crests only before.
    pub kinds_gone: Vec<String>,
}

/// A distribution in figures, descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Execs.
    pub count: f64,
    /// Half are not above this.
    pub p50: f64,
    /// 90 of 100 are not above this.
    pub p90: f64,
    /// 99 of 100 are not above this.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
}

/// What became of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// No difference that chance would not make.
    None,
    /// Its figures have risen.
    Higher,
    /// They have fallen.
    Lower,
    /// Some have risen, some fallen.
    Mixed,
    /// There is a difference, but too few independent execs to call it one.
    Untold,
}

/// How to compare.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Chance of any false alarm, 0 to 1.
    pub error_rate: f64,
    /// Differences of figures up to this are no change.
    pub tolerance: Tolerance,
}

/// A difference that does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// Descriptors, or percent of the base.
    pub number: f64,
    /// In percent.
    pub percent: bool,
}

type Key = (Name, Name);

/// Compares two reports.
pub fn compare(base: &Report, new: &Report, options: &Options) -> Comparison {
    let mut rows = Vec::new();
    for (life, name) in [(Life::Window, "window"), (Life::BeforeExec, "before_exec")] {
        let (before, mut now) = (by_pair(base, life), by_pair(new, life));
        for (key, old) in &before {
            let Some(values) = now.remove(key).filter(|values| !values.is_empty() && !old.is_empty()) else { continue };
            rows.push(row(key, name, old, &values));
        }
    }
    test::run(&mut rows, options);
    rows.sort_by_key(|row| (row.change == Change::None, row.life != "window"));
    let (before, now) = (pairs(base), pairs(new));
    let only = |one: &BTreeMap<Key, Pair>, other: &BTreeMap<Key, Pair>| {
        one.iter().filter(|(key, _)| !other.contains_key(key)).map(|(_, pair)| pair.clone()).collect()
    };
    Comparison {
        schema: SCHEMA,
        error_rate: options.error_rate,
        tolerance: options.tolerance,
        rows,
        added: only(&now, &before),
        gone: only(&before, &now),
        incomplete: [incomplete("base", base), incomplete("new", new)].concat(),
    }
}

/// Values of one row with the execs they are of, table by table in the order of time.
type Values<'a> = Vec<Point<'a>>;

fn by_pair(report: &Report, life: Life) -> BTreeMap<Key, Values<'_>> {
    let choice = Choice { covers: &|_, _| true, taken: &|_, _| false, others: true };
    let mut pairs: BTreeMap<Key, Values<'_>> = BTreeMap::new();
    for point in points::of(report, &Measure::HighWater(life), false, &choice) {
        if let (Group::Pair { spawner, program }, Some(_), true) = (&point.group, point.value, point.whole) {
            pairs.entry((spawner.clone(), program.clone())).or_default().push(point);
        }
    }
    // What one process does goes on from exec to exec: neighbours in the series shall be neighbours in time.
    let place = |point: &Point<'_>| point.record.map(|record| (record.spawn_window.table, record.at_ns));
    pairs.values_mut().for_each(|points| points.sort_by_key(place));
    pairs
}

fn row(key: &Key, life: &'static str, base: &[Point<'_>], new: &[Point<'_>]) -> Row {
    let kinds = |points: &[Point<'_>]| -> BTreeSet<&'static str> {
        let kinds = points.iter().filter_map(|point| point.kinds);
        kinds.flat_map(|kinds| kinds.iter().map(|(kind, _)| kind.name())).collect()
    };
    let (had, has) = (kinds(base), kinds(new));
    let only =
        |one: &BTreeSet<&str>, other: &BTreeSet<&str>| one.difference(other).map(|name| (*name).to_owned()).collect();
    let row = row_of_values(key, life, values(base), values(new));
    let concurrent = is_concurrent(base) || is_concurrent(new);
    Row { concurrent, kinds_added: only(&has, &had), kinds_gone: only(&had, &has), ..row }
}

/// Whether execs of one table overlapped, threads took turns, or what was held between two execs went up and down: then
/// others' work is in the windows.
fn is_concurrent(points: &[Point<'_>]) -> bool {
    let windows = points.iter().filter_map(|point| point.record);
    let pairs = windows.clone().zip(windows.clone().skip(1));
    let same = |one: &ExecRecord, two: &ExecRecord| one.spawn_window.table == two.spawn_window.table;
    let turns = |one: &ExecRecord, two: &ExecRecord| {
        let holders = one.spawn_window.thread.as_ref().zip(two.spawn_window.thread.as_ref());
        one.spawner.tid != two.spawner.tid
            || holders.is_some_and(|(one, two)| one.tid != two.tid)
            || one.spawn_window.floor > two.spawn_window.floor
    };
    let overlaps = |record: &ExecRecord| record.spawn_window.overlapping.unwrap_or(0) > 0;
    windows.clone().any(overlaps) || pairs.into_iter().any(|(one, two)| same(one, two) && turns(one, two))
}

fn row_of_values(key: &Key, life: &'static str, base: Vec<f64>, new: Vec<f64>) -> Row {
    let (before, after) = (figures(&base), figures(&new));
    Row {
        spawner: key.0.clone(),
        program: key.1.clone(),
        life,
        base: before,
        new: after,
        difference: before.to(&after),
        concurrent: false,
        test: Outcome::untested(base, new),
        change: Change::None,
        kinds_added: Vec::new(),
        kinds_gone: Vec::new(),
    }
}

fn values(points: &[Point<'_>]) -> Vec<f64> {
    points.iter().filter_map(|point| point.value).collect()
}

fn figures(values: &[f64]) -> Figures {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share| quantile(&sorted, share).unwrap_or(0.0);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    Figures { count, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0), mean }
}

impl Figures {
    fn to(self, new: &Figures) -> Figures {
        Figures {
            count: new.count - self.count,
            p50: new.p50 - self.p50,
            p90: new.p90 - self.p90,
            p99: new.p99 - self.p99,
            max: new.max - self.max,
            mean: new.mean - self.mean,
        }
    }

    /// Those that are compared.
    pub fn list(&self) -> [(&'static str, f64); 4] {
        [("p50", self.p50), ("p90", self.p90), ("p99", self.p99), ("max", self.max)]
    }
}

fn pairs(report: &Report) -> BTreeMap<Key, Pair> {
    let mut pairs: BTreeMap<Key, Pair> = BTreeMap::new();
    for record in report.execs.iter().filter(|record| record.seq > 0) {
        let (spawner, program) = (record.spawner.comm.clone(), record.program.clone());
        let new = Pair { spawner: spawner.clone(), program: program.clone(), execs: 0, max: None };
        let pair = pairs.entry((spawner, program)).or_insert(new);
        pair.execs += 1;
        let mark = record.spawn_window.high_water.map(f64::from);
        pair.max = [pair.max, mark].into_iter().flatten().reduce(f64::max);
    }
    pairs
}

fn incomplete(which: &str, report: &Report) -> Vec<String> {
    let reasons = reasons::of(report, &Measure::HighWater(Life::Window), &[]);
    reasons.into_iter().map(|reason| format!("{which}: {reason}")).collect()
}
