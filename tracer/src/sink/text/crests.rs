//! How a crest came and went.

use crate::model::Report;
use crate::model::report::{CrestEnd, CrestRow, ExecRecord};

use super::lives::Life;
use super::words::{count, span};

/// The highest crest of this life of an exec, if it is among those kept.
pub fn of<'a>(report: &'a Report, record: &ExecRecord, life: Life, high: u32) -> Option<&'a CrestRow> {
    let mut all = report.crests.iter().filter(|row| row.high_water == high);
    all.find(|row| match life {
        Life::Window => record.spawn_window.table == Some(row.table) && row.execs.contains(&record.seq),
        Life::Child => record.table == Some(row.table) && row.top_ns <= record.at_ns,
        Life::Program => record.table == Some(row.table) && row.top_ns >= record.at_ns,
    })
}

/// The highest crest of a table, if it is its high-water mark, and not what growth is told of.
pub fn highest(report: &Report, table: u64, high: u32) -> Option<&CrestRow> {
    let grows = report.growth.iter().any(|row| row.table == table && !row.suspect.is_empty());
    let mut all = report.crests.iter().filter(|row| row.table == table && row.high_water == high);
    all.find(|row| !grows || row.ended_by == CrestEnd::Fall)
}

/// `rose by 989 in 1.8 ms, fell back in 0.2 ms; 102 crests in all`.
pub fn times(report: &Report, row: &CrestRow) -> String {
    let rise = format!("rose by {} in {}", row.height, span(row.rise_ns));
    let fall = match (row.ended_by, row.fall_ns) {
        (CrestEnd::Fall, Some(ns)) => format!(", fell back in {}", span(ns)),
        (CrestEnd::Exec, Some(ns)) => format!(", fell at the exec, {} later", span(ns)),
        (CrestEnd::Exit, Some(ns)) => format!(", and stood until the end, {} later", span(ns)),
        _ => ", and has not fallen".to_owned(),
    };
    let table = report.tables.iter().find(|table| table.table == row.table);
    let all = table.and_then(|table| table.crests).filter(|crests| *crests > 1);
    let all = all.map_or(String::new(), |crests| format!("; {} in all", count(crests, "crest")));
    format!("{rise}{fall}{all}").replace(" ms", "\u{a0}ms").replace(" µs", "\u{a0}µs")
}
