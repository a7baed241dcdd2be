//! Crests: rises of a table's live descriptors that fell again, with who made them and which execs they overlap.
//!
//! The kernel program finds them (`docs/crests.md`): a rise of at least [`MIN`] descriptors over the lowest level since the
//! last crest is one once it has fallen again by half its height. Heads of tables at an exec, at an exit and at the end of
//! the trace show the one that has not fallen yet.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::event::{Head, Held, Kinds, Mark, Name};

/// Least height of a crest, descriptors: what the kernel program uses.
pub const MIN: u32 = 16;
/// Crests kept for one table: the highest.
const KEPT: usize = 5;
/// Execs named for one crest; all are counted.
const EXECS: usize = 32;
/// Spawn windows remembered for crests that end after them.
const WINDOWS: usize = 64;

/// What ended a crest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CrestEnd {
    /// It fell by half its height, or more.
    Fall,
    /// The process that used the table went through an exec.
    Exec,
    /// The last process that used the table ended, or left it.
    Exit,
    /// Nothing so far: it had not fallen at the last look.
    Open,
}

/// One rise and fall of a table's live descriptors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrestRow {
    /// The table.
    pub table: u64,
    /// Process that the table was first seen with.
    pub pid: u32,
    /// Its name.
    pub comm: Name,
    /// Last moment at the floor: the rise begins.
    pub from_ns: u64,
    /// Moment of the greatest number.
    pub top_ns: u64,
    /// When it had fallen by half its height, or what else ended it; `null` if nothing did.
    pub end_ns: Option<u64>,
    /// From the floor to the top.
    pub rise_ns: u64,
    /// From the top to the end.
    pub fall_ns: Option<u64>,
    /// What ended it.
    pub ended_by: CrestEnd,
    /// Live descriptors that it rose from.
    pub floor: u32,
    /// Live descriptors at the top.
    pub high_water: u32,
    /// The difference.
    pub height: u32,
    /// Greatest descriptor number in use.
    pub highest_number: Option<u32>,
    /// Soft limit at the top.
    pub soft_limit: u32,
    /// Soft limit minus top, not below 0.
    pub headroom: u32,
    /// What the top was made of.
    pub kinds: Kinds,
    /// What threads held at most of what they had opened, most first.
    pub threads: Vec<CrestThread>,
    /// Execs whose spawn windows overlap it, in their order; the first ones, if they are many.
    pub execs: Vec<u64>,
    /// How many there are.
    pub execs_total: u64,
}

/// What one thread held at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrestThread {
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub comm: Name,
    /// Most descriptors that it had opened and that were open at once.
    pub held: u32,
}

/// The crests of one table.
#[derive(Clone, Debug, Default)]
pub struct Crests {
    kept: Vec<CrestRow>,
    windows: VecDeque<Window>,
    last: Option<(u64, u64)>,
    /// As the kernel program counts them.
    counted: u32,
    /// Those that ended without a fall.
    unfallen: u64,
}

/// The spawn window of an exec.
#[derive(Clone, Copy, Debug)]
struct Window {
    seq: u64,
    start_ns: u64,
    end_ns: u64,
}

impl Window {
    fn overlaps(&self, crest: &CrestRow) -> bool {
        self.end_ns > crest.from_ns && crest.end_ns.is_none_or(|end| self.start_ns < end)
    }
}

impl Crests {
    /// Everything before is not this program's. Gives how many the kernel program had counted.
    pub fn start_over(&mut self) -> u32 {
        std::mem::take(self).counted
    }

    /// Those that ended with their table.
    pub fn unfallen(&self) -> u64 {
        self.unfallen
    }

    /// Takes the crest that a head shows, ended at `at_ns` by `end`; nothing if it is lower than [`MIN`], began before
    /// `since_ns`, or has been taken.
    pub fn ended(&mut self, head: &Head, since_ns: u64, at_ns: u64, end: CrestEnd) -> Option<&CrestRow> {
        self.counted = self.counted.max(head.crests);
        let mark = head.at_least_now(&head.crest, at_ns);
        let height = mark.live.saturating_sub(head.crest_floor);
        if height < MIN || mark.at_ns < since_ns || self.last.is_some_and(|(top_ns, _)| top_ns == mark.at_ns) {
            return None;
        }
        self.last = Some((mark.at_ns, at_ns));
        if end == CrestEnd::Exit {
            self.unfallen += 1;
        }
        let end_ns = (end != CrestEnd::Open).then_some(at_ns);
        let mut row = row(head, mark, since_ns, end_ns, end);
        row.execs = self.windows.iter().filter(|window| window.overlaps(&row)).map(|window| window.seq).collect();
        row.execs_total = row.execs.len() as u64;
        row.execs.truncate(EXECS);
        let place = self.kept.partition_point(|kept| kept.height >= row.height);
        self.kept.insert(place, row);
        self.kept.truncate(KEPT);
        self.kept.get(place)
    }

    /// The exec of a process that uses the table closed what was close-on-exec: a crest that fell then fell by that.
    pub fn execed(&mut self, at_ns: u64) {
        if let Some((top_ns, _)) = self.last.filter(|(_, end_ns)| *end_ns == at_ns)
            && let Some(row) = self.kept.iter_mut().find(|row| row.top_ns == top_ns)
        {
            row.ended_by = CrestEnd::Exec;
        }
    }

    /// An exec has ended a spawn window of this table.
    pub fn window(&mut self, seq: u64, start_ns: u64, end_ns: u64) {
        let window = Window { seq, start_ns, end_ns };
        for row in self.kept.iter_mut().filter(|row| window.overlaps(row)) {
            row.execs_total += 1;
            if row.execs.len() < EXECS {
                row.execs.push(seq);
            }
        }
        if self.windows.len() >= WINDOWS {
            self.windows.pop_front();
        }
        self.windows.push_back(window);
    }

    /// Its rows, the highest first. The counts stay.
    pub fn take_rows(&mut self, pid: u32, comm: &Name) -> Vec<CrestRow> {
        let named = |row: CrestRow| CrestRow { pid, comm: comm.clone(), ..row };
        std::mem::take(&mut self.kept).into_iter().map(named).collect()
    }
}

/// The highest of these, the highest first.
pub fn keep_highest(rows: &mut Vec<CrestRow>, most: usize) {
    rows.sort_by_key(|row| (std::cmp::Reverse(row.height), row.top_ns, row.table));
    rows.truncate(most);
}

fn row(head: &Head, mark: Mark, since_ns: u64, end_ns: Option<u64>, ended_by: CrestEnd) -> CrestRow {
    let from_ns = head.crest_from_ns.max(since_ns).min(mark.at_ns);
    let threads = head.threads.iter().filter(|thread| thread.high > 0);
    let thread = |held: &Held| CrestThread { tid: held.tid, comm: held.comm.clone(), held: held.high };
    CrestRow {
        table: head.id.0,
        pid: head.owner,
        comm: Name::default(),
        from_ns,
        top_ns: mark.at_ns,
        end_ns,
        rise_ns: mark.at_ns.saturating_sub(from_ns),
        fall_ns: end_ns.map(|end| end.saturating_sub(mark.at_ns)),
        ended_by,
        floor: head.crest_floor,
        high_water: mark.live,
        height: mark.live.saturating_sub(head.crest_floor),
        highest_number: mark.highest,
        soft_limit: mark.soft,
        headroom: mark.soft.saturating_sub(mark.live),
        kinds: mark.kinds,
        threads: threads.map(thread).collect(),
        execs: Vec::new(),
        execs_total: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;
    use crate::model::testing::{MS, head, mark};

    fn crest(top_ns: u64, live: u32, from_ns: u64) -> Head {
        let mut head = head(1, 10);
        (head.crest, head.crest_from_ns) = (mark(top_ns, live), from_ns);
        head
    }

    #[test]
    fn a_crest_has_its_height_its_times_and_its_threads() {
        let mut crests = Crests::default();
        let mut seen = crest(7 * MS, 1000, 2 * MS);
        seen.threads = vec![Held { tid: 5, comm: Name::from("worker"), high: 990, held: 400 }];
        let row = crests.ended(&seen, 0, 8 * MS, CrestEnd::Fall).unwrap();
        assert_eq!((row.floor, row.high_water, row.height, row.headroom), (10, 1000, 990, 24));
        assert_eq!((row.rise_ns, row.fall_ns, row.end_ns), (5 * MS, Some(MS), Some(8 * MS)));
        assert_eq!((row.threads[0].held, row.kinds.get(Kind::File)), (990, 1000));
    }

    #[test]
    fn low_rises_and_those_of_somebody_else_are_no_crests() {
        let mut crests = Crests::default();
        assert!(crests.ended(&crest(7, 10 + MIN - 1, 2), 0, 8, CrestEnd::Fall).is_none());
        assert!(crests.ended(&crest(7, 1000, 2), 50, 60, CrestEnd::Fall).is_none(), "it was before the program");
        assert!(crests.ended(&crest(7, 10 + MIN, 2), 0, 8, CrestEnd::Fall).is_some());
        assert!(crests.ended(&crest(7, 10 + MIN, 2), 0, 9, CrestEnd::Exit).is_none(), "the same once more");
    }

    #[test]
    fn the_highest_are_kept_in_little_memory() {
        let mut crests = Crests::default();
        for n in 0..10_000u64 {
            let _ = crests.ended(&crest(10 * n, 100 + (n % 977) as u32, 10 * n), 0, 10 * n + 5, CrestEnd::Fall);
            crests.window(n, 10 * n, 10 * n + 9);
        }
        let rows = crests.take_rows(7, &Name::from("a"));
        assert_eq!(rows.iter().map(|row| row.height).collect::<Vec<_>>(), [1066; KEPT]);
        assert_eq!(rows[0].comm, Name::from("a"));
    }

    #[test]
    fn execs_overlap_before_and_after_the_crests_end() {
        let mut crests = Crests::default();
        crests.window(1, 0, 5);
        crests.window(2, 5, 25);
        let _ = crests.ended(&crest(20, 100, 10), 0, 30, CrestEnd::Fall);
        crests.window(3, 25, 40);
        crests.window(4, 40, 50);
        let rows = crests.take_rows(7, &Name::default());
        assert_eq!((rows[0].execs.clone(), rows[0].execs_total), (vec![2, 3], 2));
    }
}
