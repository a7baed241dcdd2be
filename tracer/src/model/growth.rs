//! Whether a table's settled level grows from window to window.
//!
//! Growth must show in every window after warm-up, in the settled level and in one kind of descriptor, before that kind is
//! suspected of leaking, and it must still be there at the end. A burst that falls back, a step at the start, ups and downs,
//! or what is released late are not.

use std::collections::BTreeMap;

use crate::event::{Kind, Kinds};
use crate::model::report::{ExecRecord, Growth, SuspectKind, TableRow};

/// Windows needed to speak of growth at all.
const MIN_WINDOWS: usize = 3;
/// Windows at the start that may grow without meaning anything: at least this many, or one in ten.
const MIN_WARM_UP: usize = 3;
/// Windows after warm-up that must all have grown.
const MIN_GROWN: usize = 5;

/// One row for each table with enough windows, in the order of the tables.
pub fn of(execs: &[ExecRecord], tables: &[TableRow]) -> Vec<Growth> {
    let mut by_table: BTreeMap<u64, Vec<&ExecRecord>> = BTreeMap::new();
    for record in execs {
        if let (Some(table), Some(_)) = (record.spawn_window.table, record.spawn_window.settled) {
            by_table.entry(table).or_default().push(record);
        }
    }
    let at_end = |table| tables.iter().find(|row| row.table == table).and_then(|row| row.last_kinds.as_ref());
    by_table.into_iter().filter_map(|(table, records)| row(table, &records, at_end(table))).collect()
}

fn row(table: u64, records: &[&ExecRecord], at_end: Option<&Kinds>) -> Option<Growth> {
    let levels: Vec<u32> = records.iter().filter_map(|record| record.spawn_window.settled).collect();
    let (first, last) = (*levels.first()?, *levels.last()?);
    let windows = levels.len();
    if windows < MIN_WINDOWS {
        return None;
    }
    let grew = levels.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let spawner = &records.last()?.spawner;
    Some(Growth {
        table,
        pid: spawner.pid,
        comm: spawner.comm.clone(),
        windows: windows as u64,
        first,
        last,
        grew: grew as u64,
        per_exec: (f64::from(last) - f64::from(first)) / (windows - 1) as f64,
        suspect: if grows(&levels) { suspects(records, at_end) } else { Vec::new() },
    })
}

/// Whether every value after warm-up is above the one before it.
fn grows(values: &[u32]) -> bool {
    let warm_up = MIN_WARM_UP.max(values.len().div_ceil(10));
    let after = values.get(warm_up..).unwrap_or_default();
    after.len() > MIN_GROWN && after.windows(2).all(|pair| pair[1] > pair[0])
}

fn suspects(records: &[&ExecRecord], at_end: Option<&Kinds>) -> Vec<SuspectKind> {
    let series = |kind: Kind| -> Vec<u32> {
        let at_exec = |record: &&ExecRecord| record.spawn_window.at_exec_kinds.as_ref().map_or(0, |k| k.get(kind));
        records.iter().map(at_exec).collect()
    };
    let mut found = Vec::new();
    for kind in Kind::ALL {
        let counts = series(*kind);
        if grows(&counts)
            && let (Some(first), Some(last)) = (counts.first(), counts.last())
            && at_end.is_none_or(|kinds| kinds.get(*kind) >= *last)
        {
            found.push(SuspectKind { kind: kind.name(), growth: last.saturating_sub(*first) });
        }
    }
    found.sort_by_key(|suspect| std::cmp::Reverse(suspect.growth));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_must_show_in_every_window_after_warm_up() {
        let steady: Vec<u32> = (10..30).collect();
        assert!(grows(&steady));
        let mut stalled = steady.clone();
        stalled[15] = stalled[14];
        assert!(!grows(&stalled));
        let mut warm_up = steady;
        warm_up[1] = 10;
        assert!(grows(&warm_up), "the first windows do not count");
    }

    #[test]
    fn a_step_at_the_start_or_too_few_windows_are_no_growth() {
        assert!(!grows(&[5, 8, 8, 8, 8, 8, 8, 8, 8, 8]));
        assert!(!grows(&[1, 2, 3, 4, 5]));
        assert!(!grows(&[]));
    }
}
