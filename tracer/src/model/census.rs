//! Censuses: rows are gathered until their census comes, and those worth keeping are kept.
//!
//! Of each table: the one at its highest crest, the one at its first failure, the last one that somebody asked for, and the
//! one at the end. Rows are kept up to a number in all; beyond it those of the lowest crest go first, and are counted. So it
//! is with the censuses themselves where memory must not depend on what has run.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::event::{self, CensusReason, Descriptor, Name, Opener, TableId};

/// Censuses whose rows are waiting for them, at most.
const PENDING: usize = 32;
/// Rows kept in all; with `Options::stream` a tenth.
const ROWS: usize = 400_000;
/// Censuses kept with `Options::stream`.
const STREAM_KEPT: usize = 1_024;
/// Names of threads remembered, at least; at most twice as many. With `Options::stream` an eighth of it.
const THREADS: usize = 32_768;

/// A census and its rows.
#[derive(Clone, Debug)]
pub struct Taken {
    /// What was said of it.
    pub census: event::Census,
    /// Name of the process that it was taken in.
    pub comm: Name,
    /// Its rows, in the order of their numbers.
    pub rows: Vec<Descriptor>,
    /// Names of the threads that opened them, as far as known.
    pub threads: BTreeMap<u32, Name>,
    /// Rows that came, and were let go.
    pub forgotten: u64,
}

impl Taken {
    /// Names threads that had no name so far.
    fn name(&mut self, names: &Names) {
        for row in &self.rows {
            if let Opener::Thread(tid) = row.opener
                && let Some(name) = names.get(tid)
            {
                self.threads.entry(tid).or_insert_with(|| name.clone());
            }
        }
    }
}

/// All that are kept.
#[derive(Clone, Debug, Default)]
pub struct Censuses {
    pending: HashMap<(TableId, u32), Vec<Descriptor>>,
    order: VecDeque<(TableId, u32)>,
    kept: BTreeMap<(TableId, CensusReason), Taken>,
    names: Names,
    rows: usize,
    /// Rows whose census never came.
    pub stray: u64,
    /// Censuses that are not kept any more.
    pub let_go: u64,
}

/// Names of the threads that were heard of last.
#[derive(Clone, Debug, Default)]
struct Names {
    new: HashMap<u32, Name>,
    old: HashMap<u32, Name>,
}

impl Names {
    fn get(&self, tid: u32) -> Option<&Name> {
        self.new.get(&tid).or_else(|| self.old.get(&tid))
    }

    /// Beyond `most`, those that were not heard of for longest are let go together.
    fn insert(&mut self, tid: u32, name: &Name, most: usize) {
        if self.new.get(&tid) == Some(name) {
            return;
        }
        if self.new.len() >= most {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(tid, name.clone());
    }
}

impl Censuses {
    /// A thread has this name now.
    pub fn thread(&mut self, tid: u32, name: &Name, stream: bool) {
        if tid != 0 && !name.is_empty() {
            self.names.insert(tid, name, if stream { THREADS / 8 } else { THREADS });
        }
    }

    /// A row of a census that is still to come.
    pub fn row(&mut self, row: &Descriptor, stream: bool) {
        let key = (row.table, row.census);
        let rows = self.pending.entry(key).or_insert_with(|| {
            self.order.push_back(key);
            Vec::new()
        });
        if rows.len() < limit(stream) {
            rows.push(row.clone());
        }
        if self.order.len() > PENDING
            && let Some(oldest) = self.order.pop_front()
        {
            self.stray += self.pending.remove(&oldest).map_or(0, |rows| rows.len() as u64);
        }
    }

    /// A census, whose rows came before.
    pub fn taken(&mut self, census: event::Census, comm: &Name, stream: bool) {
        let key = (census.table, census.census);
        self.order.retain(|pending| *pending != key);
        let mut rows = self.pending.remove(&key).unwrap_or_default();
        let place = (census.table, census.reason);
        let better = self.kept.get(&place).is_none_or(|kept| match census.reason {
            CensusReason::Crest => census.live > kept.census.live,
            CensusReason::Failure => false,
            CensusReason::Asked | CensusReason::End => true,
        });
        if !better {
            return;
        }
        rows.sort_by_key(|row| row.number);
        self.rows += rows.len();
        let mut taken = Taken { census, comm: comm.clone(), rows, threads: BTreeMap::new(), forgotten: 0 };
        taken.name(&self.names);
        if let Some(old) = self.kept.insert(place, taken) {
            self.rows -= old.rows.len();
        }
        while self.rows > limit(stream) {
            self.forget();
        }
        if stream && self.kept.len() > STREAM_KEPT {
            self.let_go();
        }
    }

    /// Lets go of the census that is worth least.
    fn let_go(&mut self) {
        let least = self.kept.iter().min_by_key(|(_, taken)| worth(taken)).map(|(place, _)| *place);
        if let Some(old) = least.and_then(|place| self.kept.remove(&place)) {
            self.rows -= old.rows.len();
            self.let_go += 1;
        }
    }

    /// Lets go of the rows that are worth least.
    fn forget(&mut self) {
        let full = self.kept.values_mut().filter(|taken| !taken.rows.is_empty());
        match full.min_by_key(|taken| worth(taken)) {
            Some(least) => {
                let rows = std::mem::take(&mut least.rows);
                least.forgotten += rows.len() as u64;
                self.rows -= rows.len();
            }
            None => self.rows = 0,
        }
    }

    /// Everything before is not this program's.
    pub fn start_over(&mut self, table: TableId) {
        for reason in [CensusReason::Crest, CensusReason::Failure, CensusReason::Asked, CensusReason::End] {
            if let Some(old) = self.kept.remove(&(table, reason)) {
                self.rows -= old.rows.len();
            }
        }
    }

    /// What is kept, by time.
    pub fn into_taken(mut self) -> Vec<Taken> {
        let names = std::mem::take(&mut self.names);
        let mut all: Vec<Taken> = self.kept.into_values().collect();
        all.iter_mut().for_each(|taken| taken.name(&names));
        all.sort_by_key(|taken| (taken.census.at_ns, taken.census.table, taken.census.census));
        all
    }
}

/// Crests go before what was asked for, lower ones first, and of those the older.
fn worth(taken: &Taken) -> (bool, u32, u64) {
    (taken.census.reason != CensusReason::Crest, taken.census.live, taken.census.at_ns)
}

fn limit(stream: bool) -> usize {
    if stream { ROWS / 10 } else { ROWS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{census, descriptor};

    fn taken(censuses: &mut Censuses, table: u64, id: u32, reason: CensusReason, live: u32) {
        for number in (0..live).rev() {
            censuses.row(&descriptor(table, id, number), false);
        }
        censuses.taken(census(table, id, reason, live), &Name::from("a"), false);
    }

    #[test]
    fn of_each_table_the_highest_crest_and_the_first_failure_are_kept() {
        let mut all = Censuses::default();
        for (id, live) in (1..).zip([50, 90, 70]) {
            taken(&mut all, 1, id, CensusReason::Crest, live);
            taken(&mut all, 1, 10 + id, CensusReason::Failure, live);
            taken(&mut all, 1, 20 + id, CensusReason::Asked, live);
        }
        all.thread(5, &Name::from("late"), false);
        let lives: Vec<_> = all.into_taken().iter().map(|t| (t.census.reason, t.rows.len())).collect();
        assert_eq!(lives, [(CensusReason::Crest, 90), (CensusReason::Failure, 50), (CensusReason::Asked, 70)]);
    }

    #[test]
    fn rows_are_in_the_order_of_their_numbers_with_the_names_of_threads() {
        let mut all = Censuses::default();
        all.thread(7, &Name::from("worker"), false);
        taken(&mut all, 1, 1, CensusReason::End, 3);
        all.thread(7, &Name::from("reused"), false);
        let taken = all.into_taken().remove(0);
        assert_eq!(taken.rows.iter().map(|row| row.number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(taken.threads[&7], Name::from("worker"), "the name at the census");
    }

    #[test]
    fn rows_without_end_take_little_memory() {
        let mut all = Censuses::default();
        for id in 0..1000 {
            all.row(&descriptor(1, id, 0), false);
        }
        assert_eq!((all.pending.len(), all.stray), (PENDING, 1000 - PENDING as u64));
        for table in 0..100 {
            for number in 0..1000 {
                all.row(&descriptor(table, 5000, number), true);
            }
            let taken = census(table, 5000, CensusReason::Crest, 1000 + table as u32);
            all.taken(taken, &Name::from("a"), true);
        }
        assert!(all.rows <= ROWS / 10, "{}", all.rows);
        let kept = all.into_taken();
        assert_eq!(kept.len(), 100);
        let full: Vec<u32> = kept.iter().filter(|t| t.forgotten == 0).map(|t| t.census.live).collect();
        assert_eq!((full.len(), full.iter().min()), (40, Some(&1060)), "the highest keep their rows");
    }

    #[test]
    fn a_day_of_crests_and_of_threads_takes_little_memory_and_keeps_the_highest_and_the_latest() {
        let mut all = Censuses::default();
        let most = THREADS as u32 / 8;
        for id in 0..3 * most {
            all.thread(id + 1, &Name::from("short"), true);
            all.taken(census(u64::from(id), 1, CensusReason::Crest, id % 5_000), &Name::from("a"), true);
        }
        assert_eq!((all.kept.len(), all.let_go), (STREAM_KEPT, u64::from(3 * most) - STREAM_KEPT as u64));
        assert!(all.names.new.len() + all.names.old.len() <= 2 * most as usize);
        assert!(
            all.names.get(3 * most).is_some() && all.names.get(2 * most + 1).is_some() && all.names.get(1).is_none()
        );
        let least = all.kept.values().map(|taken| taken.census.live).min();
        assert_eq!(least, Some(4_488), "the highest 1,024 of twice 5,000 and 2,288 more");
    }
}
