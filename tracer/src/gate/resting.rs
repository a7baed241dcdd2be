//! Resting levels: whether what a table holds between bursts grows from exec to exec.

use std::collections::BTreeMap;

use super::points::{Group, Point};
use crate::model::report::{ExecRecord, Report, SettledFrom, SpawnWindow};

/// Windows needed to speak of growth.
pub const MIN_WINDOWS: usize = 3;

/// One value per table with enough windows of chosen execs: the growth, in all or per exec.
///
/// The level at either end is the least settled level of the first and the last tenth of the windows (three at least, if there are six): where execs overlap,
/// a single window may hold others' transients and never come to rest.
pub fn of<'a>(report: &'a Report, per_exec: bool, chosen: impl Fn(&ExecRecord) -> bool) -> Vec<Point<'a>> {
    let mut by_table: BTreeMap<u64, Vec<&ExecRecord>> = BTreeMap::new();
    for record in report.execs.iter().filter(|record| chosen(record)) {
        if let (Some(table), Some(_)) = (record.spawn_window.table, record.spawn_window.settled) {
            by_table.entry(table).or_default().push(record);
        }
    }
    by_table.iter().filter_map(|(table, records)| growth(*table, records, per_exec)).collect()
}

fn growth<'a>(table: u64, records: &[&'a ExecRecord], per_exec: bool) -> Option<Point<'a>> {
    let windows = records.len();
    if windows < MIN_WINDOWS {
        return None;
    }
    // A tenth, but three where there are enough for that.
    let end = windows.div_ceil(10).max((windows / 2).min(3));
    let (early, late) = (records.get(..end)?, records.get(windows - end..)?);
    let (first, last) = (least(early)?, least(late)?);
    let delta = f64::from(last.spawn_window.settled?) - f64::from(first.spawn_window.settled?);
    let value = if per_exec { delta / (windows - end) as f64 } else { delta };
    let spawner = &last.spawner;
    Some(Point {
        group: Group::Table { table, comm: spawner.comm.clone(), pid: spawner.pid },
        value: Some(value),
        kinds: last.spawn_window.at_exec_kinds.as_ref(),
        record: None,
        at_ns: Some(last.at_ns),
        whole: true,
        upper_bound: is_loose(early, late),
        counted: None,
    })
}

/// Of these the one with the least level.
fn least<'a>(records: &[&'a ExecRecord]) -> Option<&'a ExecRecord> {
    records.iter().copied().min_by_key(|record| record.spawn_window.settled)
}

/// Whether the growth may be less than it seems: the late windows never came to rest, and others' transients are in them, as
/// overlapping execs or early windows that were as high show.
fn is_loose(early: &[&ExecRecord], late: &[&ExecRecord]) -> bool {
    let levels = |records: &[&ExecRecord]| records.iter().filter_map(|r| r.spawn_window.settled).collect::<Vec<_>>();
    let apart = levels(early).iter().max() < levels(late).iter().min();
    let stirred = |window: &SpawnWindow| window.settled_from != Some(SettledFrom::Still);
    let shared = |window: &SpawnWindow| window.overlapping.unwrap_or(0) > 0;
    let (mut windows, all) = (late.iter().map(|record| &record.spawn_window), late.len());
    let still = all - windows.clone().filter(|window| stirred(window)).count();
    still == 0 && (!apart || windows.any(shared))
}
