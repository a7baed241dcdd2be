//! One spawner and its execs.

use crate::model::report::{ExecRecord, Growth, GrowthPer, SettledFrom, SpawnerSummary, TableRow};
use crate::model::{FailureRow, Report};
use crate::sink::fields::title;

use super::lives::{Life, highest, limits, mark};
use super::words::{self, Lines, composition, process};
use super::{census, conclusion, crests, execs_of, failures, growth, plan, programs, spawner_name, tables, worst};

/// Writes the block.
pub fn write(lines: &mut Lines, report: &Report, spawner: &SpawnerSummary) {
    let execs: Vec<&ExecRecord> = execs_of(report, spawner).collect();
    let above = above(report, spawner);
    let mut soft = limits(execs.iter().copied());
    if let (Some((least, most)), Some(own)) = (soft, above.and_then(|row| row.soft_limit)) {
        soft = Some((least.min(own), most.max(own)));
    }
    let head = format!("{}{}", programs(spawner), plan(report, soft));
    lines.wrapped(&format!("{}  ", spawner_name(spawner)), 2, &head);
    lines.gap();
    let worst = above.and_then(|row| row.high_water).is_some_and(|high| u64::from(high) >= spawner.highest());
    if let Some(row) = above {
        let whose = if spawner.tables.len() > 1 { format!(" in {}", tables::name(row)) } else { String::new() };
        let after = row.settled.filter(|_| row.settled_from == Some(SettledFrom::Still));
        let after = after.map_or(String::new(), |settled| format!(", settled at {settled} after the last exec"));
        lines.labelled(title("tables[].high_water"), &format!("{}{whose}{after}", tables::reach(row)));
        if worst {
            tables::crest(lines, report, row);
        }
    }
    high_water(lines, report, spawner, &execs);
    let rows: Vec<&Growth> =
        report.growth.iter().filter(|row| row.per == GrowthPer::Exec && spawner.tables.contains(&row.table)).collect();
    settled(lines, &execs, &rows);
    if !worst {
        crest(lines, report, &execs);
    }
    churn(lines, spawner, &execs);
    growth::ages(lines, report, &spawner.tables);
    failed(lines, report, spawner, &execs);
    conclusion::write(lines, &execs, &rows, above);
    worst::write(lines, report, &execs);
}

/// The spawner's highest table, where it was higher outside the windows of its execs than in any of them: then that leads.
pub fn above<'a>(report: &'a Report, spawner: &SpawnerSummary) -> Option<&'a TableRow> {
    let row = highest_table(report, spawner)?;
    row.high_water.filter(|high| spawner.spawn_window.is_some_and(|q| u64::from(*high) > q.max)).map(|_| row)
}

/// The highest mark of a spawner at any time.
pub fn reached(report: &Report, spawner: &SpawnerSummary) -> u64 {
    let above = above(report, spawner).and_then(|row| row.high_water);
    above.map_or(0, u64::from).max(spawner.highest())
}

fn highest_table<'a>(report: &'a Report, spawner: &SpawnerSummary) -> Option<&'a TableRow> {
    report.tables.iter().filter(|row| spawner.tables.contains(&row.table)).max_by_key(|row| row.high_water)
}

fn high_water(lines: &mut Lines, report: &Report, spawner: &SpawnerSummary, execs: &[&ExecRecord]) {
    let mut told = 0;
    let table = highest_table(report, spawner).and_then(|row| row.high_water);
    let all = table.is_none_or(|high| spawner.spawn_window.is_none_or(|q| q.max >= high.into()));
    let window = if spawner.execs == 1 && all { "tables[].high_water" } else { "execs[].spawn_window.high_water" };
    let lives = [
        (Life::Window, title(window), spawner.spawn_window),
        (Life::Child, title("execs[].before_exec.high_water"), spawner.before_exec),
        (Life::Program, title("execs[].image.high_water"), spawner.image),
    ];
    for (life, label, quantiles) in lives {
        let Some(q) = quantiles else {
            if life == Life::Window {
                lines.labelled(label, "unknown: the spawner's table was not followed");
            }
            continue;
        };
        // The child starts with a copy of the spawner's table, the program with what is left of it: only more is news.
        if q.max > told || life == Life::Window {
            let soft = highest(execs, life).and_then(|record| mark(record, life)).and_then(|(.., soft)| soft);
            let text = format!("{}{}", words::quantiles(&q), words::of_limit(q.max, soft));
            lines.labelled(label, &text.replace("  ", " \u{a0}"));
            told = told.max(q.max);
        }
    }
}

fn settled(lines: &mut Lines, execs: &[&ExecRecord], rows: &[&Growth]) {
    let levels: Vec<u32> = execs.iter().filter_map(|record| record.spawn_window.settled).collect();
    let (Some(first), Some(last)) = (levels.first(), levels.last()) else { return };
    let tables = execs.iter().filter_map(|record| record.spawn_window.table);
    let mut tables: Vec<u64> = tables.collect();
    tables.sort_unstable();
    tables.dedup();
    let mut text = match (levels.len(), tables.len()) {
        (1, _) => first.to_string(),
        (_, 1) => format!("{first} → {last}"),
        (_, n) => {
            let (least, most) = (levels.iter().min().unwrap_or(first), levels.iter().max().unwrap_or(last));
            let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
            format!("{range} in {n} tables")
        }
    };
    if let (1, [row]) = (tables.len(), rows) {
        text.push_str(&format!(", {}", growth::slope(row)));
    }
    if execs.iter().all(|record| record.spawn_window.settled_from != Some(SettledFrom::Still)) {
        let of = if levels.len() > 1 { " of each window" } else { "" };
        text.push_str(&format!("; never still, so the floor{of}"));
    }
    lines.labelled(title("execs[].spawn_window.settled"), &text);
}

fn crest(lines: &mut Lines, report: &Report, execs: &[&ExecRecord]) {
    let high = |life: Life| highest(execs, life).and_then(|record| mark(record, life)).map(|(high, ..)| high);
    let mut life = Life::Window;
    for other in [Life::Child, Life::Program] {
        if high(other) > high(life) {
            life = other;
        }
    }
    let Some(record) = highest(execs, life) else { return };
    let Some((top, kinds, _)) = mark(record, life) else { return };
    lines.labelled(title("execs[].spawn_window.kinds{}"), &composition(kinds, 3));
    let mut where_ = match life {
        Life::Window => String::new(),
        Life::Child => format!("in {} between fork and exec", process(&record.program, record.pid)),
        Life::Program => format!("in {}", process(&record.program, record.pid)),
    };
    if let (Life::Window, Some(thread)) = (life, &record.spawn_window.thread) {
        let held = record.spawn_window.thread_high_water.unwrap_or(0);
        where_ = format!("{held} held at once by thread {}", process(&thread.comm, thread.tid));
    }
    if execs.len() > 1 && !where_.is_empty() {
        where_.push_str(&format!(" (exec #{})", record.seq));
    }
    if !where_.is_empty() {
        lines.labelled("", &where_);
    }
    let table = if life == Life::Window { record.spawn_window.table } else { record.table };
    if let (Some(table), Some((kind, count))) = (table, kinds.by_count().first())
        && let Some(function) = census::function(report, table, kind.name())
    {
        lines.labelled("", &format!("the {count} {} opened in {function}", kind.name()));
    }
    let sockets = table.and_then(|table| census::sockets(report, table));
    sockets.iter().for_each(|text| lines.labelled("", text));
    if let Some(row) = crests::of(report, record, life, top) {
        lines.labelled("", &crests::times(report, row));
    }
}

/// Installs and closes per exec, where they are far more than what is held.
fn churn(lines: &mut Lines, spawner: &SpawnerSummary, execs: &[&ExecRecord]) {
    let Some(window) = spawner.spawn_window else { return };
    let mut installs: Vec<u64> = execs
        .iter()
        .filter(|record| record.spawn_window.overlapping == Some(0))
        .filter_map(|record| record.spawn_window.installs)
        .collect();
    installs.sort_unstable();
    let Some(median) = installs.get(installs.len() / 2) else { return };
    if *median > window.max.saturating_mul(2) {
        let held = execs.iter().filter_map(|record| record.spawn_window.thread_high_water).max().unwrap_or(0);
        let typical = if installs.len() > 1 { " in the median window" } else { "" };
        lines.labelled("churn", &format!("{median} opened{typical}, at most {held} held at once by one thread"));
    }
}

fn failed(lines: &mut Lines, report: &Report, spawner: &SpawnerSummary, execs: &[&ExecRecord]) {
    // The tables count each failure once; overlapping windows don't.
    let mut rows: Vec<FailureRow> = Vec::new();
    for table in report.tables.iter().filter(|row| spawner.tables.contains(&row.table)) {
        rows.extend(table.failures.iter().cloned());
    }
    failures::write(lines, title("tables[].failures[].count"), &rows, report.anchor.boot_ns);
    let first = execs.iter().find(|record| record.spawn_window.failures.as_ref().is_some_and(|f| !f.is_empty()));
    if let Some(first) = first
        && execs.len() > 1
    {
        lines.labelled("", &format!("first in the window of exec #{}", first.seq));
    }
    let mut inner: Vec<FailureRow> = Vec::new();
    for record in execs {
        let elsewhere = !record.table.is_some_and(|table| spawner.tables.contains(&table));
        if elsewhere {
            inner.extend(record.before_exec.failures.iter().flatten().cloned());
            inner.extend(record.image.failures.iter().cloned());
        }
    }
    failures::write(lines, "failed in children", &inner, report.anchor.boot_ns);
    failures::close_storms(lines, report);
    failures::lost_listeners(lines, &report.lost_listeners);
}
