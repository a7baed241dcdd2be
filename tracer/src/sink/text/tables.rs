//! Tables told by themselves: where nothing was execed, and where more happened than the execs show.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::model::Report;
use crate::model::report::{Growth, SettledFrom, SpawnerSummary, TableRow, TableState};
use crate::sink::fields::title;

use super::words::{self, Lines, composition, count, process};
use super::{block, census, crests, failures, growth, plan};

/// Tables told beside the main one.
const BESIDE: usize = 3;

/// `server[4242] and 2 processes more`.
pub fn name(row: &TableRow) -> String {
    let shared = row.pids.len().saturating_sub(1);
    let with = if shared > 0 { format!(" and {} more", count(shared as u64, "process")) } else { String::new() };
    format!("{}{with}", process(&row.comm, row.pids.first().copied().unwrap_or(0)))
}

/// `1003 of 1024, 21 left`.
pub fn reach(row: &TableRow) -> String {
    let Some(high) = row.high_water else { return "unknown".to_owned() };
    format!("{high}{}", words::of_limit(high.into(), row.soft_limit))
}

/// The root's table in full and the highest others in a line each.
pub fn alone(lines: &mut Lines, report: &Report) {
    let root = report.root.map(|root| root.pid);
    let main = report.tables.iter().find(|row| root.is_some_and(|pid| row.pids.contains(&pid)));
    let Some(main) = main.or_else(|| report.tables.iter().max_by_key(|row| row.high_water)) else {
        lines.push(&format!("no process was seen{}", plan(report, None)));
        return;
    };
    let soft = main.soft_limit.map(|soft| (soft, soft));
    lines.wrapped(&format!("{}  ", name(main)), 2, &format!("no exec of a child{}", plan(report, soft)));
    lines.gap();
    full(lines, report, main);
    // A child that opened nothing shows what its parent held at the fork.
    let others = report.tables.iter().filter(|row| row.table != main.table);
    let (copies, mut others): (Vec<&TableRow>, Vec<&TableRow>) =
        others.partition(|row| row.installs == Some(0) && row.failures.is_empty() && !row.seeded);
    others.sort_by_key(|row| (Reverse(row.high_water), row.table));
    list(lines, &others);
    if !copies.is_empty() {
        lines.gap();
        let text = format!("{} of forked children that opened nothing", count(copies.len() as u64, "table"));
        lines.labelled("copies", &text);
    }
}

fn full(lines: &mut Lines, report: &Report, row: &TableRow) {
    lines.labelled(title("tables[].high_water"), &reach(row));
    crest(lines, report, row);
    if let Some(settled) = row.settled {
        let how = match row.settled_from {
            Some(SettledFrom::Still) | None => "",
            _ => "; never still, so the last level",
        };
        let rows: Vec<&Growth> = report.growth.iter().filter(|growth| growth.table == row.table).collect();
        let grows = rows.iter().filter(|growth| growth.last > growth.first);
        let grows: Vec<String> = grows.map(|row| format!(", {}", growth::slope(row))).collect();
        lines.labelled(title("tables[].settled"), &format!("{settled}{how}{}", grows.concat()));
        rows.iter().for_each(|row| growth::write(lines, row));
    }
    if row.state == TableState::Alive
        && let (Some(live), Some(kinds)) = (row.live, &row.last_kinds)
    {
        lines.labelled(title("tables[].live"), &format!("{live}: {}", composition(kinds, 4)));
    }
    if let (Some(installs), Some(closes)) = (row.installs, row.closes) {
        lines.labelled("churn", &format!("{installs} opened, {closes} closed"));
    }
    growth::ages(lines, report, &[row.table]);
    failures::write(lines, title("tables[].failures[].count"), &row.failures, report.anchor.boot_ns);
    failures::close_storms(lines, report);
}

/// What the high-water mark was made of, who held it, and how it came and went.
pub fn crest(lines: &mut Lines, report: &Report, row: &TableRow) {
    if let Some(kinds) = &row.high_water_kinds {
        lines.labelled(title("tables[].high_water_kinds{}"), &composition(kinds, 4));
    }
    census::sockets(report, row.table).iter().for_each(|text| lines.labelled("", text));
    if let Some(crest) = row.high_water.and_then(|high| crests::highest(report, row.table, high)) {
        if let Some(thread) = crest.threads.first() {
            let who = process(&thread.comm, thread.tid);
            lines.labelled("", &format!("{} held at once by thread {who}", thread.held));
        }
        lines.labelled("", &crests::times(report, crest));
    }
}

fn list(lines: &mut Lines, rows: &[&TableRow]) {
    if !rows.is_empty() {
        lines.gap();
    }
    for row in rows.iter().take(BESIDE) {
        let settled = row.settled.filter(|_| row.settled_from == Some(SettledFrom::Still));
        let settled = settled.map_or(String::new(), |settled| format!(", settled {settled}"));
        let made = row.high_water_kinds.as_ref().map_or(String::new(), |kinds| format!(" · {}", composition(kinds, 1)));
        let failed =
            if row.failures.is_empty() { String::new() } else { format!(" · {}", words::failures(&row.failures)) };
        let text = format!("high-water {}{settled}{made}{failed}", reach(row));
        lines.wrapped(&format!("  {}  ", name(row)), 4, &text);
    }
    if let Some(more) = rows.len().checked_sub(BESIDE).filter(|more| *more > 0) {
        lines.push(&format!("  {} · --format json for all", count(more as u64, "more table")));
    }
}

/// Tables that were higher than any exec shows, or that failed unseen by one.
pub fn beside(lines: &mut Lines, report: &Report, first: &SpawnerSummary) {
    let mut told: HashMap<u64, u32> = HashMap::new();
    for record in report.execs.iter().filter(|record| record.seq > 0) {
        let own = [record.before_exec.high_water, record.image.high_water].into_iter().flatten();
        let own = own.filter_map(|high| Some((record.table?, high)));
        let window = record.spawn_window.table.zip(record.spawn_window.high_water);
        for (table, high) in own.chain(window) {
            let known = told.entry(table).or_default();
            *known = high.max(*known);
        }
    }
    if let Some((row, high)) = block::above(report, first).and_then(|row| Some((row, row.high_water?))) {
        told.insert(row.table, high);
    }
    let highest = told.values().max().copied().unwrap_or(0);
    let untold = |row: &&TableRow| row.high_water > told.get(&row.table).copied().or(Some(0));
    let failed = |row: &TableRow| !row.failures.is_empty() && !told.contains_key(&row.table);
    let (mut news, rest): (Vec<&TableRow>, Vec<&TableRow>) =
        report.tables.iter().filter(untold).partition(|row| row.high_water > Some(highest) || failed(row));
    news.sort_by_key(|row| (Reverse(row.high_water), row.table));
    list(lines, &news);
    let rest: Vec<&TableRow> = rest.into_iter().filter(|row| !told.contains_key(&row.table)).collect();
    if let Some(most) = rest.iter().filter_map(|row| row.high_water).max() {
        if news.is_empty() {
            lines.gap();
        }
        let text = format!("{}, high-water at most {most}", count(rest.len() as u64, "other table"));
        lines.labelled("without exec", &text);
    }
}
