//! What the events mean: processes, tables, windows, and at the end one report.
//!
//! Pure: no input or output, no clock. The same events and the same [`End`] give the same [`Report`].

mod ages;
mod away;
mod census;
mod census_group;
mod census_row;
mod coverage;
mod crest;
mod exec;
mod failure;
mod family;
mod finish;
mod found;
mod growth;
mod highest;
mod image;
mod intern;
mod listener;
mod live;
mod marks;
pub mod merge;
pub mod meter;
mod places;
mod process;
mod record;
pub mod report;
mod spawner;
mod stack;
mod table;
mod trend;
mod twice;
mod when;
mod window;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::event::{Ended, Event, Head, Kinds, Move, Name, Proc as ProcEvent, ProcId, Process, Reason, Seen, TableId};
use crate::hist::Values;
use crate::model::image::{ImageEnd, Open};
use crate::model::intern::Interner;
use crate::model::meter::{Failed, Look, Meter, MeterOptions};
use crate::model::process::Proc;
use crate::model::table::Table;

pub use ages::AgeRow;
pub use census_row::{CensusGroup, CensusRow, DescriptorRow, FrameRow, OpenerRow, SocketKind, SocketRow, StackRow};
pub use crest::{CrestEnd, CrestRow, CrestThread};
pub use failure::{Cause, FailureRow};
pub use finish::End;
pub use listener::LostListener;
pub use live::{LiveExec, LiveFailure, LiveTable, LiveView};
pub use marks::MarkRow;
pub use report::{
    Agent, Anchor, CoverageNote, ExecRecord, Gap, Loss, LossCounter, Pause, Plan, Refused, Report, RootEnd,
};
pub use when::{rfc3339, rfc3339_ns};

/// Ended tables whose ids are remembered, so that a late record of one does not bring it back.
const REMEMBERED: usize = 4096;

/// Crests of tables that have gone, kept with `Options::stream`.
const STREAM_CRESTS: usize = 64;

/// Lost listeners told.
const LOST_LISTENERS: usize = 256;

/// How to look at the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// How long `live` must be still to count as settled, nanoseconds.
    pub settle_ns: u64,
    /// Keep completed exec records only until [`Model::drain_completed`] takes them, and of tables that have gone only the highest rows:
    /// memory then depends on what runs, not on what has run.
    pub stream: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { settle_ns: 50_000_000, stream: false }
    }
}

/// What happened so far.
#[derive(Clone, Debug, Default)]
pub struct Model {
    options: Options,
    procs: HashMap<ProcId, Proc>,
    tables: HashMap<TableId, Box<Table>>,
    over: Vec<report::TableRow>,
    /// Tables that have gone, with `Options::stream`.
    highest: highest::Highest,
    crests: Vec<CrestRow>,
    growth: Vec<report::Growth>,
    lost_listeners: Vec<LostListener>,
    censuses: census::Censuses,
    stacks: stack::Stacks,
    ages: ages::Ages,
    gone: HashSet<TableId>,
    gone_order: VecDeque<TableId>,
    movers: HashMap<TableId, Vec<ProcId>>,
    execs: Vec<ExecRecord>,
    seq: u64,
    root_seen: bool,
    values: HashMap<(Name, Name), Pair>,
    orphans: Vec<report::Orphan>,
    roots: family::Roots,
    seen: coverage::Seen,
    recent: live::Recent,
    places: places::Places,
    marks: marks::Marks,
    meter: Option<Box<Meter>>,
    names: Interner<Name>,
    kinds: Interner<Kinds>,
}

/// High-water per exec, of the spawner's windows and of the children before their exec.
#[derive(Clone, Debug, Default)]
struct Pair {
    window: Values,
    before: Values,
}

impl Pair {
    fn count(&mut self, record: &ExecRecord) {
        if let Some(high) = record.spawn_window.high_water {
            self.window.add(high);
        }
        if let Some(high) = record.before_exec.high_water {
            self.before.add(high);
        }
    }
}

impl Model {
    /// Nothing has happened yet.
    pub fn new(options: Options) -> Model {
        Model { options, ..Model::default() }
    }

    /// From now on figures are kept for a metrics system too. Before the first event.
    pub fn meter(&mut self, options: MeterOptions) {
        self.meter = Some(Box::new(Meter::new(options)));
    }

    /// Failures told since the last call, and how many more found no room to wait in; where they are metered one by one.
    pub fn drain_failed(&mut self) -> (Vec<Failed>, u64) {
        self.meter.as_mut().map_or_else(Default::default, |meter| meter.drain_failed())
    }

    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Proc(proc) => self.apply_proc(proc),
            Event::Exec(exec) => self.apply_exec(exec),
            Event::Exit(ended) => self.apply_exit(ended),
            Event::Removed(removed) => self.apply_removed(removed),
            Event::Place(place) => self.apply_place(place),
            Event::Table(seen) => self.apply_table(seen),
            Event::Move(moved) => self.apply_move(moved),
            Event::Census(census) => {
                let comm = self.procs.get(&census.process).map(|proc| proc.comm.clone()).unwrap_or_default();
                self.censuses.taken(*census, &comm, self.options.stream);
            }
            Event::Descriptor(row) => self.censuses.row(row, self.options.stream),
            Event::Stack(stack) => self.stacks.add(stack),
            Event::Slot(slot) => self.ages.slot(slot),
        }
    }

    /// A person has noted something.
    pub fn mark(&mut self, at_ns: u64, text: &str) {
        self.marks.add(at_ns, text);
    }

    /// Exec records whose image has ended since the last call, in the order of their ends. Only with `Options::stream`;
    /// without it they stay for the report.
    pub fn drain_completed(&mut self) -> Vec<ExecRecord> {
        if self.options.stream { std::mem::take(&mut self.execs) } else { Vec::new() }
    }

    fn apply_proc(&mut self, event: &ProcEvent) {
        let process = &event.process;
        if self.procs.contains_key(&process.id) {
            return;
        }
        let mut proc = Proc::new(process);
        self.places.forked(process.id, process.spawner.id);
        proc.forked_ns = Some(event.at_ns);
        proc.forked_live = event.live;
        if process.seeded {
            self.seen.attached(process, event.at_ns);
        }
        if process.target {
            self.roots.came();
        }
        if process.spawner.known {
            if let Some(spawner) = self.procs.get_mut(&process.spawner.id) {
                spawner.bear(process.id);
            }
            if let Some(table) = process.spawner.table.and_then(|id| self.tables.get_mut(&id)) {
                table.windows.forked(process.id, event.at_ns);
                proc.forked_from = process.spawner.table;
            }
        }
        match process.table {
            Some(id) => self.use_table(id, process, event.at_ns),
            None => self.seen.not_followed += 1,
        }
        self.procs.insert(process.id, proc);
    }

    fn apply_move(&mut self, event: &Move) {
        let process = &event.process;
        self.use_table(event.to, process, event.at_ns);
        let proc = self.procs.entry(process.id).or_insert_with(|| Proc::new(process));
        proc.table = process.table.or(Some(event.to));
        proc.former.push(event.from);
        self.movers.entry(event.from).or_default().push(process.id);
    }

    fn apply_exit(&mut self, event: &Ended) {
        let process = &event.process;
        if let Some(head) = &event.table {
            let told = self.procs.get(&process.id).and_then(|proc| proc.table);
            self.one_table(process, told, head.id, event.at_ns);
            self.use_table(head.id, process, event.at_ns);
            self.observe(head, event.at_ns);
        }
        if let Some(mut proc) = self.procs.remove(&process.id) {
            self.forked_only(&proc, event);
            if let Some(open) = proc.open.take() {
                let end = ImageEnd::Exit(event.exit);
                self.close_image(*open, event.table.as_ref(), &proc.former, event.at_ns, end);
            }
            self.forget_fork(process.id, &mut proc);
            self.part_family(process, &proc, event);
        }
        self.places.gone(process.id);
        if let Some(head) = &event.table
            && head.users == 0
        {
            self.end_crest(head, event.at_ns, CrestEnd::Exit);
            self.end_table(head.id, event.at_ns);
        }
    }

    fn apply_table(&mut self, event: &Seen) {
        let id = event.table.id;
        self.observe_as(
            &event.table,
            event.at_ns,
            if event.reason == Reason::Crest { Look::Crest } else { Look::Whole },
        );
        match event.reason {
            Reason::Snapshot => {
                if let Some(table) = self.tables.get_mut(&id) {
                    table.snapshot();
                }
            }
            Reason::Crest => self.end_crest(&event.table, event.at_ns, CrestEnd::Fall),
            Reason::Left | Reason::Replaced => {
                self.carry(&event.table, event.at_ns);
                self.end_crest(&event.table, event.at_ns, CrestEnd::Exit);
                self.end_table(id, event.at_ns);
            }
        }
    }

    /// An image's table that its process has left for another one has ended: its mark still belongs to the image.
    fn carry(&mut self, head: &Head, at_ns: u64) {
        for id in self.movers.remove(&head.id).unwrap_or_default() {
            if let Some(open) = self.procs.get_mut(&id).and_then(|proc| proc.open.as_mut()) {
                open.carry(head, at_ns);
            }
        }
    }

    /// The process needs no window any more: it has execed, or ended without.
    fn forget_fork(&mut self, id: ProcId, proc: &mut Proc) {
        let Some(from) = proc.forked_from.take() else { return };
        if let Some(table) = self.tables.get_mut(&from) {
            table.windows.done(id);
            if table.is_over() && table.windows.is_idle() {
                self.retire(from);
            }
        }
    }

    fn use_table(&mut self, id: TableId, process: &Process, at_ns: u64) {
        if !self.gone.contains(&id) {
            let comm = self.names.get(&process.comm);
            self.censuses.thread(process.id.pid, &comm, self.options.stream);
            let table = self.tables.entry(id).or_insert_with(|| Box::new(Table::new(id, at_ns)));
            table.used_by(process, &comm, self.places.of(process.id));
            if let Some(meter) = self.meter.as_mut().filter(|_| !table.is_over()) {
                let (pid, comm) = table.first_user();
                let container = (pid == process.id.pid).then(|| self.places.label(process.id));
                meter.uses(id, pid, comm, container, at_ns);
            }
        }
    }

    fn observe(&mut self, head: &Head, at_ns: u64) {
        self.observe_as(head, at_ns, Look::Whole);
    }

    fn observe_as(&mut self, head: &Head, at_ns: u64, look: Look) {
        if !self.gone.contains(&head.id) {
            let table = self.tables.entry(head.id).or_insert_with(|| Box::new(Table::new(head.id, at_ns)));
            table.observe(head, at_ns);
            if let Some(meter) = self.meter.as_mut().filter(|_| !table.is_over()) {
                let (pid, comm) = table.first_user();
                meter.uses(head.id, pid, comm, None, at_ns);
                meter.look(head, at_ns, look);
            }
            for thread in &head.threads {
                self.censuses.thread(thread.tid, &thread.comm, self.options.stream);
            }
        }
    }

    fn end_crest(&mut self, head: &Head, at_ns: u64, end: CrestEnd) {
        if let Some(mut row) = self.tables.get_mut(&head.id).and_then(|table| table.crest_ended(head, at_ns, end)) {
            row.kinds = self.kinds.get(&row.kinds);
            self.recent.crest(&row);
            if let Some(meter) = self.meter.as_mut().filter(|_| end == CrestEnd::Exit) {
                meter.unfallen(head.id, at_ns);
            }
        }
    }

    fn end_table(&mut self, id: TableId, at_ns: u64) {
        if let Some(table) = self.tables.get_mut(&id) {
            table.ended(at_ns, self.options.settle_ns);
            if let Some(meter) = &mut self.meter {
                meter.ended(id, at_ns);
            }
            if table.windows.is_idle() {
                self.retire(id);
            }
        }
    }

    fn retire(&mut self, id: TableId) {
        let Some(mut table) = self.tables.remove(&id) else { return };
        self.crests.extend(table.take_crests());
        if self.lost_listeners.len() < LOST_LISTENERS {
            self.lost_listeners.extend(table.lost_listener());
        }
        if self.options.stream {
            crest::keep_highest(&mut self.crests, STREAM_CRESTS);
        }
        self.ages.ended(id);
        if self.options.stream {
            self.ages.forget(id);
        }
        self.gone.insert(id);
        self.gone_order.push_back(id);
        if self.gone_order.len() > REMEMBERED
            && let Some(oldest) = self.gone_order.pop_front()
        {
            self.gone.remove(&oldest);
        }
        if !self.options.stream {
            self.growth.extend(table.growth());
            self.over.push(table.into_row(self.options.settle_ns, &mut self.kinds));
        } else if let Some(rank) = self.highest.takes(&table) {
            self.highest.keep(rank, table.into_row(self.options.settle_ns, &mut self.kinds));
        }
    }

    fn keep(&mut self, open: Open) {
        self.execs.push(open.into_record());
    }
}
