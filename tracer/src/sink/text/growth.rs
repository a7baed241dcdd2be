//! Whether a level grows, and what is suspected of it.

use crate::model::Report;
use crate::model::report::{AgeRow, Growth, GrowthPer, OpenedBy, SuspectKind};
use crate::sink::fields::title;

use super::words::{Lines, count, limit, span};

/// Who opened what is suspected: told at most.
const OPENERS: usize = 2;

/// One step of a row's windows.
fn step(row: &Growth) -> &'static str {
    match row.per {
        GrowthPer::Exec => "exec",
        GrowthPer::Fork => "child",
    }
}

/// `grew in 199 of 199 windows (+1.00 per exec)`.
pub fn slope(row: &Growth) -> String {
    let pairs = row.windows.saturating_sub(1);
    let per = step(row);
    if row.grew == 0 && row.last == row.first {
        return format!("no growth (0.00 per {per})");
    }
    let grew = format!("grew in {} of {pairs} windows", row.grew);
    if row.slope_low == row.slope_high {
        return format!("{grew} ({:+.2} per {per})", row.slope);
    }
    let range = format!("({:+.2} per {per}, {:.2} to {:.2})", row.slope, row.slope_low, row.slope_high);
    if row.slope_low <= 0.0 && row.slope_high >= 0.0 {
        format!("{grew}, no trend {range}")
    } else {
        format!("{grew} {range}")
    }
}

/// Writes what is suspected, and what was only released late.
pub fn write(lines: &mut Lines, row: &Growth) {
    if !row.suspect.is_empty() {
        let kinds: Vec<String> = row.suspect.iter().map(grown).collect();
        lines.labelled(
            title("growth[].suspect[]"),
            &format!("{}: more in every window after warm-up", kinds.join(", ")),
        );
        row.suspect.iter().for_each(|suspect| openers(lines, suspect));
    }
    if let (Some(more), Some(soft)) = (row.limit_in, row.soft_limit) {
        let more = match row.per {
            GrowthPer::Exec => count(more, "more exec"),
            GrowthPer::Fork if more == 1 => "1 more child".to_owned(),
            GrowthPer::Fork => format!("{more} more children"),
        };
        lines.labelled("", &format!("at this rate the limit of {} is reached in about {more}", limit(soft)));
    }
    if !row.late.is_empty() {
        let kinds: Vec<String> = row.late.iter().map(grown).collect();
        lines.labelled("late release", &format!("{}: more in every window, fewer again at the end", kinds.join(", ")));
    }
}

/// How long what goes stays open, of the kinds that go most.
pub fn ages(lines: &mut Lines, report: &Report, tables: &[u64]) {
    let mut rows: Vec<&AgeRow> = report.ages.iter().filter(|row| tables.contains(&row.table)).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.closed), row.table));
    for (row, label) in rows.iter().zip(["open for", "", ""]) {
        let times = format!("{} (median), at most {}", span(row.p50_ns), span(row.max_ns)).replace(' ', "\u{a0}");
        let times = times.replace(",\u{a0}", ", ");
        lines.labelled(label, &format!("{}\u{a0}× {}: {times}", row.closed, row.kind));
    }
}

fn grown(suspect: &SuspectKind) -> String {
    format!("{} +{}", suspect.kind, suspect.growth)
}

/// `eventfd: 200 opened by pool-worker[4711] in shim_start`.
fn openers(lines: &mut Lines, suspect: &SuspectKind) {
    let known = suspect.opened_by.iter().filter(|by| by.thread.is_some() || by.function.is_some());
    for by in known.take(OPENERS) {
        lines.labelled("", &format!("{} {} {}", by.count, suspect.kind, opened(by)));
    }
}

/// `opened by pool-worker[4711] in shim_start`.
pub fn opened(by: &OpenedBy) -> String {
    let thread = by.thread.as_ref().map(|thread| format!(" by {}", super::words::process(&thread.comm, thread.tid)));
    let function = by.function.as_ref().map(|function| format!(" in {}", super::words::function(function)));
    format!("opened{}{}", thread.unwrap_or_default(), function.unwrap_or_default())
}
