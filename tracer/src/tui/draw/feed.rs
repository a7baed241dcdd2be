//! What has happened: execs, crests, failures, the latest first.

use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::{Line, Span, Text},
    widgets::{Cell, Row, Table},
};

use crate::{
    event::Kinds,
    model::{CrestRow, LiveExec, LiveFailure},
    sink::{fields, text::words},
};

use super::{
    super::{figures::compact, view::View},
    plain, process, style,
};

/// Width from which the spawner has a column.
const WIDE: u16 = 110;

impl View {
    pub(super) fn execs(&self, frame: &mut Frame<'_>, area: Rect) {
        let scene = self.shown();
        let wide = area.width >= WIDE;
        let mut widths = vec![7, 10, if wide { 20 } else { 14 }, 5, 5, 7, 5, 6];
        let mut titles = vec![
            fields::short("execs[].seq"),
            fields::short("execs[].at_ns"),
            fields::short("execs[].program"),
            fields::short("execs[].spawn_window.high_water"),
            fields::short("execs[].before_exec.high_water"),
            fields::short("execs[].spawn_window.settled"),
            fields::short("execs[].spawn_window.headroom"),
            fields::short("execs[].spawn_window.failures[].count"),
        ];
        if wide {
            widths.insert(3, 22);
            titles.insert(3, fields::short("execs[].spawner.comm"));
        }
        let figures = titles.len() - 5;
        let head = titles.iter().enumerate().map(|(at, title)| match at {
            1 => Cell::from(Line::raw(*title).right_aligned()),
            at if at >= figures => Cell::from(Line::raw(*title).right_aligned()),
            _ => Cell::from(*title),
        });
        let made = Cell::from(fields::short("execs[].spawn_window.kinds{}"));
        let head = Row::new(head.chain([made]).collect::<Vec<_>>()).style(style::HEAD);
        let height = usize::from(area.height.saturating_sub(1));
        let rows: Vec<Row<'_>> = scene.live.execs.iter().rev().take(height).map(|exec| self.exec(exec, wide)).collect();
        let widths = widths.into_iter().map(Constraint::Length).chain([Constraint::Min(8)]);
        frame.render_widget(Table::new(rows, widths).header(head).column_spacing(1), area);
    }

    fn exec(&self, exec: &LiveExec, wide: bool) -> Row<'static> {
        let right = |text: String| Cell::from(Line::raw(text).right_aligned());
        let known = |value: Option<u32>| value.map_or("?".to_owned(), compact);
        let mut cells = vec![
            Cell::from(format!("#{}", exec.seq)),
            right(words::seconds(self.shown().since_start(exec.at_ns))),
            Cell::from(exec.program.to_string()),
            right(known(exec.high_water)),
            right(known(exec.before_exec)),
            right(known(exec.settled)),
            right(known(exec.headroom)),
            match exec.failures {
                0 => right(String::new()),
                n => Cell::from(Line::styled(format!("✗{n}"), self.warning()).right_aligned()),
            },
            Cell::from(plain(&words::composition(exec.kinds.as_ref().unwrap_or(&Kinds::default()), 2))),
        ];
        if wide {
            cells.insert(3, Cell::from(process(&exec.spawner_comm, exec.spawner)));
        }
        Row::new(cells)
    }

    pub(super) fn crests(&self, frame: &mut Frame<'_>, area: Rect, table: Option<u64>) {
        let scene = self.shown();
        let crests = scene.live.crests.iter().rev().filter(|crest| table.is_none_or(|table| table == crest.table));
        let lines = crests.map(|crest| Line::raw(words::cut(&self.crest(crest), area.width.into())));
        section(
            frame,
            area,
            fields::short("tables[].crests"),
            "no rise of 16 or more has fallen again so far",
            lines.collect(),
        );
    }

    fn crest(&self, crest: &CrestRow) -> String {
        let mut text = format!(
            "{:>10}  {}  {} → {}{}  {}",
            words::seconds(self.shown().since_start(crest.top_ns)),
            process(&crest.comm, crest.pid),
            crest.floor,
            crest.high_water,
            words::of_limit(crest.high_water.into(), Some(crest.soft_limit)),
            plain(&words::composition(&crest.kinds, 2)),
        );
        text.push_str(&format!("  up in {}", words::span(crest.rise_ns)));
        if let Some(fall) = crest.fall_ns {
            text.push_str(&format!(", down in {}", words::span(fall)));
        }
        if let Some(thread) = crest.threads.first() {
            text.push_str(&format!("  by {}", process(&thread.comm, thread.tid)));
        }
        text
    }

    pub(super) fn failures(&self, frame: &mut Frame<'_>, area: Rect, table: Option<u64>) {
        let failures = self.shown().failures.iter().filter(|failure| table.is_none_or(|table| table == failure.table));
        let lines = failures.map(|failure| self.failure(failure)).collect();
        section(frame, area, "failures", "no descriptor was refused so far", lines);
    }

    fn failure(&self, failure: &LiveFailure) -> Line<'static> {
        let row = &failure.row;
        let when =
            row.last_ns.or(row.first_ns).map_or("?".to_owned(), |at| words::seconds(self.shown().since_start(at)));
        let what = format!("{} {} ×{}", row.syscall, row.errno, row.count);
        let mut rest = words::cause(row.cause).map_or(String::new(), |cause| format!("  {cause}"));
        if let (Some(live), Some(soft)) = (row.live, row.soft_limit) {
            let gap = if rest.is_empty() { "  " } else { ", " };
            rest.push_str(&format!("{gap}{live} of {} live at the first", words::limit(soft)));
        }
        Line::from(vec![
            Span::raw(format!("{when:>10}  {}  ", process(&failure.comm, failure.pid))),
            Span::styled(what, self.warning()),
            Span::raw(rest),
        ])
    }
}

/// A heading and lines, or what their absence means.
pub fn section(frame: &mut Frame<'_>, area: Rect, title: &str, nothing: &str, mut lines: Vec<Line<'static>>) {
    if lines.is_empty() {
        lines.push(Line::styled(format!("  {nothing}"), style::DIM));
    }
    lines.insert(0, Line::styled(format!("{title:<width$}", width = usize::from(area.width)), style::HEAD));
    frame.render_widget(Text::from(lines), area);
}
