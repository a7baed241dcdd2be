//! What the template is filled with.

use std::cmp::Reverse;
use std::collections::HashSet;

use askama::Template;

use crate::event::visible;
use crate::model::Report;
use crate::model::report::TableRow;
use crate::sink::text::words;

use super::{
    answer::{self, Part},
    chart::{self, Chart},
    distribution::{self, Distribution},
    made::{self, Made},
    sheet::{self, Sheet},
    timeline::Timeline,
};

/// Characters of the title at most; the JSON report has the whole command.
const TITLE: usize = 160;
/// Tables drawn.
const CHARTS: usize = 6;

/// The page. Everything in it is text; the template escapes it.
#[derive(Debug, Template)]
#[template(path = "report.html")]
pub struct Page {
    title: String,
    facts: Vec<(&'static str, String)>,
    lossy: bool,
    answer: Vec<Part>,
    charts: Vec<Chart>,
    more_charts: usize,
    has_marks: bool,
    exact: bool,
    distributions: Vec<Distribution>,
    made: Option<Made>,
    sheets: Vec<Sheet>,
    coverage: Vec<String>,
    refused: Vec<(String, String)>,
    counters: Vec<(String, u64, String)>,
}

impl Page {
    /// Of a report, and what is known of `live` over time beside it.
    pub fn new(report: &Report, timeline: &Timeline) -> Self {
        let (charts, more_charts) = charts(report, timeline);
        let counters = report.loss.counters.iter().filter(|counter| counter.value > 0);
        Self {
            title: title(report),
            facts: facts(report),
            lossy: report.loss.lost + report.loss.missed + report.loss.skipped > 0,
            answer: answer::parts(report),
            has_marks: !report.marks.is_empty(),
            exact: charts.iter().all(|chart| chart.exact),
            charts,
            more_charts,
            distributions: distribution::all(report),
            made: made::highest(report),
            sheets: sheet::all(report),
            coverage: report.coverage.iter().map(|note| note.text.clone()).collect(),
            refused: report.plan.refused.iter().map(|row| (row.backend.clone(), row.reason.clone())).collect(),
            counters: counters.map(|c| (c.name.clone(), c.value, c.help.clone())).collect(),
        }
    }
}

fn title(report: &Report) -> String {
    if !report.command.is_empty() {
        return words::cut(&visible(&report.command.join(" ")), TITLE);
    }
    match report.spawners.first() {
        Some(spawner) => format!("{} and its descendants", spawner.comm),
        None => report.tables.first().map_or("nothing was seen".to_owned(), |row| {
            words::process(&row.comm, row.pids.first().copied().unwrap_or(0))
        }),
    }
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    use crate::sink::fields::title;
    let mut facts = vec![
        (title("plan.backend"), report.plan.backend.clone()),
        (title("loss.lost"), report.loss.lost.to_string()),
        (title("loss.missed"), report.loss.missed.to_string()),
        (title("loss.skipped"), report.loss.skipped.to_string()),
        ("started", report.started_at.clone()),
        (title("duration_ns"), words::seconds(report.duration_ns)),
        (title("plan.kernel"), report.plan.kernel.clone()),
        ("fdtide", report.plan.version.clone()),
    ];
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

/// What is worth a chart: tables that failed, that spawned, or that lived for a tenth of the trace; the highest ones.
/// A child that came and went is a dot.
fn charts(report: &Report, timeline: &Timeline) -> (Vec<Chart>, usize) {
    let spawned: HashSet<u64> = report.execs.iter().filter_map(|record| record.spawn_window.table).collect();
    let end = report.anchor.boot_ns.saturating_add(report.duration_ns);
    let rank = |row: &TableRow| {
        let lived = row.end_ns.unwrap_or(end).saturating_sub(row.first_ns);
        let worth = !row.failures.is_empty() || spawned.contains(&row.table) || lived >= report.duration_ns / 10;
        (worth, !row.failures.is_empty(), row.high_water)
    };
    let mut rows: Vec<&TableRow> = report.tables.iter().filter(|row| row.high_water.is_some()).collect();
    rows.sort_by_key(|row| Reverse(rank(row)));
    let worth = rows.iter().filter(|row| rank(row).0).count().clamp(1, CHARTS);
    let charts: Vec<Chart> = rows.iter().take(worth).map(|row| chart::draw(report, timeline, row)).collect();
    let more = rows.len().saturating_sub(charts.len());
    (charts, more)
}
