//! What the meter shows at one moment.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::event::{Head, Kind, Name, Seen, TableId};
use crate::model::Model;
use crate::model::meter::Look;
use crate::model::meter::recent::Top;
use crate::model::meter::sets::{Figures, Labels, Place};
use crate::model::process::Proc;
use crate::model::table::Table;

/// Everything that the meter has, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Label sets, in the order of their labels.
    pub sets: Vec<SetRow>,
    /// Processes one by one, where they are wanted.
    pub processes: Vec<ProcessRow>,
    /// Processes that were left out of that list.
    pub processes_left_out: u64,
    /// Traced processes whose table could not be followed, so far.
    pub not_followed: u64,
    /// Tables and execs that were counted under `other`, so far.
    pub overflowed: u64,
    /// Label sets that have given up their place, so far.
    pub given_up: u64,
    /// What was booked under those.
    pub given_up_figures: Figures,
}

/// One label set.
#[derive(Clone, Debug, Default)]
pub struct SetRow {
    /// Its labels.
    pub labels: Labels,
    /// What only grows.
    pub figures: Figures,
    /// What its tables came to in the last minutes.
    pub recent: Option<Top>,
    /// What is there now; `None` if no table has these labels.
    pub now: Option<Now>,
}

/// The tables of one label set now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Now {
    /// Tables.
    pub tables: u64,
    /// Processes that use them.
    pub processes: u64,
    /// Processes among them that have outlived their spawner, or all roots.
    pub orphans: u64,
    /// Live descriptors of all tables, by kind.
    pub kinds: BTreeMap<Kind, u64>,
    /// Greatest number of live descriptors in one table, since its program's exec or first sight.
    pub high_water: u32,
    /// Least soft limit.
    pub soft_limit: u32,
    /// Least soft limit minus high-water of one table, not below 0.
    pub headroom: u32,
    /// Tables that have lost a listener with a failed accept.
    pub lost_listeners: u64,
    /// Greatest mean growth of one table's settled level per exec.
    pub growth_per_exec: Option<f64>,
    /// Tables that have grown in a kind, in every window after warm-up.
    pub growing: BTreeMap<Kind, u64>,
}

/// One table, told by its first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRow {
    /// The process.
    pub pid: u32,
    /// Its labels.
    pub labels: Labels,
    /// Live descriptors.
    pub live: u32,
    /// Greatest number of them, since its program's exec or first sight.
    pub high_water: u32,
    /// Soft limit, as last read.
    pub soft_limit: u32,
    /// Soft limit minus high-water, not below 0.
    pub headroom: u32,
}

impl Model {
    /// Books these looks at tables and shows everything that is metered; `None` without a meter. A look goes into no report.
    pub fn reading(&mut self, looks: &[Seen], now_ns: u64) -> Option<Reading> {
        self.meter.as_ref()?;
        for seen in looks {
            if self.tables.get(&seen.table.id).is_some_and(|table| !table.is_over())
                && let Some(meter) = &mut self.meter
            {
                meter.look(&seen.table, seen.at_ns, Look::Whole);
            }
        }
        let meter = self.meter.as_ref()?;
        let mut now = self.tables_now(looks);
        self.processes_now(&mut now);
        let mut sets: Vec<SetRow> = Vec::new();
        for (place, set) in meter.sets.iter() {
            let now = now.remove(&place);
            // The one for the rest stands there from the start.
            if place == 0 && now.is_none() && set.figures == Figures::default() {
                continue;
            }
            let (labels, figures) = (set.labels.clone(), set.figures.clone());
            sets.push(SetRow { labels, figures, recent: set.recent.top(now_ns), now });
        }
        sets.sort_by(|a, b| a.labels.cmp(&b.labels));
        let (processes, processes_left_out) = self.rows(looks, meter.options.processes);
        Some(Reading {
            sets,
            processes,
            processes_left_out,
            not_followed: self.seen.not_followed,
            overflowed: meter.sets.overflowed,
            given_up: meter.sets.given_up_count,
            given_up_figures: meter.sets.given_up.clone(),
        })
    }

    /// Tables in use, as they were last seen.
    fn heads<'a>(&'a self, looks: &'a [Seen]) -> impl Iterator<Item = (TableId, &'a Table, &'a Head, u64)> {
        let looks: HashMap<TableId, &Seen> = looks.iter().map(|seen| (seen.table.id, seen)).collect();
        self.tables.iter().filter(|(_, table)| !table.is_over()).filter_map(move |(id, table)| {
            let (head, seen_ns) = table.latest(looks.get(id).copied())?;
            Some((*id, &**table, head, seen_ns))
        })
    }

    fn tables_now(&self, looks: &[Seen]) -> HashMap<Place, Now> {
        let mut all: HashMap<Place, Now> = HashMap::new();
        for (id, table, head, seen_ns) in self.heads(looks) {
            let Some(place) = self.meter.as_ref().and_then(|meter| meter.place(id)) else { continue };
            all.entry(place).or_insert_with(Now::none).add(table, head, seen_ns);
        }
        all
    }

    fn processes_now(&self, all: &mut HashMap<Place, Now>) {
        for proc in self.procs.values() {
            let place = proc.table.and_then(|id| self.meter.as_ref()?.place(id));
            if let Some(now) = place.and_then(|place| all.get_mut(&place)) {
                now.processes += 1;
                now.orphans += u64::from(self.is_orphan(proc));
            }
        }
    }

    /// As the report sees it.
    fn is_orphan(&self, proc: &Proc) -> bool {
        proc.left.is_some() || (self.roots.are_gone() && !proc.target)
    }

    fn rows(&self, looks: &[Seen], most: usize) -> (Vec<ProcessRow>, u64) {
        if most == 0 {
            return (Vec::new(), 0);
        }
        let mut rows: Vec<ProcessRow> = Vec::new();
        for (id, _, head, seen_ns) in self.heads(looks) {
            let Some(booked) = self.meter.as_ref().and_then(|meter| meter.tables.get(&id)) else { continue };
            let mark = head.at_least_now(&head.image, seen_ns);
            rows.push(ProcessRow {
                pid: booked.pid,
                labels: booked.labels.clone(),
                live: head.live,
                high_water: mark.live,
                soft_limit: head.soft,
                headroom: mark.soft.saturating_sub(mark.live),
            });
        }
        rows.sort_by_key(|row| (Reverse(row.live), row.pid));
        // One process may have been the first user of two tables: its own row is the one with more in it.
        let mut seen = std::collections::HashSet::new();
        rows.retain(|row| seen.insert(row.pid));
        let left_out = rows.len().saturating_sub(most);
        rows.truncate(most);
        (rows, left_out as u64)
    }
}

impl super::Meter {
    fn place(&self, table: TableId) -> Option<Place> {
        self.tables.get(&table).map(|booked| booked.place)
    }
}

impl Now {
    fn none() -> Now {
        Now { soft_limit: u32::MAX, headroom: u32::MAX, ..Now::default() }
    }

    fn add(&mut self, table: &Table, head: &Head, seen_ns: u64) {
        self.tables += 1;
        for (kind, count) in head.kinds.iter() {
            *self.kinds.entry(kind).or_default() += u64::from(count);
        }
        let mark = head.at_least_now(&head.image, seen_ns);
        self.high_water = self.high_water.max(mark.live);
        self.soft_limit = self.soft_limit.min(head.soft);
        self.headroom = self.headroom.min(mark.soft.saturating_sub(mark.live));
        self.lost_listeners += u64::from(table.lost_listener().is_some());
        if let Some(growth) = table.growth_per_exec() {
            self.growth_per_exec = Some(self.growth_per_exec.map_or(growth, |known| known.max(growth)));
        }
        for kind in table.growing(&head.kinds) {
            *self.growing.entry(kind).or_default() += 1;
        }
    }

    /// Live descriptors in all.
    pub fn live(&self) -> u64 {
        self.kinds.values().sum()
    }
}

impl Reading {
    /// The figures of all sets, with those that have given up their place.
    pub fn total(&self) -> Figures {
        let mut total = self.given_up_figures.clone();
        self.sets.iter().for_each(|set| total.merge(&set.figures));
        total
    }

    /// The set of processes with this name that are in no container.
    pub fn of(&self, comm: &str) -> Option<&SetRow> {
        let labels = Labels { comm: Name::from(comm), container: Name::default() };
        self.sets.iter().find(|set| set.labels == labels)
    }
}
