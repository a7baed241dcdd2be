//! What there is to see while the trace runs: tables now, and the last things that happened.

use std::collections::{HashMap, VecDeque};

use crate::event::{Exec, Kinds, Name, Seen, TableId};
use crate::model::report::{ExecRecord, FailureRow};
use crate::model::{CrestRow, Model};

/// Execs and crests remembered for a view.
const RECENT: usize = 128;

/// The state of the traced tree after the last event.
#[derive(Clone, Debug, Default)]
pub struct LiveView {
    /// Tables in use, in the order of first sight. A table is as fresh as the last record of it: see
    /// [`LiveTable::seen_ns`].
    pub tables: Vec<LiveTable>,
    /// The last execs, oldest first.
    pub execs: Vec<LiveExec>,
    /// The last crests that have ended, oldest first.
    pub crests: Vec<CrestRow>,
    /// Failures of the tables in use, the latest first.
    pub failures: Vec<LiveFailure>,
    /// Traced processes that have not ended.
    pub processes: usize,
    /// Execs so far, without the run command's own first.
    pub execs_total: u64,
}

/// A table in use.
#[derive(Clone, Debug)]
pub struct LiveTable {
    /// Identity within this trace.
    pub table: u64,
    /// Processes that used it, first one first.
    pub pids: Vec<u32>,
    /// Last name of the first of them.
    pub comm: Name,
    /// First sight, boot time.
    pub first_ns: u64,
    /// Boot time of the last record of it; `None` if there was none so far, and the figures below are 0.
    pub seen_ns: Option<u64>,
    /// Its processes in their own namespaces, in the same order.
    pub ns_pids: Vec<u32>,
    /// Id of the container of its first process.
    pub container: Option<Name>,
    /// Boot time of its last change.
    pub changed_ns: u64,
    /// Live descriptors.
    pub live: u32,
    /// The same by kind.
    pub kinds: Kinds,
    /// Greatest number of live descriptors so far.
    pub high_water: u32,
    /// What that was made of.
    pub high_water_kinds: Kinds,
    /// Greatest descriptor number in use so far.
    pub highest_number: Option<u32>,
    /// Soft limit, as last read.
    pub soft_limit: u32,
    /// Level that it last came to rest at.
    pub settled: Option<u32>,
    /// Descriptors that appeared.
    pub installs: u64,
    /// Descriptors that went.
    pub closes: u64,
    /// Crests so far.
    pub crests: u64,
    /// Failures so far, of all kinds.
    pub failures: u64,
    /// More than one process used it at a time.
    pub shared: bool,
}

/// An exec, as far as it is known when it happens.
#[derive(Clone, Debug)]
pub struct LiveExec {
    /// As in the report.
    pub seq: u64,
    /// Boot time.
    pub at_ns: u64,
    /// The process.
    pub pid: u32,
    /// Base name of the program.
    pub program: Name,
    /// Process that spawned it; 0 if not known.
    pub spawner: u32,
    /// Its name.
    pub spawner_comm: Name,
    /// The spawner's table.
    pub spawner_table: Option<u64>,
    /// High-water of the spawn window.
    pub high_water: Option<u32>,
    /// What that was made of.
    pub kinds: Option<Kinds>,
    /// Level that the spawner's table came to rest at.
    pub settled: Option<u32>,
    /// Soft limit minus high-water.
    pub headroom: Option<u32>,
    /// High-water of the child between fork and exec.
    pub before_exec: Option<u32>,
    /// Descriptors that the image started with.
    pub inherited: u32,
    /// Descriptors that could not be made, in the window and in the child before the exec.
    pub failures: u64,
}

/// Failures of one syscall with one error in a table in use.
#[derive(Clone, Debug)]
pub struct LiveFailure {
    /// The table.
    pub table: u64,
    /// Its first process.
    pub pid: u32,
    /// Name of that.
    pub comm: Name,
    /// The failures so far.
    pub row: FailureRow,
}

/// The last things that happened.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    execs: VecDeque<LiveExec>,
    crests: VecDeque<CrestRow>,
}

impl Recent {
    /// An exec has happened.
    pub fn exec(&mut self, record: &ExecRecord, event: &Exec) {
        let window = &record.spawn_window;
        let failures = window.failures.iter().chain(&record.before_exec.failures).flatten();
        push(
            &mut self.execs,
            LiveExec {
                seq: record.seq,
                at_ns: event.at_ns,
                pid: record.pid,
                program: record.program.clone(),
                spawner: record.spawner.pid,
                spawner_comm: record.spawner.comm.clone(),
                spawner_table: window.table,
                high_water: window.high_water,
                kinds: window.kinds.clone(),
                settled: window.settled,
                headroom: window.headroom,
                before_exec: record.before_exec.high_water,
                inherited: record.inherited,
                failures: failures.map(|row| row.count).fold(0, u64::saturating_add),
            },
        );
    }

    /// Everything before is not this program's.
    pub fn start_over(&mut self) {
        self.crests.clear();
    }

    /// A crest has ended.
    pub fn crest(&mut self, row: &CrestRow) {
        push(&mut self.crests, row.clone());
    }
}

fn push<T>(list: &mut VecDeque<T>, entry: T) {
    if list.len() >= RECENT {
        list.pop_front();
    }
    list.push_back(entry);
}

impl Model {
    /// The state after the last event, with tables as they were at these looks since. A look shows what is, and tells of no
    /// end; nothing of it stays, so that the report is made of events alone. Costs a copy of what it shows.
    pub fn live(&self, looks: &[Seen]) -> LiveView {
        let looks: HashMap<TableId, &Seen> = looks.iter().map(|seen| (seen.table.id, seen)).collect();
        let mut tables = Vec::new();
        let mut failures = Vec::new();
        for (id, table) in self.tables.iter().filter(|(_, table)| !table.is_over()) {
            let look = looks.get(id).copied();
            tables.push(table.live(look));
            failures.append(&mut table.live_failures(look));
        }
        tables.sort_by_key(|table| (table.first_ns, table.table));
        failures.sort_by_key(|failure| (std::cmp::Reverse(failure.row.last_ns), failure.table));
        LiveView {
            tables,
            execs: self.recent.execs.iter().cloned().collect(),
            crests: self.recent.crests.iter().cloned().collect(),
            failures,
            processes: self.procs.len(),
            execs_total: self.seq,
        }
    }
}
