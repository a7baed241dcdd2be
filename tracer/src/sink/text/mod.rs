//! The report for a person: the answer first, the evidence under it, what was not seen last.

mod block;
mod census;
mod conclusion;
mod crests;
mod failures;
mod growth;
pub mod hosts;
mod lives;
mod marks;
mod orphans;
mod places;
mod tables;
pub mod words;
mod worst;

use std::cmp::Reverse;
use std::io::{self, Write};

use crate::model::Report;
use crate::model::report::{ExecRecord, SpawnerSummary};
use words::{Lines, count, process};

/// Spawners told in a line each, below the first one.
const MORE_SPAWNERS: usize = 3;

/// Writes the report. At most a screen for the common case; `docs/fields.md` explains the words.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = answer(report);
    coverage(&mut lines, report);
    print(lines, out)
}

/// The report without what it can't tell: what every output for people says first.
pub(crate) fn answer(report: &Report) -> Lines {
    let mut lines = Lines::default();
    // By what their tables reached at any time: the model's order, by what the execs show, stays between equals.
    let mut spawners: Vec<&SpawnerSummary> = report.spawners.iter().collect();
    spawners.sort_by_key(|spawner| Reverse(block::reached(report, spawner)));
    match spawners.split_first() {
        Some((first, others)) => {
            block::write(&mut lines, report, first);
            tables::beside(&mut lines, report, first);
            other_spawners(&mut lines, report, others);
        }
        None => tables::alone(&mut lines, report),
    }
    census::write(&mut lines, report);
    orphans::write(&mut lines, report);
    places::write(&mut lines, report);
    marks::write(&mut lines, report);
    lines
}

/// Writes only what the report can't tell, one `incomplete:` sentence each.
pub fn write_coverage(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines::default();
    coverage(&mut lines, report);
    print(lines, out)
}

pub(in crate::sink) fn print(lines: Lines, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::new();
    for line in lines.into_vec() {
        // Spaces that must not break a line are plain ones on paper.
        text.push_str(&line.replace('\u{a0}', " "));
        text.push('\n');
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// ` · limit 1024 · syscall backend · 0 lost`.
fn plan(report: &Report, soft: Option<(u32, u32)>) -> String {
    let mut text = String::new();
    match soft {
        Some((least, most)) if least == most => text.push_str(&format!(" · limit {}", words::limit(most))),
        Some((least, most)) => {
            text.push_str(&format!(" · limit {} to {}", words::limit(least), words::limit(most)));
        }
        None => {}
    }
    if !report.plan.backend.is_empty() {
        text.push_str(&format!(" · {} backend", report.plan.backend));
    }
    text.push_str(&format!(" · {} lost", report.loss.lost));
    if report.loss.missed > 0 {
        text.push_str(&format!(" · {} missed", report.loss.missed));
    }
    text
}

/// Execs that a summary counts.
fn execs_of<'a>(report: &'a Report, spawner: &'a SpawnerSummary) -> impl Iterator<Item = &'a ExecRecord> {
    report.execs.iter().filter(move |record| record.seq > 0 && record.spawner.comm == spawner.comm)
}

/// `landlock-burst[4242]`, or `sh (12 processes)`.
fn spawner_name(spawner: &SpawnerSummary) -> String {
    match spawner.pids.as_slice() {
        [pid] => process(&spawner.comm, *pid),
        pids => format!("{} ({})", spawner.comm, count(pids.len() as u64, "process")),
    }
}

/// `100 execs of true`, `81 execs of 3 programs (cc 40, as 40, ld 1)`.
fn programs(spawner: &SpawnerSummary) -> String {
    let execs = count(spawner.execs, "exec");
    match spawner.programs.as_slice() {
        [only] => format!("{execs} of {}", only.program),
        all => {
            let first: Vec<String> = all.iter().take(3).map(|p| format!("{} {}", p.program, p.count)).collect();
            let dots = if all.len() > 3 { ", …" } else { "" };
            format!("{execs} of {} programs ({}{dots})", all.len(), first.join(", "))
        }
    }
}

fn other_spawners(lines: &mut Lines, report: &Report, others: &[&SpawnerSummary]) {
    if others.is_empty() {
        return;
    }
    lines.gap();
    for spawner in others.iter().take(MORE_SPAWNERS) {
        let high = match (spawner.spawn_window, spawner.before_exec.or(spawner.image)) {
            (Some(window), _) => format!("p50 {}, max {}", window.p50, window.max),
            (None, Some(child)) => format!("window unknown, child max {}", child.max),
            (None, None) => "window unknown".to_owned(),
        };
        let above = block::above(report, spawner).and_then(|row| row.high_water);
        let high = above.map_or(high.clone(), |above| format!("{above} at its highest, {high}"));
        let soft = lives::limits(execs_of(report, spawner)).map(|(least, _)| format!(" of {}", words::limit(least)));
        let programs = match spawner.programs.as_slice() {
            [only] => only.program.to_string(),
            all => count(all.len() as u64, "program"),
        };
        let execs = count(spawner.execs, "exec");
        let text = format!("{execs} of {programs} · {high}{}", soft.unwrap_or_default());
        lines.wrapped(&format!("  {}  ", spawner_name(spawner)), 4, &text);
    }
    if let Some(more) = others.len().checked_sub(MORE_SPAWNERS).filter(|more| *more > 0) {
        lines.push(&format!("  {} · --format json for all", count(more as u64, "more spawner")));
    }
}

fn coverage(lines: &mut Lines, report: &Report) {
    if !report.coverage.is_empty() {
        lines.gap();
    }
    for note in &report.coverage {
        lines.wrapped("incomplete: ", 12, &note.text);
    }
}
