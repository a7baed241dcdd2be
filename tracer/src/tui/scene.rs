//! What there is to draw: the last state, and what has been gathered from the ones before.

use std::collections::{BTreeMap, HashMap};

use crate::model::{LiveFailure, LiveView};

use super::history::History;

/// Kinds of failures remembered after their table has gone.
const FAILURES: usize = 64;

/// How the trace goes, beside what it sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Boot time now, nanoseconds.
    pub now_ns: u64,
    /// Way of hooking.
    pub backend: String,
    /// Records that found no room.
    pub lost: u64,
    /// Runs of a hook that did not happen.
    pub missed: u64,
    /// Records that could not be read.
    pub skipped: u64,
}

/// Everything drawn; a copy of it is what a frozen view shows.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The last state.
    pub live: LiveView,
    /// How the trace goes.
    pub status: Status,
    /// When the view began, boot time.
    pub start_ns: u64,
    /// The last minute of each table.
    pub histories: HashMap<u64, History>,
    /// High-water of the spawn windows of each table: mark to how many.
    pub windows: HashMap<u64, BTreeMap<u32, u64>>,
    /// Failures, those of tables that have gone too, the latest first.
    pub failures: Vec<LiveFailure>,
    /// Greatest number of the last exec taken into `windows`.
    seq: u64,
    /// End of the last crest taken into `histories`.
    crest_ns: u64,
    /// Marks as they were at the last state.
    high: HashMap<u64, u32>,
}

impl Scene {
    /// Takes the next state.
    pub fn update(&mut self, live: LiveView, status: Status) {
        if self.start_ns == 0 {
            self.start_ns = status.now_ns;
            self.crest_ns = status.now_ns;
        }
        self.tables(&live, status.now_ns);
        self.crests(&live);
        self.execs(&live);
        self.keep_failures(&live);
        self.histories.retain(|id, _| live.tables.iter().any(|table| table.table == *id));
        self.windows.retain(|id, _| live.tables.iter().any(|table| table.table == *id));
        self.live = live;
        self.status = status;
    }

    fn tables(&mut self, live: &LiveView, now_ns: u64) {
        let mut high = HashMap::new();
        for table in &live.tables {
            let history = self.histories.entry(table.table).or_default();
            history.put(now_ns, table.live);
            // A mark that has risen since the last state was reached between two looks.
            if self.high.get(&table.table).is_some_and(|known| table.high_water > *known) {
                history.put(now_ns, table.high_water);
            }
            high.insert(table.table, table.high_water);
        }
        self.high = high;
    }

    fn crests(&mut self, live: &LiveView) {
        let last = self.crest_ns;
        for crest in live.crests.iter().filter(|crest| crest.end_ns.is_some_and(|end| end > last)) {
            if let Some(history) = self.histories.get_mut(&crest.table) {
                history.put(crest.top_ns, crest.high_water);
            }
            self.crest_ns = self.crest_ns.max(crest.end_ns.unwrap_or(0));
        }
    }

    fn execs(&mut self, live: &LiveView) {
        let last = self.seq;
        for exec in live.execs.iter().filter(|exec| exec.seq > last) {
            if let (Some(table), Some(high)) = (exec.spawner_table, exec.high_water) {
                *self.windows.entry(table).or_default().entry(high).or_default() += 1;
                if let Some(history) = self.histories.get_mut(&table) {
                    history.put(exec.at_ns, high);
                }
            }
            self.seq = self.seq.max(exec.seq);
        }
    }

    fn keep_failures(&mut self, live: &LiveView) {
        for failure in &live.failures {
            let same = |known: &&mut LiveFailure| {
                known.table == failure.table
                    && known.row.errno == failure.row.errno
                    && known.row.syscall == failure.row.syscall
            };
            match self.failures.iter_mut().find(same) {
                Some(known) => *known = failure.clone(),
                None => self.failures.push(failure.clone()),
            }
        }
        self.failures.sort_by_key(|failure| (std::cmp::Reverse(failure.row.last_ns), failure.table));
        self.failures.truncate(FAILURES);
    }

    /// Time since the view began, nanoseconds.
    pub fn since_start(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.start_ns)
    }
}
