//! One table: what it is made of, its spawn windows, its crests.

use std::collections::BTreeMap;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span, Text},
};

use crate::{
    event::{Container, Kinds},
    hist::Values,
    model::LiveTable,
    sink::{fields, text::words},
};

use super::{super::view::View, feed, plain, process, style};

/// Rows of the histogram.
const BINS: usize = 6;

impl View {
    pub(super) fn detail(&self, frame: &mut Frame<'_>, area: Rect, id: u64) {
        let Some(table) = self.shown().live.tables.iter().find(|table| table.table == id) else {
            let text = "this table has gone: its last process has ended; the report will have it";
            frame.render_widget(Line::styled(text, style::BOLD), area);
            return;
        };
        let rest = area.height.saturating_sub(5);
        let bins = rest * 2 / 5;
        let [head, kinds, windows, crests, failures] = Layout::vertical([
            Constraint::Length(5),
            Constraint::Min(3),
            Constraint::Length(bins.min(BINS as u16 + 2)),
            Constraint::Length(rest / 6 + 1),
            Constraint::Length(rest / 9 + 1),
        ])
        .areas(area);
        frame.render_widget(self.summary(table, area.width), head);
        self.kinds(frame, kinds, table);
        self.windows(frame, windows, id);
        self.crests(frame, crests, Some(id));
        self.failures(frame, failures, Some(id));
    }

    fn summary(&self, table: &LiveTable, width: u16) -> Text<'static> {
        let mut name = process(&table.comm, table.pids.first().copied().unwrap_or(0));
        let more = table.pids.len().saturating_sub(1);
        if more > 0 {
            let pids: Vec<String> = table.pids.iter().skip(1).take(8).map(u32::to_string).collect();
            name.push_str(&format!("  and {}: {}", words::count(more as u64, "process"), pids.join(" ")));
        }
        name.push_str(&inside(table));
        let title = fields::title;
        let mut live = format!("{} {}", title("tables[].live"), table.live);
        if let Some(mark) = &self.mark {
            let since = i64::from(table.live) - i64::from(mark.live.get(&table.table).copied().unwrap_or(0));
            live.push_str(&format!(" ({since:+} since the mark)"));
        }
        live.push_str(&format!(
            " · {} {}{}",
            title("tables[].high_water"),
            table.high_water,
            words::of_limit(table.high_water.into(), Some(table.soft_limit))
        ));
        let figure = |value: Option<u32>| value.map_or("?".to_owned(), |value| value.to_string());
        let more = format!(
            "{} {} · {} {} · {} {} · {} {}",
            title("tables[].settled"),
            figure(table.settled),
            title("tables[].highest_number"),
            figure(table.highest_number),
            title("tables[].installs"),
            table.installs,
            title("tables[].closes"),
            table.closes,
        );
        let history = self.shown().histories.get(&table.table);
        let minute =
            history.map_or(String::new(), |history| history.bars(usize::from(width.clamp(12, 60)), table.high_water));
        Text::from(vec![
            Line::styled(name, style::BOLD),
            Line::raw(live),
            Line::raw(more),
            Line::from(vec![Span::styled(minute, self.bars()), Span::styled("  last minute", style::DIM)]),
        ])
    }

    fn kinds(&self, frame: &mut Frame<'_>, area: Rect, table: &LiveTable) {
        let [now, top] = Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(area);
        let sides = [
            (now, format!("now: {}", table.live), &table.kinds),
            (top, format!("at the highest: {}", table.high_water), &table.high_water_kinds),
        ];
        for (area, title, kinds) in sides {
            let lines = self.composition(kinds, usize::from(area.width), area.height);
            feed::section(frame, area, &title, "nothing", lines);
        }
    }

    fn composition(&self, kinds: &Kinds, width: usize, height: u16) -> Vec<Line<'static>> {
        let pairs = kinds.by_count();
        let most = pairs.first().map_or(0, |(_, count)| *count);
        let rows = usize::from(height.saturating_sub(1));
        // The last line tells how many there was no room for.
        let shown = if pairs.len() > rows { rows.saturating_sub(1) } else { pairs.len() };
        let mut lines: Vec<Line<'static>> = pairs
            .iter()
            .take(shown)
            .map(|(kind, count)| self.bar_line(&format!("{:<17}", kind.name()), (*count).into(), most.into(), width))
            .collect();
        if let Some(more) = pairs.len().checked_sub(shown).filter(|more| *more > 0) {
            lines.push(Line::raw(format!("  {}", words::count(more as u64, "more kind"))));
        }
        lines
    }

    fn bar_line(&self, label: &str, count: u64, most: u64, width: usize) -> Line<'static> {
        let room = width.saturating_sub(words::width(label) + 10).min(40) as u64;
        let cells = (count * room).div_ceil(most.max(1));
        let bar = "█".repeat(usize::try_from(cells).unwrap_or(0));
        Line::from(vec![Span::raw(format!("  {label} {count:>5} ")), Span::styled(bar, self.bars())])
    }

    fn windows(&self, frame: &mut Frame<'_>, area: Rect, id: u64) {
        let none = BTreeMap::new();
        let windows = self.shown().windows.get(&id).unwrap_or(&none);
        let title = fields::title("execs[].spawn_window.high_water");
        let values: Values = windows.iter().flat_map(|(high, n)| (0..*n).map(|_| *high)).collect();
        let q = values.quantiles();
        let head = match q.count {
            0 => title.to_owned(),
            n => format!("{title}: {}  {}", words::count(n, "exec"), plain(&words::quantiles(&q))),
        };
        let bins = usize::from(area.height.saturating_sub(1)).clamp(1, BINS);
        let lines = self.bins(windows, bins, usize::from(area.width));
        feed::section(frame, area, &head, "no exec from this table was seen so far", lines);
    }

    fn bins(&self, windows: &BTreeMap<u32, u64>, most: usize, width: usize) -> Vec<Line<'static>> {
        let (Some((first, _)), Some((last, _))) = (windows.first_key_value(), windows.last_key_value()) else {
            return Vec::new();
        };
        let step = (last - first + 1).div_ceil(u32::try_from(most).unwrap_or(1)).max(1);
        let mut bins: BTreeMap<u32, u64> = BTreeMap::new();
        for (high, count) in windows {
            *bins.entry((high - first) / step).or_default() += count;
        }
        let greatest = bins.values().max().copied().unwrap_or(0);
        let line = |bin: u32| {
            let (from, to) = (first + bin * step, (first + (bin + 1) * step - 1).min(*last));
            let label = if from == to { from.to_string() } else { format!("{from} to {to}") };
            self.bar_line(&format!("{label:<17}"), bins.get(&bin).copied().unwrap_or(0), greatest, width)
        };
        (0..=(last - first) / step).map(line).collect()
    }
}

/// ` · 1 in container 3fa9c1d2e4b5`: its first process's id inside, and where that is.
fn inside(table: &LiveTable) -> String {
    let inside = table.ns_pids.first().filter(|inside| **inside != 0 && table.pids.first() != Some(*inside));
    let inside = inside.map(|pid| format!("{} {pid}", fields::short("tables[].ns_pids[]")));
    let place = table.container.as_ref().map(|id| {
        let container = Container { runtime: String::new(), id: id.clone(), name: None };
        format!("{} {}", fields::short("tables[].container"), container.short())
    });
    [inside, place].into_iter().flatten().map(|text| format!(" · {text}")).collect()
}
