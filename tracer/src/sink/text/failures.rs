//! Descriptors that could not be made.

use std::cmp::Reverse;

use crate::model::FailureRow;
use crate::model::Report;
use crate::model::report::{ExecRecord, LostListener};

use super::words::{self, Lines, grouped, process, seconds};

/// Causes told of one scope.
const CAUSES: usize = 3;
/// Closes of nothing that are a storm.
const CLOSE_STORM: u64 = 1000;

/// Failures by error, with the state of the table at the first one of each cause.
pub fn write(lines: &mut Lines, label: &str, rows: &[FailureRow], start_ns: u64) {
    if rows.is_empty() {
        return;
    }
    let mut sum: Vec<FailureRow> = Vec::new();
    for row in rows {
        match sum.iter_mut().find(|r| r.errno == row.errno && r.syscall == row.syscall && r.hidden == row.hidden) {
            Some(known) => {
                known.count = known.count.saturating_add(row.count);
                // Rates of several tables don't add up to one.
                known.per_second = None;
            }
            None => sum.push(row.clone()),
        }
    }
    sum.sort_by_key(|row| Reverse(row.count));
    lines.labelled(label, &words::failures(&sum));
    let mut firsts: Vec<&FailureRow> = rows.iter().filter(|row| row.first_ns.is_some()).collect();
    firsts.sort_by_key(|row| row.first_ns);
    let mut told: Vec<&FailureRow> = Vec::new();
    for row in firsts {
        if !told.iter().any(|known| known.cause == row.cause && known.hidden == row.hidden) {
            told.push(row);
        }
    }
    let several = told.len() > 1;
    for row in told.into_iter().take(CAUSES) {
        first(lines, row, start_ns, several);
    }
}

/// `first at 0.223 s with 1024 of 1024 in use: no free number`.
fn first(lines: &mut Lines, row: &FailureRow, start_ns: u64, several: bool) {
    let (Some(live), Some(soft), Some(at)) = (row.live, row.soft_limit, row.first_ns) else { return };
    let cause = words::cause(row.cause).map_or(String::new(), |cause| format!(": {cause}"));
    let hidden = if row.hidden { "; it returned success, with fewer than were sent" } else { "" };
    let used = if soft <= 1024 { row.in_use.unwrap_or(0).max(live) } else { live };
    let when = seconds(at.saturating_sub(start_ns)).replace(' ', "\u{a0}");
    let which = if several { format!("{}: ", row.syscall) } else { String::new() };
    let text = format!("{which}first at {when} with {used} of {} in use{cause}{hidden}", words::limit(soft));
    lines.labelled("", &text);
}

/// Tables in which thousands of closes hit nothing.
pub fn close_storms(lines: &mut Lines, report: &Report) {
    let stormy = |closes: &u64| *closes >= CLOSE_STORM;
    let mut rows: Vec<_> = report.tables.iter().filter(|row| row.bad_closes.as_ref().is_some_and(stormy)).collect();
    rows.sort_by_key(|row| Reverse(row.bad_closes));
    for row in rows.iter().take(CAUSES) {
        let name = process(&row.comm, row.pids.first().copied().unwrap_or(0));
        let closes = grouped(row.bad_closes.unwrap_or(0));
        lines.labelled("close storm", &format!("{closes} closes of numbers not in use (EBADF) in {name}"));
    }
}

/// Listeners that went with a failed accept.
pub fn lost_listeners(lines: &mut Lines, rows: &[LostListener]) {
    for row in rows.iter().take(CAUSES) {
        let sockets = row.sockets_before.saturating_sub(row.sockets_after);
        let what = match (row.listening_before, row.listening_after) {
            (Some(before), Some(after)) if after < before => format!("{} listening socket", before - after),
            _ if sockets == 1 => "1 socket".to_owned(),
            _ => format!("{sockets} sockets"),
        };
        let text = format!(
            "{} of {} failed with {}; since then it settles at {} instead of {}, with {what} less (exec #{}): \
             nothing is accepted there any more",
            row.syscall,
            process(&row.comm, row.pid),
            row.errno,
            row.settled_after,
            row.settled_before,
            row.seq,
        );
        lines.labelled("listener lost", &text);
    }
}

/// Failures in any of the three lives.
pub fn of(record: &ExecRecord) -> impl Iterator<Item = &FailureRow> {
    let outer = record.spawn_window.failures.iter().chain(&record.before_exec.failures).flatten();
    outer.chain(&record.image.failures)
}
