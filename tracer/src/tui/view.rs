//! What is shown, and how: sorted, filtered, frozen, opened.

use std::{cmp::Ordering, collections::HashMap};

use crate::{
    event::Descriptor,
    model::{LiveTable, LiveView},
};

use super::{
    keys::Answer,
    scene::{Scene, Status},
};

/// What fills the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// All tables, and what has happened.
    List,
    /// One table.
    Table(u64),
    /// Its descriptors, one by one.
    Census(u64),
    /// What keys do.
    Help,
}

/// Column that rows are ordered by. Figures: greatest first, but for headroom, where the least comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// High-water mark.
    High,
    /// Live.
    Live,
    /// What the limit leaves above the high-water mark.
    Left,
    /// First process.
    Pid,
    /// Its name.
    Name,
}

impl Sort {
    const ALL: [Sort; 5] = [Sort::High, Sort::Live, Sort::Left, Sort::Pid, Sort::Name];

    fn shifted(self, by: usize) -> Sort {
        let at = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL.get((at + by) % Self::ALL.len()).copied().unwrap_or(Sort::High)
    }

    /// The next column.
    pub fn next(self) -> Sort {
        self.shifted(1)
    }

    /// The one before.
    pub fn previous(self) -> Sort {
        self.shifted(Self::ALL.len() - 1)
    }

    /// Path of the figure in the field table.
    pub fn path(self) -> &'static str {
        match self {
            Sort::High => "tables[].high_water",
            Sort::Live => "tables[].live",
            Sort::Left => "tables[].headroom",
            Sort::Pid => "tables[].pids[]",
            Sort::Name => "tables[].comm",
        }
    }

    fn compare(self, a: &LiveTable, b: &LiveTable) -> Ordering {
        let left = |table: &LiveTable| table.soft_limit.saturating_sub(table.high_water);
        match self {
            Sort::High => b.high_water.cmp(&a.high_water),
            Sort::Live => b.live.cmp(&a.live),
            Sort::Left => left(a).cmp(&left(b)),
            Sort::Pid => a.pids.first().cmp(&b.pids.first()),
            Sort::Name => a.comm.cmp(&b.comm),
        }
    }
}

/// A moment that somebody marked.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Boot time.
    pub at_ns: u64,
    /// Live descriptors of each table then.
    pub live: HashMap<u64, u32>,
}

/// Every descriptor of one table, as of one moment.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The table.
    pub table: u64,
    /// Boot time.
    pub at_ns: u64,
    /// One row per descriptor.
    pub rows: Vec<Descriptor>,
    /// First row shown.
    pub first: usize,
}

/// The view and what it has been told.
#[derive(Clone, Debug)]
pub struct View {
    pub(super) scene: Scene,
    pub(super) frozen: Option<Box<Scene>>,
    pub(super) screen: Screen,
    pub(super) sort: Sort,
    pub(super) reverse: bool,
    pub(super) filter: String,
    /// Keys go into the filter.
    pub(super) typing: bool,
    /// Table that is chosen; stays chosen when rows move.
    pub(super) chosen: Option<u64>,
    pub(super) mark: Option<Moment>,
    pub(super) census: Option<Taken>,
    pub(super) color: bool,
}

impl View {
    /// Nothing is known yet. Without `color` only bold, dim and reversed text is used.
    #[must_use]
    pub fn new(color: bool) -> Self {
        Self {
            scene: Scene::default(),
            frozen: None,
            screen: Screen::List,
            sort: Sort::High,
            reverse: false,
            filter: String::new(),
            typing: false,
            chosen: None,
            mark: None,
            census: None,
            color,
        }
    }

    /// Takes the next state. A frozen view goes on taking them, and shows them when it is let go.
    pub fn update(&mut self, live: LiveView, status: Status) {
        self.scene.update(live, status);
    }

    /// What is drawn.
    pub(super) fn shown(&self) -> &Scene {
        self.frozen.as_deref().unwrap_or(&self.scene)
    }

    /// Tables that pass the filter, in order.
    pub(super) fn rows(&self) -> Vec<&LiveTable> {
        let mut rows: Vec<&LiveTable> = self.shown().live.tables.iter().filter(|table| self.passes(table)).collect();
        rows.sort_by(|a, b| {
            let order = self.sort.compare(a, b);
            let order = if self.reverse { order.reverse() } else { order };
            order.then_with(|| (a.first_ns, a.table).cmp(&(b.first_ns, b.table)))
        });
        rows
    }

    fn passes(&self, table: &LiveTable) -> bool {
        let text = self.filter.to_lowercase();
        text.is_empty()
            || table.comm.to_string().to_lowercase().contains(&text)
            || table.pids.iter().any(|pid| pid.to_string().contains(&text))
            || table.kinds.iter().any(|(kind, _)| kind.name().contains(&text))
    }

    /// Row of the chosen table; the first one if it has gone.
    pub(super) fn chosen_row(&self, rows: &[&LiveTable]) -> usize {
        rows.iter().position(|table| Some(table.table) == self.chosen).unwrap_or(0)
    }

    pub(super) fn step(&mut self, by: isize) {
        let rows = self.rows();
        let last = isize::try_from(rows.len()).unwrap_or(isize::MAX) - 1;
        let at = isize::try_from(self.chosen_row(&rows)).unwrap_or(0);
        let to = usize::try_from(at.saturating_add(by).clamp(0, last.max(0))).unwrap_or(0);
        self.chosen = rows.get(to).map(|table| table.table);
    }

    pub(super) fn open(&mut self) {
        let rows = self.rows();
        if let Some(table) = rows.get(self.chosen_row(&rows)).map(|table| table.table) {
            self.chosen = Some(table);
            self.screen = Screen::Table(table);
        }
    }

    pub(super) fn back(&mut self) {
        match self.screen {
            Screen::List => self.filter.clear(),
            Screen::Census(table) => self.screen = Screen::Table(table),
            Screen::Table(_) | Screen::Help => self.screen = Screen::List,
        }
    }

    /// Asks for a census of the table that is open, or chosen.
    pub(super) fn ask_census(&mut self) -> Answer {
        let rows = self.rows();
        let chosen = rows.get(self.chosen_row(&rows)).map(|table| table.table);
        let table = match self.screen {
            Screen::List => chosen,
            Screen::Table(table) | Screen::Census(table) => Some(table),
            Screen::Help => None,
        };
        table.map_or(Answer::Stay, Answer::Census)
    }

    /// Takes the census that was asked for, and shows it.
    pub fn take_census(&mut self, table: u64, rows: Vec<Descriptor>) {
        let at_ns = rows.first().map_or(self.scene.status.now_ns, |row| row.at_ns);
        self.census = Some(Taken { table, at_ns, rows, first: 0 });
        self.screen = Screen::Census(table);
    }

    pub(super) fn freeze(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(Box::new(self.scene.clone())),
        };
    }

    pub(super) fn set_mark(&mut self) {
        let scene = self.shown();
        let live = scene.live.tables.iter().map(|table| (table.table, table.live)).collect();
        self.mark = Some(Moment { at_ns: scene.status.now_ns, live });
    }
}
