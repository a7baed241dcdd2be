//! One table, descriptor by descriptor.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::Line,
    widgets::{Cell, Row, Table},
};

use crate::{
    event::{Descriptor, Kinds, Opener, Socket, SocketState},
    sink::{fields, text::words},
};

use super::{super::view::View, plain, style};

impl View {
    pub(super) fn census(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(census) = &self.census else { return };
        let [head, body] = Layout::vertical([Constraint::Length(2), Constraint::Min(1)]).areas(area);
        let kinds: Kinds = census.rows.iter().map(|row| (row.kind, 1)).collect();
        let when = words::seconds(self.shown().since_start(census.at_ns));
        let count = words::count(census.rows.len() as u64, "descriptor");
        let of = self.shown().live.tables.iter().find(|table| table.table == census.table);
        let of =
            of.map_or(String::new(), |table| super::process(&table.comm, table.pids.first().copied().unwrap_or(0)));
        let title = format!("census of {of} at {when}: {count}");
        frame.render_widget(Line::styled(title, style::BOLD), Rect { height: head.height.min(1), ..head });
        let made = plain(&words::composition(&kinds, 5));
        frame.render_widget(
            Line::raw(made),
            Rect { y: head.y + head.height.saturating_sub(1), height: head.height.min(1), ..head },
        );
        let columns = [
            fields::short("censuses[].descriptors[].number"),
            fields::short("censuses[].descriptors[].kind"),
            fields::short("censuses[].descriptors[].opener.by"),
            fields::short("censuses[].descriptors[].age_ns"),
            fields::short("censuses[].descriptors[].name"),
        ];
        let columns = columns.into_iter().enumerate().map(|(at, title)| match at {
            0 | 2 | 3 => Cell::from(Line::raw(title).right_aligned()),
            _ => Cell::from(title),
        });
        // Ages are there only if installs were noted.
        let ages = if census.rows.iter().any(|row| row.opened_ns.is_some()) { 10 } else { 0 };
        let widths = [6, 16, 9, ages].map(Constraint::Length).into_iter().chain([Constraint::Min(8)]);
        let height = usize::from(body.height.saturating_sub(1));
        let rows: Vec<Row<'_>> =
            census.rows.iter().skip(census.first).take(height).map(|row| line(row, census.at_ns)).collect();
        let table =
            Table::new(rows, widths).header(Row::new(columns.collect::<Vec<_>>()).style(style::HEAD)).column_spacing(1);
        frame.render_widget(table, body);
    }
}

fn line(row: &Descriptor, at_ns: u64) -> Row<'static> {
    let age = row.opened_ns.map_or(String::new(), |opened| words::seconds(at_ns.saturating_sub(opened)));
    let opener = match row.opener {
        Opener::Before => "before".to_owned(),
        Opener::Unknown => "?".to_owned(),
        Opener::Thread(tid) => tid.to_string(),
    };
    let mut what = row.socket.as_ref().map_or(String::new(), socket);
    if !row.name.is_empty() {
        // A path that does not begin at the root is the end of a longer one.
        let dots =
            if row.kind.name().starts_with("socket") || row.name.as_bytes().starts_with(b"/") { "" } else { "…/" };
        let dots = if row.socket.is_none() && row.name.as_bytes().contains(&b'/') { dots } else { "" };
        what = format!("{what} {dots}{}", row.name).trim_start().to_owned();
    }
    if row.unlinked {
        what.push_str(" (unlinked)");
    }
    if !row.cloexec {
        what.push_str(" · kept over exec");
    }
    Row::new([
        Cell::from(Line::raw(row.number.to_string()).right_aligned()),
        Cell::from(row.kind.name()),
        Cell::from(Line::raw(opener).right_aligned()),
        Cell::from(Line::raw(age).right_aligned()),
        Cell::from(what),
    ])
}

fn socket(socket: &Socket) -> String {
    let state = match socket.state {
        SocketState::Unconnected => "unconnected",
        SocketState::Bound => "bound",
        SocketState::Listening => "listening",
        SocketState::Connecting => "connecting",
        SocketState::Connected => "connected",
        SocketState::Closing => "closing",
    };
    let end =
        |end: Option<(std::net::IpAddr, u16)>| end.map(|(address, port)| std::net::SocketAddr::new(address, port));
    match (end(socket.local), end(socket.remote)) {
        (Some(local), Some(remote)) => format!("{state} {local} → {remote}"),
        (Some(local), None) => format!("{state} {local}"),
        (None, Some(remote)) => format!("{state} → {remote}"),
        (None, None) => state.to_owned(),
    }
}
