//! Spawn windows: the spawner's table between one exec and the next.
//!
//! The kernel cuts a table's time at every exec of a child into segments that follow each other. A child that was forked
//! in one segment and execs in a later one, because other children's execs came in between, has all of them as its window.

use std::collections::VecDeque;

use crate::event::{Head, Mark, Name, ProcId};
use crate::model::failure::{self, FailureRow, Tally};
use crate::model::report::{SettledFrom, SpawnWindow, ThreadRow};
use crate::model::table::Origin;

/// Segments kept for one table at most; older ones are merged, which can only widen windows.
const MAX_SEGMENTS: usize = 256;

/// A table's time between two cuts.
#[derive(Clone, Debug)]
pub struct Segment {
    start_ns: u64,
    end_ns: u64,
    mark: Mark,
    floor: u32,
    settled: Option<u32>,
    thread_high: u32,
    thread_tid: u32,
    thread_comm: Name,
    live: u32,
    kinds: crate::event::Kinds,
    installs: u64,
    closes: u64,
    failures: Vec<FailureRow>,
    cuts: u32,
}

impl Segment {
    /// The window of this head, ended at `end_ns`. `tally` is how often each failure had happened at its start.
    pub fn cut(head: &Head, end_ns: u64, settle_ns: u64, tally: &Tally, origin: &Origin) -> Segment {
        let still = end_ns.saturating_sub(head.last_change_ns) >= settle_ns;
        // What came before the origin is not this program's: its image began there, so the image's mark is the window's.
        let early = head.window.at_ns < origin.at_ns;
        let mut mark = if early { head.image.clone() } else { head.window.clone() };
        if mark.live < head.live {
            mark = head.now(end_ns);
        }
        let start = |window: u64, origin: u64| window.max(origin);
        Segment {
            start_ns: start(head.window_start_ns, origin.at_ns),
            end_ns,
            mark,
            floor: head.window_floor.min(head.live),
            settled: if still { Some(head.live) } else { head.window_settled },
            thread_high: head.thread_high,
            thread_tid: head.thread_tid,
            thread_comm: head.thread_comm.clone(),
            live: head.live,
            kinds: head.kinds.clone(),
            installs: head.installs.saturating_sub(start(head.window_installs, origin.installs)),
            closes: head.closes.saturating_sub(start(head.window_closes, origin.closes)),
            failures: tally.since(head),
            cuts: 1,
        }
    }

    fn extend(&mut self, later: &Segment) {
        let highest = self.mark.highest.max(later.mark.highest);
        if later.mark.live > self.mark.live {
            self.mark = later.mark.clone();
        }
        self.mark.highest = highest;
        if later.thread_high > self.thread_high {
            self.thread_high = later.thread_high;
            self.thread_tid = later.thread_tid;
            self.thread_comm = later.thread_comm.clone();
        }
        self.start_ns = self.start_ns.min(later.start_ns);
        self.end_ns = self.end_ns.max(later.end_ns);
        self.floor = self.floor.min(later.floor);
        self.settled = later.settled.or(self.settled);
        self.live = later.live;
        self.kinds = later.kinds.clone();
        self.installs = self.installs.saturating_add(later.installs);
        self.closes = self.closes.saturating_add(later.closes);
        failure::merge(&mut self.failures, &later.failures);
        self.cuts = self.cuts.saturating_add(later.cuts);
    }

    /// As it stands in a report.
    pub fn into_window(self, table: u64, spawner_ended: bool) -> SpawnWindow {
        let thread = ThreadRow { tid: self.thread_tid, comm: self.thread_comm };
        SpawnWindow {
            table: Some(table),
            start_ns: Some(self.start_ns),
            high_water: Some(self.mark.live),
            high_water_ns: Some(self.mark.at_ns),
            thread_high_water: Some(self.thread_high),
            thread: (self.thread_high > 0).then_some(thread),
            floor: Some(self.floor),
            settled: Some(self.settled.unwrap_or(self.floor)),
            settled_from: Some(if self.settled.is_some() { SettledFrom::Still } else { SettledFrom::Floor }),
            kinds: Some(self.mark.kinds),
            at_exec: Some(self.live),
            at_exec_kinds: Some(self.kinds),
            highest_number: self.mark.highest,
            installs: Some(self.installs),
            closes: Some(self.closes),
            soft_limit: Some(self.mark.soft),
            headroom: Some(self.mark.soft.saturating_sub(self.mark.live)),
            failures: Some(self.failures),
            overlapping: Some(self.cuts.saturating_sub(1)),
            spawner_ended: Some(spawner_ended),
        }
    }
}

/// The segments of one table that a child without an exec so far may still need.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    segments: VecDeque<Segment>,
    pending: Vec<(u64, ProcId)>,
}

impl Windows {
    /// A child was forked.
    pub fn forked(&mut self, child: ProcId, at_ns: u64) {
        self.pending.push((at_ns, child));
    }

    /// The child has execed or ended: nothing is kept for it any more.
    pub fn done(&mut self, child: ProcId) {
        self.pending.retain(|(_, pending)| *pending != child);
        self.prune();
    }

    /// Forgets what no child needs any more.
    pub fn prune(&mut self) {
        match self.pending.iter().map(|(at_ns, _)| *at_ns).min() {
            Some(oldest) => self.segments.retain(|segment| segment.end_ns > oldest),
            None => self.segments.clear(),
        }
    }

    /// Whether a child may still need a segment.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Takes a segment that has just ended.
    pub fn push(&mut self, segment: Segment) {
        self.segments.push_back(segment);
        if self.segments.len() > MAX_SEGMENTS
            && let Some(mut first) = self.segments.pop_front()
        {
            if let Some(second) = self.segments.pop_front() {
                first.extend(&second);
            }
            self.segments.push_front(first);
        }
    }

    /// All segments that ended after `since_ns` as one; without it the last one.
    pub fn since(&self, since_ns: Option<u64>) -> Option<Segment> {
        let Some(since_ns) = since_ns else {
            return self.segments.back().cloned();
        };
        let mut all = self.segments.iter().filter(|segment| segment.end_ns > since_ns);
        let mut union = all.next()?.clone();
        all.for_each(|later| union.extend(later));
        Some(union)
    }
}
