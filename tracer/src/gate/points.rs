//! The values in a report that a budget is about.

use std::collections::HashMap;

use super::measure::{Life, Measure};
use super::resting;
use crate::model::report::{ExecRecord, Kinds, Name, Orphan, Report, TableRow, TableState};

/// An orphan that outlived its spawner by less than this is none, nanoseconds: the text report draws the same line.
const OUTLIVED_NS: u64 = 100_000_000;

/// What values belong together, so that they have a distribution of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// All there is.
    All,
    /// Execs of a program by a spawner.
    Pair {
        /// Name of the spawner; empty for the run command's own exec.
        spawner: Name,
        /// Base name of the program.
        program: Name,
    },
    /// Tables of processes of one name.
    Tables(Name),
    /// One descriptor table.
    Table {
        /// Its identity in the report.
        table: u64,
        /// Name of its process.
        comm: Name,
        /// Process that used it first.
        pid: u32,
    },
}

impl Group {
    /// Whether it is the same in another trace, where ids are others.
    pub fn is_like(&self, other: &Group) -> bool {
        match (self, other) {
            (Group::Table { comm, .. }, Group::Table { comm: same, .. }) => comm == same,
            (one, other) => one == other,
        }
    }
}

/// One value.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    /// Where it belongs.
    pub group: Group,
    /// The value; `None`: not known.
    pub value: Option<f64>,
    /// What it was made of.
    pub kinds: Option<&'a Kinds>,
    /// The exec that it is of.
    pub record: Option<&'a ExecRecord>,
    /// When it was reached, boot time.
    pub at_ns: Option<u64>,
    /// All of the time that it is about was seen.
    pub whole: bool,
    /// It may be less than this, but not more.
    pub upper_bound: bool,
    /// What a sum counts here, where it counts anything.
    pub counted: Option<Counted<'a>>,
}

/// What a sum is made of.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'a> {
    /// A table and its failures.
    Failures(&'a TableRow),
    /// A process that outlived the one that forked it.
    Orphan(&'a Orphan),
}

/// Which execs count: by spawner and program, and whether what belongs to none does.
pub struct Choice<'a> {
    /// Execs of this program by this spawner are in the scope.
    pub covers: &'a dyn Fn(&Name, &Name) -> bool,
    /// Another budget stands in for them.
    pub taken: &'a dyn Fn(&Name, &Name) -> bool,
    /// Tables and processes that no exec tells of.
    pub others: bool,
}

impl Choice<'_> {
    fn exec(&self, record: &ExecRecord) -> bool {
        let (spawner, program) = (&record.spawner.comm, &record.program);
        (self.covers)(spawner, program) && !(self.taken)(spawner, program)
    }

    /// What belongs to several execs is in if one of them is, and none is taken.
    fn all<'b>(&self, records: impl Iterator<Item = &'b ExecRecord> + Clone) -> bool {
        let mut pairs = records.map(|record| (&record.spawner.comm, &record.program));
        pairs.clone().any(|(spawner, program)| (self.covers)(spawner, program))
            && !pairs.any(|(spawner, program)| (self.taken)(spawner, program))
    }
}

/// Every value of the measure in the report. For failures and orphans one value per table or process, to be added up.
pub fn of<'a>(report: &'a Report, measure: &Measure, percent: bool, choice: &Choice<'_>) -> Vec<Point<'a>> {
    match measure {
        Measure::HighWater(Life::Table) | Measure::Headroom(Life::Table) | Measure::Failures => {
            let execs = execs_by_table(report);
            let chosen = |row: &&TableRow| match execs.get(&row.table) {
                None => choice.others,
                Some(execs) => choice.all(execs.iter().copied()),
            };
            let rows = report.tables.iter().filter(chosen);
            rows.map(|row| of_table(row, measure, percent)).collect()
        }
        Measure::Orphans => {
            let chosen =
                report.orphans.iter().filter(|orphan| outlived(orphan) && chosen_orphan(report, orphan, choice));
            chosen.map(of_orphan).collect()
        }
        Measure::GrowthPerExec | Measure::SettledDelta => {
            let per_exec = *measure == Measure::GrowthPerExec;
            resting::of(report, per_exec, |record| record.seq > 0 && choice.exec(record))
        }
        _ => {
            // The run command's own exec has an image, but nothing before it that is the command's doing.
            let first = match measure {
                Measure::HighWater(Life::Image) | Measure::Headroom(Life::Image) => 0,
                _ => 1,
            };
            let chosen = report.execs.iter().filter(|record| record.seq >= first && choice.exec(record));
            let seeded = report.tables.iter().filter(|row| row.seeded).map(|row| (row.table, row.first_ns)).collect();
            chosen.map(|record| of_exec(report, record, measure, percent, &seeded)).collect()
        }
    }
}

/// Whether anything of the report is in the choice.
pub fn any(report: &Report, choice: &Choice<'_>) -> bool {
    choice.others || report.execs.iter().any(|record| choice.exec(record))
}

/// Execs that start in a table, or were spawned from it.
fn execs_by_table(report: &Report) -> HashMap<u64, Vec<&ExecRecord>> {
    let mut execs: HashMap<u64, Vec<&ExecRecord>> = HashMap::new();
    for record in &report.execs {
        let tables = [record.table, record.spawn_window.table.filter(|table| Some(*table) != record.table)];
        tables.into_iter().flatten().for_each(|table| execs.entry(table).or_default().push(record));
    }
    execs
}

/// `seeded`: tables that were there before they were seen, and when that was.
fn of_exec<'a>(
    report: &'a Report,
    record: &'a ExecRecord,
    measure: &Measure,
    percent: bool,
    seeded: &HashMap<u64, u64>,
) -> Point<'a> {
    let window = &record.spawn_window;
    let before = &record.before_exec;
    let image = &record.image;
    let room = |left: Option<u32>, soft: Option<u32>| share(left, soft, percent);
    let high = |high: Option<u32>| high.map(f64::from);
    let (value, kinds, at_ns) = match measure {
        Measure::HighWater(Life::BeforeExec) => (high(before.high_water), before.kinds.as_ref(), None),
        Measure::Headroom(Life::BeforeExec) => (room(before.headroom, before.soft_limit), before.kinds.as_ref(), None),
        Measure::HighWater(Life::Image) => (high(image.high_water), image.high_water_kinds.as_ref(), None),
        Measure::Headroom(Life::Image) => {
            (room(image.headroom, image.soft_limit), image.high_water_kinds.as_ref(), None)
        }
        Measure::Headroom(_) => (room(window.headroom, window.soft_limit), window.kinds.as_ref(), window.high_water_ns),
        Measure::Settled => (high(window.settled), None, None),
        Measure::Inherited => (Some(f64::from(record.inherited)), Some(&record.inherited_kinds), Some(record.at_ns)),
        Measure::Kinds(set) => {
            let sum = |kinds: &Kinds| set.kinds().iter().map(|kind| f64::from(kinds.get(*kind))).sum();
            (window.kinds.as_ref().map(sum), window.kinds.as_ref(), window.high_water_ns)
        }
        _ => (high(window.high_water), window.kinds.as_ref(), window.high_water_ns),
    };
    let first_seen = |id: Option<u64>| id.and_then(|id| seeded.get(&id));
    let whole = match measure {
        Measure::HighWater(Life::BeforeExec) | Measure::Headroom(Life::BeforeExec) => {
            !record.again || first_seen(record.table).is_none()
        }
        Measure::HighWater(Life::Image) | Measure::Headroom(Life::Image) | Measure::Inherited => true,
        // The first window of a table that was there before begins when it was first seen, not when it began.
        _ => first_seen(window.table).is_none_or(|first| window.start_ns > Some(*first)),
    };
    let group = Group::Pair { spawner: record.spawner.comm.clone(), program: record.program.clone() };
    Point { group, value, kinds, record: Some(record), at_ns, whole, upper_bound: in_gap(report, at_ns), counted: None }
}

fn of_table<'a>(row: &'a TableRow, measure: &Measure, percent: bool) -> Point<'a> {
    let (value, kinds) = match measure {
        Measure::Failures => {
            (Some(row.failures.iter().map(|failure| failure.count as f64).fold(0.0, |sum, count| sum + count)), None)
        }
        Measure::Headroom(_) => (share(row.headroom, row.soft_limit, percent), row.high_water_kinds.as_ref()),
        _ => (row.high_water.map(f64::from), row.high_water_kinds.as_ref()),
    };
    let at_ns = match measure {
        Measure::Failures => row.failures.iter().filter_map(|failure| failure.first_ns).min(),
        _ => row.high_water_ns,
    };
    let group = match measure {
        Measure::Failures => Group::All,
        _ => Group::Tables(row.comm.clone()),
    };
    let whole = !row.seeded && !matches!(row.state, TableState::Unseen | TableState::Removed);
    let counted = (*measure == Measure::Failures).then_some(Counted::Failures(row));
    Point { group, value, kinds, record: None, at_ns, whole, upper_bound: false, counted }
}

fn of_orphan(orphan: &Orphan) -> Point<'_> {
    Point {
        group: Group::All,
        value: Some(1.0),
        kinds: orphan.kinds.as_ref(),
        record: None,
        at_ns: Some(orphan.since_ns),
        whole: true,
        upper_bound: false,
        counted: Some(Counted::Orphan(orphan)),
    }
}

fn share(left: Option<u32>, soft: Option<u32>, percent: bool) -> Option<f64> {
    let left = f64::from(left?);
    if !percent {
        return Some(left);
    }
    let soft = f64::from(soft?);
    Some(if soft > 0.0 { 100.0 * left / soft } else { 0.0 })
}

/// Whether hooks were missed around this moment, so that a mark set in it is an upper bound.
fn in_gap(report: &Report, at_ns: Option<u64>) -> bool {
    let loss = &report.loss;
    let told: u64 = loss.gaps.iter().map(|gap| gap.missed).sum();
    let inside = |at: u64| loss.gaps.iter().any(|gap| gap.from_ns <= at && at <= gap.to_ns);
    loss.missed > told || (loss.missed > 0 && at_ns.is_none_or(inside))
}

fn chosen_orphan(report: &Report, orphan: &Orphan, choice: &Choice<'_>) -> bool {
    // The last exec of the process tells its program; a process without one still has its spawner's.
    let own = report.execs.iter().rev().find(|record| record.pid == orphan.pid && record.at_ns <= orphan.since_ns);
    let own = own.or_else(|| report.execs.iter().rev().find(|record| record.pid == orphan.pid));
    match own.or_else(|| report.execs.iter().rev().find(|record| record.pid == orphan.spawner)) {
        Some(record) => choice.exec(record),
        None => choice.others,
    }
}

/// Whether it outlived its spawner by more than the time that ending takes.
pub fn outlived(orphan: &Orphan) -> bool {
    orphan.end_ns.is_none_or(|end| end.saturating_sub(orphan.since_ns) >= OUTLIVED_NS)
}
