//! One table's chart: paths in a box of 1000 × 200 that is stretched to the page, and what stands beside it in text.

use std::fmt::Write as _;

use crate::event::visible;
use crate::model::Report;
use crate::model::report::TableRow;
use crate::sink::text::words;

use super::timeline::{Timeline, Track};

/// Width and height of the box.
const BOX: (f64, f64) = (1000.0, 200.0);
/// Columns that points share.
const COLUMNS: usize = 1000;
/// Failures, and marks, drawn with a sign of their own: of marks the last ones, since the report is read for what came of them.
const SIGNS: usize = 40;

/// A chart, ready to be put into the page.
#[derive(Debug, Default)]
pub struct Chart {
    /// Whose it is.
    pub name: String,
    /// What it says, in words.
    pub says: String,
    /// Line of the level.
    pub line: String,
    /// Needles of the marks above it.
    pub needles: String,
    /// Ticks of the execs, at the foot.
    pub execs: String,
    /// Times in which something was missed: left end and width.
    pub gaps: Vec<(f64, f64)>,
    /// Failures: place from the left in per cent, and what failed.
    pub failures: Vec<(f64, String)>,
    /// Marks: place from the left in per cent, and what was noted.
    pub marks: Vec<(f64, String)>,
    /// Height of the limit's line from the top, in the box; `None` if it is above.
    pub limit: Option<f64>,
    /// The limit, in words.
    pub limit_text: String,
    /// Number at the upper edge.
    pub top: u64,
    /// Texts below: start and end.
    pub ends: (String, String),
    /// Every change is drawn.
    pub exact: bool,
}

struct Scale {
    from: u64,
    span: f64,
    top: f64,
}

impl Scale {
    fn x(&self, at_ns: u64) -> f64 {
        (at_ns.saturating_sub(self.from) as f64 / self.span).clamp(0.0, 1.0) * BOX.0
    }

    fn y(&self, live: u32) -> f64 {
        BOX.1 - (f64::from(live) / self.top).clamp(0.0, 1.0) * BOX.1
    }

    fn column(&self, at_ns: u64) -> usize {
        (self.x(at_ns) / BOX.0 * COLUMNS as f64) as usize
    }
}

/// Draws one table.
pub fn draw(report: &Report, timeline: &Timeline, row: &TableRow) -> Chart {
    let from_report;
    let track = match timeline.track(row.table) {
        Some(track) => track,
        None => {
            from_report = Timeline::from_report(report, row.table);
            &from_report
        }
    };
    let known = track.points.iter().map(|point| point.live).chain(track.peaks.iter().map(|peak| peak.live));
    let most = known.max().unwrap_or(0).max(row.high_water.unwrap_or(0)).max(1);
    let limit = row.soft_limit.or(row.soft_limit_last);
    // A limit far above would press everything else to the foot.
    let near = limit.filter(|limit| u64::from(*limit) <= u64::from(most) * 3);
    let top = round_up(u64::from(near.unwrap_or(most).max(most)) * 21 / 20);
    let scale = Scale { from: report.anchor.boot_ns, span: report.duration_ns.max(1) as f64, top: top as f64 };
    let process = words::process(&row.comm, row.pids.first().copied().unwrap_or(0));
    let mut chart = Chart {
        name: process,
        says: says(row, track),
        line: line(track, &scale),
        needles: needles(track, &scale),
        limit: near.map(|limit| scale.y(limit)),
        limit_text: limit.map_or(String::new(), |limit| match near {
            Some(_) => format!("limit {}", words::limit(limit)),
            None => format!("the limit, {}, is above this chart", words::limit(limit)),
        }),
        top,
        ends: ("0 s".to_owned(), words::seconds(report.duration_ns)),
        exact: track.exact,
        ..Chart::default()
    };
    chart.execs(report, row.table, &scale);
    chart.marks(report, row, &scale);
    chart
}

impl Chart {
    fn execs(&mut self, report: &Report, table: u64, scale: &Scale) {
        let mut last = usize::MAX;
        for record in report.execs.iter().filter(|record| record.spawn_window.table == Some(table)) {
            let column = scale.column(record.at_ns);
            if column != last {
                let _ = write!(self.execs, "M{:.1} {:.0}V{:.0}", scale.x(record.at_ns), BOX.1, BOX.1 - 10.0);
            }
            last = column;
        }
    }

    fn marks(&mut self, report: &Report, row: &TableRow, scale: &Scale) {
        let windows = report.execs.iter().filter(|record| record.spawn_window.table == Some(row.table));
        let windows = windows.flat_map(|record| record.spawn_window.failures.iter().flatten());
        for failure in row.failures.iter().chain(windows) {
            let Some(at) = failure.first_ns else { continue };
            let when = words::seconds(at.saturating_sub(report.anchor.boot_ns));
            let text = format!("{} {} ×{}, first at {when}", failure.syscall, failure.errno, failure.count);
            let place = scale.x(at) / BOX.0 * 100.0;
            if self.failures.len() < SIGNS && !self.failures.iter().any(|(known, _)| (known - place).abs() < 0.1) {
                self.failures.push((place, text));
            }
        }
        let shown = report.marks.iter().filter(|row| row.at_ns >= report.anchor.boot_ns);
        let before = shown.clone().count().saturating_sub(SIGNS);
        for row in shown.skip(before) {
            let when = words::seconds(row.at_ns.saturating_sub(report.anchor.boot_ns));
            let text = format!("{}, at {when}", visible(&row.text.text()));
            self.marks.push((scale.x(row.at_ns) / BOX.0 * 100.0, text));
        }
        for gap in &report.loss.gaps {
            let (from, to) = (scale.x(gap.from_ns), scale.x(gap.to_ns));
            self.gaps.push((from, (to - from).max(1.0)));
        }
    }
}

fn says(row: &TableRow, track: &Track) -> String {
    let high =
        row.high_water.map_or("?".to_owned(), |high| format!("{high}{}", words::of_limit(high.into(), row.soft_limit)));
    let mut says = format!("{} {high}", crate::sink::fields::title("tables[].high_water"));
    if !row.failures.is_empty() {
        says.push_str(&format!(" · {}", words::failures(&row.failures)));
    }
    let drawn = track.peaks.len() as u64;
    if !track.exact && row.crests.is_some_and(|crests| crests > drawn) {
        says.push_str(&format!(" · {} in all", words::count(row.crests.unwrap_or(0), "crest")));
        says.push_str(&format!(", the {drawn} highest are drawn"));
    }
    says
}

/// Steps; where many points share a column, down to the least and up to the greatest of them.
fn line(track: &Track, scale: &Scale) -> String {
    let mut path = String::new();
    let mut points = track.points.iter().peekable();
    while let Some(point) = points.next() {
        let (x, mut low, mut high, mut last) = (scale.x(point.at_ns), point.live, point.live, point.live);
        let column = scale.column(point.at_ns);
        while let Some(next) = points.next_if(|next| scale.column(next.at_ns) == column) {
            (low, high, last) = (low.min(next.live), high.max(next.live), next.live);
        }
        let y = scale.y(point.live);
        let _ = match path.is_empty() {
            true => write!(path, "M{x:.1} {y:.1}"),
            false => write!(path, "H{x:.1}V{y:.1}"),
        };
        if low < high {
            let _ = write!(path, "V{:.1}V{:.1}V{:.1}", scale.y(high), scale.y(low), scale.y(last));
        }
    }
    path
}

/// One needle a column at most: from the least floor to the greatest mark.
fn needles(track: &Track, scale: &Scale) -> String {
    let mut path = String::new();
    let mut peaks = track.peaks.iter().peekable();
    while let Some(peak) = peaks.next() {
        let (mut floor, mut live) = (peak.floor, peak.live);
        let column = scale.column(peak.at_ns);
        while let Some(next) = peaks.next_if(|next| scale.column(next.at_ns) == column) {
            (floor, live) = (floor.min(next.floor), live.max(next.live));
        }
        let _ = write!(path, "M{:.1} {:.1}V{:.1}", scale.x(peak.at_ns), scale.y(floor), scale.y(live));
    }
    path
}

/// The next number of one or two digits and zeros.
fn round_up(value: u64) -> u64 {
    let mut step = 1;
    while value / step >= 100 {
        step *= 10;
    }
    value.div_ceil(step).max(1) * step
}

#[cfg(test)]
mod tests {
    use super::super::timeline::{Peak, Point};
    use super::*;
    use crate::model::{report::MarkRow, testing::sample};

    #[test]
    fn every_change_is_drawn_and_many_share_a_column() {
        let scale = Scale { from: 0, span: 1e9, top: 100.0 };
        let point = |at_ns, live| Point { at_ns, live };
        let track = Track {
            exact: true,
            points: vec![point(0, 0), point(500_000_000, 50), point(500_000_001, 100), point(500_000_002, 10)],
            peaks: vec![Peak { at_ns: 0, floor: 0, live: 100 }, Peak { at_ns: 1, floor: 50, live: 60 }],
            ..Track::default()
        };
        assert_eq!(line(&track, &scale), "M0.0 200.0H500.0V100.0V0.0V180.0V180.0");
        assert_eq!(needles(&track, &scale), "M0.0 200.0V0.0");
    }

    #[test]
    fn of_many_marks_the_last_ones_are_drawn() {
        let mut report = sample::landlock();
        let at_ns = |number: u64| report.anchor.boot_ns + number;
        report.marks =
            (0..50).map(|n| MarkRow { at_ns: at_ns(n), text: format!("deploy {n}").as_str().into() }).collect();
        let chart = draw(&report, &Timeline::default(), &report.tables[0]);
        assert_eq!(chart.marks.len(), SIGNS);
        assert!(chart.marks[0].1.starts_with("deploy 10, ") && chart.marks[SIGNS - 1].1.starts_with("deploy 49, "));
    }

    #[test]
    fn a_near_limit_is_drawn_and_a_far_one_is_told() {
        let report = sample::landlock();
        let chart = draw(&report, &Timeline::default(), &report.tables[0]);
        assert!(chart.limit.is_some_and(|y| y > 0.0 && y < 30.0) && chart.limit_text == "limit 1024", "{chart:?}");
        assert!(!chart.failures.is_empty() && !chart.needles.is_empty() && !chart.execs.is_empty());
        let report = sample::lazy();
        let chart = draw(&report, &Timeline::default(), &report.tables[0]);
        assert!(chart.limit.is_none() && chart.limit_text.contains("above"));
        assert_eq!((round_up(1075), round_up(7), round_up(0), round_up(101)), (1100, 7, 1, 110));
    }
}
