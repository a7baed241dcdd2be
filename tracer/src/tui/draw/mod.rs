//! From the view to a frame.

mod census;
mod detail;
mod feed;
mod help;
mod style;
mod tables;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use crate::{event::Name, sink::text::words};

use super::{
    figures::clock,
    view::{Screen, View},
};

/// Height from which there is room for more than tables.
const ROOM: u16 = 16;

impl View {
    /// Draws everything.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
        self.head(frame, head);
        match self.screen {
            Screen::List => self.list(frame, body),
            Screen::Table(table) => self.detail(frame, body, table),
            Screen::Census(_) => self.census(frame, body),
            Screen::Help => self.help(frame, body),
        }
        self.foot(frame, foot);
    }

    /// Backend and loss first, so that nothing pushes them out.
    fn head(&self, frame: &mut Frame<'_>, area: Rect) {
        let scene = self.shown();
        let status = &scene.status;
        let mut left = vec![Span::styled("fdtide", style::BOLD), Span::raw(format!("  {} backend", status.backend))];
        let losses = [("loss.lost", status.lost), ("loss.missed", status.missed), ("loss.skipped", status.skipped)];
        for (path, count) in losses {
            if count == 0 && path == "loss.skipped" {
                continue;
            }
            let text = format!("{count} {}", crate::sink::fields::short(path));
            left.push(Span::raw(" · "));
            left.push(if count > 0 { Span::styled(text, self.warning()) } else { Span::raw(text) });
        }
        let right = format!(
            "{} · {} · {}",
            words::count(scene.live.processes as u64, "process"),
            words::count(scene.live.execs_total, "exec"),
            clock(scene.since_start(status.now_ns)),
        );
        let width = u16::try_from(words::width(&right)).unwrap_or(area.width);
        frame.render_widget(Line::from(left), area);
        let start = area.width.saturating_sub(width);
        frame.render_widget(Line::raw(right), Rect { x: area.x + start, width: area.width - start, ..area });
    }

    fn list(&self, frame: &mut Frame<'_>, area: Rect) {
        if area.height < ROOM {
            self.tables(frame, area);
            return;
        }
        let tables = area.height * 9 / 20;
        let rows = area.height - tables - 3;
        let (failures, crests) = (rows * 2 / 9, rows / 3);
        let [tables, execs, crests, failures] = Layout::vertical([
            Constraint::Length(tables),
            Constraint::Min(2),
            Constraint::Length(crests + 1),
            Constraint::Length(failures + 1),
        ])
        .areas(area);
        self.tables(frame, tables);
        self.execs(frame, execs);
        self.crests(frame, crests, None);
        self.failures(frame, failures, None);
    }

    fn foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let mut spans = Vec::new();
        if let Some(frozen) = &self.frozen {
            let at = clock(frozen.since_start(frozen.status.now_ns));
            spans.push(Span::styled(format!(" FROZEN at {at} "), style::REVERSED));
            spans.push(Span::raw(" "));
        }
        let text = match self.screen {
            _ if self.typing => format!("filter: {}▏  Enter keeps it  Esc clears it", Name::from(self.filter.as_str())),
            Screen::List if self.frozen.is_some() => "f goes on  ↑↓ choose  Enter open  m mark  q quit".to_owned(),
            Screen::List => "↑↓ choose  Enter open  c census  s sort  / filter  f freeze  ? help  q quit".to_owned(),
            Screen::Table(_) => "Esc back  c census  f freeze  m mark  ? help  Ctrl-C quit".to_owned(),
            Screen::Census(_) => "Esc back  c take a new one  ↑↓ PgUp PgDn scroll  Ctrl-C quit".to_owned(),
            Screen::Help => "Esc back  Ctrl-C quit".to_owned(),
        };
        spans.push(Span::raw(text));
        frame.render_widget(Line::from(spans).style(style::DIM), area);
    }
}

/// `comm[pid]`, without what only a breaker of lines needs.
fn process(comm: &Name, pid: u32) -> String {
    plain(&words::process(comm, pid))
}

fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}
