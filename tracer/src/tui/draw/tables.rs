//! One row per table.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Cell, Row, Table},
};

use crate::{
    model::LiveTable,
    sink::{fields, text::words},
};

use super::{
    super::{
        figures::{bar, compact, is_close},
        view::View,
    },
    plain, style,
};

/// Least width of the name.
const NAME: u16 = 12;
/// Width of the bar.
const BAR: usize = 6;
/// Least and greatest width of the last minute.
const MINUTE: (u16, u16) = (12, 60);
/// Width of all columns but the last two, and of all gaps.
const FIXED: u16 = 1 + 7 + NAME + 5 + 5 + 5 + BAR as u16 + 5 + 9;

/// Widths of what is cut to fit.
struct Room {
    name: usize,
    minute: usize,
    made: usize,
}

impl View {
    pub(super) fn tables(&self, frame: &mut Frame<'_>, area: Rect) {
        let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
        let rows = self.rows();
        let height = usize::from(body.height.saturating_sub(1)).max(1);
        let chosen = self.chosen_row(&rows);
        let first = (chosen + 1).saturating_sub(height);
        frame.render_widget(self.heading(rows.len(), first, height), head);
        let more = area.width.saturating_sub(90).min(10);
        let free = area.width.saturating_sub(FIXED + more);
        let minute = (free / 2).clamp(MINUTE.0, MINUTE.1);
        let room = Room {
            name: usize::from(NAME + more),
            minute: usize::from(minute),
            made: usize::from(free.saturating_sub(minute)),
        };
        let widths = [
            Constraint::Length(1),
            Constraint::Length(7),
            Constraint::Length(NAME + more),
            Constraint::Length(5),
            Constraint::Length(5),
            Constraint::Length(5),
            Constraint::Length(BAR as u16),
            Constraint::Length(5),
            Constraint::Length(minute),
            Constraint::Min(8),
        ];
        let shown = rows.iter().enumerate().skip(first).take(height);
        let lines = shown.map(|(at, table)| self.row(table, at == chosen, &room));
        let lines: Vec<Row<'_>> = lines.collect();
        frame.render_widget(Table::new(lines, widths).header(self.columns()).column_spacing(1), body);
    }

    fn heading(&self, rows: usize, first: usize, height: usize) -> Line<'static> {
        let all = self.shown().live.tables.len();
        let mut text = words::count(all as u64, "table");
        if !self.filter.is_empty() {
            text.push_str(&format!(" · filter `{}`: {rows}", crate::event::Name::from(self.filter.as_str())));
        }
        if first > 0 {
            text.push_str(&format!(" · {first} above"));
        }
        let below = rows.saturating_sub(first + height);
        if below > 0 {
            text.push_str(&format!(" · {below} below"));
        }
        if let Some(mark) = &self.mark {
            let at = words::seconds(self.shown().since_start(mark.at_ns));
            text.push_str(&format!(" · {} since the mark at {at}", fields::short("tables[].live")));
        }
        Line::styled(text, style::BOLD)
    }

    fn columns(&self) -> Row<'static> {
        let live = if self.mark.is_some() { "±mark" } else { fields::short("tables[].live") };
        let arrow = |path: &'static str, text: &str| {
            let sign = if self.sort.path() == path { if self.reverse { "▴" } else { "▾" } } else { "" };
            format!("{text}{sign}")
        };
        let right = |text: String| Cell::from(Line::raw(text).right_aligned());
        let short = |path: &'static str| arrow(path, fields::short(path));
        Row::new([
            Cell::from(""),
            right(short("tables[].pids[]")),
            Cell::from(short("tables[].comm")),
            right(arrow("tables[].live", live)),
            right(short("tables[].high_water")),
            right(short("tables[].soft_limit")),
            Cell::from(""),
            right(short("tables[].headroom")),
            Cell::from("last minute"),
            Cell::from(fields::short("tables[].last_kinds{}")),
        ])
        .style(style::HEAD)
    }

    fn row(&self, table: &LiveTable, chosen: bool, room: &Room) -> Row<'static> {
        let right = |text: String| Cell::from(Line::raw(text).right_aligned());
        let left = table.soft_limit.saturating_sub(table.high_water);
        let known = table.seen_ns.is_some();
        let figure = |value: u32| if known { compact(value) } else { "?".to_owned() };
        let left = if table.soft_limit == u32::MAX { u32::MAX } else { left };
        // The sign stays where colours can't be told apart.
        let close = known && is_close(table.high_water, table.soft_limit);
        let left = if close { format!("!{}", compact(left)) } else { figure(left) };
        let left = if close { Line::styled(left, self.warning()) } else { Line::raw(left) };
        let live = match &self.mark {
            Some(mark) => {
                let before = mark.live.get(&table.table).copied().unwrap_or(0);
                format!("{:+}", i64::from(table.live) - i64::from(before))
            }
            None => figure(table.live),
        };
        let history = self
            .shown()
            .histories
            .get(&table.table)
            .map_or(String::new(), |history| history.bars(room.minute, table.high_water));
        let row = Row::new([
            Cell::from(if table.failures > 0 { Span::styled("✗", self.warning()) } else { Span::raw("") }),
            right(table.pids.first().map_or("?".to_owned(), u32::to_string)),
            Cell::from(name(table, room.name)),
            right(live),
            right(figure(table.high_water)),
            right(figure(table.soft_limit)),
            Cell::from(Span::styled(bar(table.live, table.high_water, table.soft_limit, BAR), self.bars())),
            Cell::from(left.right_aligned()),
            Cell::from(Span::styled(history, self.bars())),
            Cell::from(words::cut(&plain(&words::composition(&table.kinds, 3)), room.made)),
        ]);
        if chosen { row.style(style::REVERSED) } else { row }
    }
}

/// Its first process's name, and how many more there are.
fn name(table: &LiveTable, width: usize) -> String {
    let more = table.pids.len().saturating_sub(1);
    let comm = if table.comm.is_empty() { "?".to_owned() } else { table.comm.to_string() };
    let suffix = if more > 0 { format!(" +{more}") } else { String::new() };
    words::cut(&comm, width.saturating_sub(suffix.len())) + &suffix
}
