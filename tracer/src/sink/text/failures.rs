//! Descriptors that could not be made.

use std::cmp::Reverse;

use crate::model::report::ExecRecord;
use crate::model::{Cause, FailureRow};

use super::words::{self, Lines, seconds};

/// Failures by error, with the state of the table at the first one.
pub fn write(lines: &mut Lines, label: &str, rows: &[FailureRow], start_ns: u64) {
    if rows.is_empty() {
        return;
    }
    let mut sum: Vec<FailureRow> = Vec::new();
    for row in rows {
        match sum.iter_mut().find(|r| r.errno == row.errno && r.syscall == row.syscall) {
            Some(known) => known.count = known.count.saturating_add(row.count),
            None => sum.push(row.clone()),
        }
    }
    sum.sort_by_key(|row| Reverse(row.count));
    lines.labelled(label, &words::failures(&sum));
    let first = rows.iter().filter(|row| row.first_ns.is_some()).min_by_key(|row| row.first_ns);
    if let Some(row) = first
        && let (Some(live), Some(soft), Some(at)) = (row.live, row.soft_limit, row.first_ns)
    {
        let cause = match row.cause {
            Cause::TableFull => ": no free number",
            Cause::AnotherQuota => ": another quota, the table had room",
            Cause::SystemWide => ": the limit of the whole system",
            Cause::Unclear => "",
        };
        let used = if soft <= 1024 { row.in_use.unwrap_or(0).max(live) } else { live };
        let when = seconds(at.saturating_sub(start_ns)).replace(' ', "\u{a0}");
        let text = format!("first at {when} with {used} of {} in use{cause}", words::limit(soft));
        lines.labelled("", &text);
    }
}

/// Failures in any of the three lives.
pub fn of(record: &ExecRecord) -> impl Iterator<Item = &FailureRow> {
    let outer = record.spawn_window.failures.iter().chain(&record.before_exec.failures).flatten();
    outer.chain(&record.image.failures)
}
