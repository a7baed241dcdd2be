//! Processes that outlived their spawner or the roots, and how the roots ended.

use crate::event::Exit;
use crate::model::Report;
use crate::model::report::{Orphan, Outlived, RootRow};
use crate::sink::fields::title;

use super::words::{self, Lines, count, process, seconds};

/// Processes told.
const ORPHANS: usize = 3;
/// A process that outlived its spawner by less than this is not told, nanoseconds.
const OUTLIVED_NS: u64 = 100_000_000;

/// Writes both.
pub fn write(lines: &mut Lines, report: &Report) {
    let long = |orphan: &&Orphan| orphan.end_ns.is_none_or(|end| end.saturating_sub(orphan.since_ns) >= OUTLIVED_NS);
    let mut told: Vec<&Orphan> = report.orphans.iter().filter(long).collect();
    // Those that are still there first.
    told.sort_by_key(|orphan| orphan.end_ns.is_some());
    let killed = |row: &&RootRow| matches!(row.exit, Exit::Signal { .. });
    let roots: Vec<&RootRow> = report.roots.iter().filter(|row| killed(row) || !told.is_empty()).collect();
    if !told.is_empty() || !roots.is_empty() {
        lines.gap();
    }
    for row in roots.iter().take(ORPHANS) {
        root(lines, report, row);
    }
    for orphan in told.iter().take(ORPHANS) {
        one(lines, orphan);
    }
    if let Some(more) = told.len().checked_sub(ORPHANS).filter(|more| *more > 0) {
        lines.push(&format!("  {} · --format json for all", count(more as u64, "more orphan")));
    }
}

/// `server[4242] ended by SIGKILL at 2.310 s: 2 processes outlived it`.
fn root(lines: &mut Lines, report: &Report, row: &RootRow) {
    let how = match row.exit {
        Exit::Signal { .. } => format!("was ended by {}", row.exit),
        Exit::Code(_) => format!("ended with {}", row.exit),
    };
    let oom = match row.oom_killed {
        Some(true) => ", by the OOM killer as its cgroup counts",
        None => ", by whom is not known (the OOM killer\u{a0}too sends that)",
        Some(false) if matches!(row.exit, Exit::Signal { signal: 9, .. }) => ", not by the OOM\u{a0}killer",
        Some(false) => "",
    };
    let at = seconds(row.end_ns.saturating_sub(report.anchor.boot_ns)).replace(' ', "\u{a0}");
    let left = report.orphans.iter().filter(|orphan| orphan.root_since_ns.is_some() && orphan.end_ns.is_none()).count();
    let left = match left {
        0 => String::new(),
        1 => "; 1 process lives on".to_owned(),
        n => format!("; {n} processes live on"),
    };
    lines.labelled("root", &format!("{} {how} at {at}{oom}{left}", process(&row.comm, row.pid)));
}

fn one(lines: &mut Lines, orphan: &Orphan) {
    let name = process(&orphan.comm, orphan.pid);
    let made = orphan.kinds.as_ref().map_or(String::new(), |kinds| format!(": {}", words::composition(kinds, 3)));
    let live = orphan.live.map_or("?".to_owned(), |live| live.to_string());
    let spawner = match (orphan.outlived, &orphan.spawner_comm, orphan.spawner_exit) {
        (Outlived::Root, ..) => "the root".to_owned(),
        (_, Some(comm), Some(exit)) => format!("{} ({exit})", process(comm, orphan.spawner)),
        _ => orphan.spawner.to_string(),
    };
    let text = match orphan.end_ns {
        None => format!("{name} lives on without {spawner}, holds {live}{made}"),
        Some(end) => {
            let by = seconds(end.saturating_sub(orphan.since_ns)).replace(' ', "\u{a0}");
            format!("{name} outlived {spawner} by {by}, held {live} at its end{made}")
        }
    };
    lines.labelled(title("orphans[]"), &text);
}
