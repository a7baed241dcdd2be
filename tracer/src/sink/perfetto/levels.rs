//! How many descriptors were live in each table, and when: all that the events tell of it.

use std::collections::{BTreeSet, HashMap};

use crate::event::{Event, Head, Mark, TableId};
use crate::model::report::TableRow;

/// Levels of all tables.
#[derive(Default)]
pub(super) struct Levels {
    tables: HashMap<TableId, Table>,
}

#[derive(Default)]
struct Table {
    /// Marks come with every record again.
    known: BTreeSet<(u64, u32)>,
    /// Levels after single changes, where those were recorded.
    changes: Vec<(u64, u32)>,
}

impl Levels {
    pub(super) fn event(&mut self, event: &Event) {
        let at_ns = event.at_ns();
        match event {
            Event::Proc(proc) => {
                if let Some(table) = proc.process.table {
                    self.add(table, at_ns, proc.live);
                }
            }
            Event::Exec(exec) => {
                exec.before.iter().chain(&exec.spawner).for_each(|head| self.head(head, at_ns));
                if let Some(table) = exec.process.table {
                    // What the exec closes goes at its moment: the level before it is of a moment earlier.
                    self.add(table, at_ns + 1, exec.live);
                }
            }
            Event::Exit(ended) => ended.table.iter().for_each(|head| self.head(head, at_ns)),
            Event::Removed(removed) => removed.table.iter().for_each(|head| self.head(head, at_ns)),
            Event::Table(seen) => self.head(&seen.table, at_ns),
            Event::Move(moved) => self.add(moved.to, at_ns, moved.live),
            Event::Census(census) => self.add(census.table, at_ns, census.live),
            Event::Slot(slot) => self.tables.entry(slot.table).or_default().changes.push((at_ns, slot.live)),
            Event::Descriptor(_) | Event::Stack(_) | Event::Place(_) => {}
        }
    }

    fn add(&mut self, table: TableId, at_ns: u64, live: u32) {
        self.tables.entry(table).or_default().known.insert((at_ns, live));
    }

    fn head(&mut self, head: &Head, at_ns: u64) {
        let id = head.id;
        for Mark { at_ns, live, .. } in [&head.life, &head.image, &head.window, &head.crest] {
            self.add(id, *at_ns, *live);
        }
        self.add(id, head.crest_from_ns, head.crest_floor);
        self.add(id, head.last_change_ns, head.live);
        self.add(id, at_ns, head.live);
    }

    /// The levels of a table in the order of time. The greatest is its high-water mark.
    pub(super) fn of(&mut self, row: &TableRow) -> Vec<(u64, u32)> {
        let Table { known, changes } = self.tables.remove(&TableId(row.table)).unwrap_or_default();
        let high = row.high_water.unwrap_or(u32::MAX);
        let mut levels: Vec<(u64, u32)> = known.into_iter().chain(changes).collect();
        levels.extend(row.high_water_ns.map(|at_ns| (at_ns, high)));
        // The run command's table was fdtide's own child's before, and held more then.
        levels.retain(|(at_ns, live)| *at_ns >= row.first_ns && *live <= high);
        if let Some(end_ns) = row.end_ns {
            levels.retain(|(at_ns, _)| *at_ns <= end_ns);
        }
        levels.sort_by_key(|(at_ns, _)| *at_ns);
        levels.dedup();
        levels.extend(row.end_ns.map(|end_ns| (end_ns, 0)));
        levels
    }
}
