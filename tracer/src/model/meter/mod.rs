//! What a metrics system needs: counters that only grow, distributions, and gauges of what is there, by label set.
//!
//! Fed by the model with the same events as the report. What a table's record adds to the one before is booked under the
//! labels that the table has then; so no counter falls when a table ends or its program changes its name, and the sums are
//! those of the report. Memory depends on what is followed now and on the number of label sets, not on what has been.

mod buckets;
mod reading;
mod recent;
mod sets;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use crate::event::{Head, Name, TableId};
use crate::model::failure::Tally;
use crate::model::report::{ExecRecord, FailureRow};
use crate::model::table::Origin;

pub use buckets::{BOUNDS, Distribution, SCHEMA};
pub use reading::{Now, ProcessRow, Reading, SetRow};
pub use recent::{MINUTES, Top};
pub use sets::{Closes, Failures, Figures, Installs, Labels};

use sets::{Place, Set, Sets};

/// Failures that wait to be taken with [`Meter::drain_failed`]; of more only the number is kept.
const WAITING: usize = 1024;

/// What is to be metered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterOptions {
    /// Label sets at most; what finds no place is counted under `other`.
    pub sets: usize,
    /// Processes told one by one at most, those with the most descriptors; 0 for none.
    pub processes: usize,
    /// Failures are wanted one by one too.
    pub failed: bool,
}

impl Default for MeterOptions {
    fn default() -> Self {
        MeterOptions { sets: 100, processes: 0, failed: false }
    }
}

/// Failures of one kind that a record has told of.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// When they were told, boot time.
    pub at_ns: u64,
    /// The table.
    pub table: u64,
    /// Process that the table was first seen with.
    pub pid: u32,
    /// Whose it is.
    pub labels: Labels,
    /// The failures that have come since the record before.
    pub row: FailureRow,
}

/// What a look at a table is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Everything.
    Whole,
    /// Its crest: the record came out of the middle of an exec, maybe, which is told later what it has closed.
    Crest,
}

/// What has been booked of a table.
#[derive(Clone, Debug, Default)]
struct Booked {
    place: Place,
    labels: Labels,
    pid: u32,
    begun: bool,
    /// Boot time of the latest look.
    at_ns: u64,
    live: u32,
    installs: u64,
    closes: u64,
    bad_closes: u32,
    crests: u32,
    tally: Tally,
}

/// Keeps the figures of a trace by label set.
#[derive(Clone, Debug)]
pub struct Meter {
    options: MeterOptions,
    sets: Sets,
    tables: HashMap<TableId, Booked>,
    failed: VecDeque<Failed>,
    /// Failures that found no room to wait in.
    failed_dropped: u64,
}

impl Meter {
    /// Nothing has happened yet.
    pub fn new(options: MeterOptions) -> Meter {
        Meter {
            options,
            sets: Sets::new(options.sets),
            tables: HashMap::new(),
            failed: VecDeque::new(),
            failed_dropped: 0,
        }
    }

    /// Failures told since the last call, and how many more found no room to wait in.
    pub fn drain_failed(&mut self) -> (Vec<Failed>, u64) {
        (self.failed.drain(..).collect(), std::mem::take(&mut self.failed_dropped))
    }

    /// The table has this name now: that of the process that it was first seen with. Without a container it stays where it was.
    pub(super) fn uses(&mut self, table: TableId, pid: u32, comm: &Name, container: Option<Name>, at_ns: u64) {
        let known = self.tables.get(&table);
        let container = container.or_else(|| Some(known?.labels.container.clone())).unwrap_or_default();
        let labels = Labels { comm: comm.clone(), container };
        if known.is_some_and(|booked| booked.labels == labels) {
            return;
        }
        if let Some(booked) = known {
            let set = self.sets.at(booked.place, at_ns);
            set.tables = set.tables.saturating_sub(1);
        }
        let place = self.sets.place(&labels, at_ns);
        self.sets.at(place, at_ns).tables += 1;
        let booked = self.tables.entry(table).or_default();
        (booked.place, booked.pid, booked.labels) = (place, pid, labels);
    }

    /// Books what this look at a table adds to the one before. An earlier look than that adds nothing.
    pub(super) fn look(&mut self, head: &Head, at_ns: u64, look: Look) {
        let Some(booked) = self.tables.get_mut(&head.id) else { return };
        if booked.begun && at_ns < booked.at_ns {
            return;
        }
        let set = self.sets.at(booked.place, at_ns);
        let crest = head.at_least_now(&head.crest, at_ns);
        set.recent.seen(at_ns, crest.live, crest.soft);
        set.figures.crests += u64::from(head.crests.saturating_sub(booked.crests));
        booked.crests = booked.crests.max(head.crests);
        if look == Look::Crest {
            return;
        }
        booked.book(head, at_ns, set);
        if head.failures.is_empty() && head.failures_other == 0 {
            return;
        }
        let rows = booked.tally.since(head);
        booked.tally = Tally::of(head);
        for row in &rows {
            set.figures.failed(row.errno.clone(), row.cause, row.count);
        }
        if self.options.failed {
            let (table, pid, labels) = (head.id.0, booked.pid, booked.labels.clone());
            let failed = rows.into_iter().map(|row| Failed { at_ns, table, pid, labels: labels.clone(), row });
            self.failed.extend(failed);
            let over = self.failed.len().saturating_sub(WAITING);
            self.failed.drain(..over);
            self.failed_dropped += over as u64;
        }
    }

    /// An exec has left so many descriptors of a table that its process keeps.
    pub(super) fn exec_closed(&mut self, before: &Head, live: u32, at_ns: u64) {
        let Some(booked) = self.tables.get_mut(&before.id).filter(|booked| booked.begun) else { return };
        let after = before.closes.saturating_add(u64::from(before.live.saturating_sub(live)));
        booked.live = live;
        add(&mut self.sets.at(booked.place, at_ns).figures.closes.exec, grown(&mut booked.closes, after));
    }

    /// A crest has ended with its table: the kernel does not count those.
    pub(super) fn unfallen(&mut self, table: TableId, at_ns: u64) {
        if let Some(booked) = self.tables.get(&table) {
            self.sets.at(booked.place, at_ns).figures.crests += 1;
        }
    }

    /// The table has gone, with all that was in it.
    pub(super) fn ended(&mut self, table: TableId, at_ns: u64) {
        let Some(booked) = self.tables.remove(&table) else { return };
        let set = self.sets.at(booked.place, at_ns);
        add(&mut set.figures.closes.exit, booked.live.into());
        set.tables = set.tables.saturating_sub(1);
    }

    /// The table is followed no longer, and lives on.
    pub(super) fn removed(&mut self, table: TableId, at_ns: u64) {
        let Some(booked) = self.tables.remove(&table) else { return };
        let set = self.sets.at(booked.place, at_ns);
        add(&mut set.figures.closes.removed, booked.live.into());
        set.tables = set.tables.saturating_sub(1);
    }

    /// An exec, counted for who spawned it.
    pub(super) fn exec(&mut self, record: &ExecRecord, container: Name) {
        let labels = Labels { comm: record.spawner.comm.clone(), container };
        let place = self.sets.place(&labels, record.at_ns);
        let figures = &mut self.sets.at(place, record.at_ns).figures;
        figures.execs += 1;
        if let Some(high) = record.spawn_window.high_water {
            figures.windows.add(high);
        }
        if let Some(high) = record.before_exec.high_water {
            figures.children.add(high);
        }
    }

    /// A process that had outlived its spawner, or all roots, has ended.
    pub(super) fn orphan_ended(&mut self, table: Option<TableId>, at_ns: u64) {
        let place = table.and_then(|table| self.tables.get(&table)).map_or(0, |booked| booked.place);
        self.sets.at(place, at_ns).figures.orphans += 1;
    }

    /// The run command begins, with so many descriptors: what was before is not its own.
    pub(super) fn start_over(&mut self, table: TableId, origin: &Origin, live: u32) {
        let booked = self.tables.remove(&table).unwrap_or_default();
        *self = Meter::new(self.options);
        let Origin { at_ns, installs, closes, crests, bad_closes, .. } = *origin;
        let place = self.sets.place(&booked.labels, at_ns);
        let set = self.sets.at(place, at_ns);
        set.tables = 1;
        set.figures.installs.inherited = live.into();
        let tally = origin.tally.clone();
        // The crest that the exec itself ended has been told, and counted, before the exec.
        let crests = crests.max(booked.crests);
        let booked = Booked { place, begun: true, at_ns, live, installs, closes, bad_closes, crests, tally, ..booked };
        self.tables.insert(table, booked);
    }
}

impl Booked {
    fn book(&mut self, head: &Head, at_ns: u64, set: &mut Set) {
        let figures = &mut set.figures;
        if !std::mem::replace(&mut self.begun, true) {
            // What was there at first sight of the table follows from any later look.
            let first = head.closes.saturating_add(head.live.into()).saturating_sub(head.installs);
            let installs = &mut figures.installs;
            add(if head.seeded { &mut installs.found } else { &mut installs.inherited }, first);
        }
        self.at_ns = at_ns;
        self.live = head.live;
        add(&mut figures.installs.opened, grown(&mut self.installs, head.installs));
        add(&mut figures.closes.closed, grown(&mut self.closes, head.closes));
        figures.bad_closes += u64::from(head.bad_closes.saturating_sub(self.bad_closes));
        self.bad_closes = self.bad_closes.max(head.bad_closes);
    }
}

/// Adds to a sum. Only a damaged recording has figures that come to more than fits; the sum then stays at the most.
fn add(sum: &mut u64, by: u64) {
    *sum = sum.saturating_add(by);
}

/// Raises a cumulative figure, and tells by how much.
fn grown(known: &mut u64, now: u64) -> u64 {
    let by = now.saturating_sub(*known);
    *known += by;
    by
}
