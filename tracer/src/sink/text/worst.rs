//! The execs that failed most, then those that reached highest.

use std::cmp::Reverse;

use crate::model::Report;
use crate::model::report::ExecRecord;
use crate::sink::fields::short;

use super::failures;
use super::lives::greatest;
use super::words::{Lines, count, cut, seconds};

/// Rows at most.
const ROWS: usize = 3;

/// Writes the table; nothing for a single exec, which the lines above tell.
pub fn write(lines: &mut Lines, report: &Report, execs: &[&ExecRecord]) {
    if execs.len() < 2 {
        return;
    }
    let failed = |record: &ExecRecord| failures::of(record).map(|row| row.count).fold(0, u64::saturating_add);
    let mut worst = execs.to_vec();
    worst.sort_by_key(|record| (Reverse(failed(record)), Reverse(greatest(record).map(|(high, _)| high)), record.seq));
    lines.gap();
    lines.push(&head());
    for record in worst.iter().take(ROWS) {
        let number = |value: Option<u32>| value.map_or("?".to_owned(), |value| value.to_string());
        let made = greatest(record).map_or(String::new(), |(_, kinds)| {
            let dots = if kinds.by_count().len() > 1 { " …" } else { "" };
            format!("{}{dots}", kinds.by_count().first().map_or(String::new(), |(k, n)| format!("{n} {}", k.name())))
        });
        let failed = failures::of(record).next().map_or(String::new(), |first| {
            let same = failures::of(record).filter(|row| row.errno == first.errno);
            format!("{} ×{}", first.errno, same.map(|row| row.count).fold(0, u64::saturating_add))
        });
        lines.push(&format!(
            "  {:<6} {:>9}  {:>6} {:>6} {:>6}  {:>7}  {:<13}  {}",
            format!("#{}", record.seq),
            seconds(record.at_ns.saturating_sub(report.anchor.boot_ns)),
            number(record.spawn_window.high_water),
            number(record.before_exec.high_water),
            number(record.image.high_water),
            number(record.spawn_window.settled),
            cut(&made, 13),
            cut(&failed, 13),
        ));
    }
    if let Some(more) = execs.len().checked_sub(ROWS).filter(|more| *more > 0) {
        lines.push(&format!("  {} · --format json for all", count(more as u64, "more exec")));
    }
}

/// Heads of the columns, as wide as what stands below.
fn head() -> String {
    format!(
        "  {:<6} {:>9}  {:>6} {:>6} {:>6}  {:>7}  {:<13}  {}",
        short("execs[].seq"),
        short("execs[].at_ns"),
        short("execs[].spawn_window.high_water"),
        short("execs[].before_exec.high_water"),
        short("execs[].image.high_water"),
        short("execs[].spawn_window.settled"),
        short("execs[].spawn_window.kinds{}"),
        short("execs[].spawn_window.failures[].count"),
    )
}
