//! How long descriptors were open: ages at close, where every install and close is told.

use std::borrow::Cow;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::event::{Kind, Name, Slot, TableId};
use crate::model::report::TableRow;

/// Open descriptors whose install is remembered, in all.
const OPEN: usize = 1 << 20;
/// Installs and closes that wait for the program's beginning, at most: as long as none is told.
const EARLY: usize = 1 << 16;
/// Pairs of table and kind with a distribution.
const ROWS: usize = 16_384;
/// Steps of a distribution for each doubling.
const STEPS: u32 = 8;

/// How long descriptors of one kind were open in one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgeRow {
    /// The table.
    pub table: u64,
    /// Its first process.
    pub pid: u32,
    /// Name of that.
    pub comm: Name,
    /// Name of the kind.
    pub kind: Cow<'static, str>,
    /// Closes whose install was seen.
    pub closed: u64,
    /// The shortest.
    pub min_ns: u64,
    /// Half of them were not open for longer than this, within an eighth.
    pub p50_ns: u64,
    /// 99 of 100 were not open for longer than this, within an eighth.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Ages {
    open: HashMap<TableId, HashMap<u32, u64>>,
    held: usize,
    spans: BTreeMap<(TableId, Kind), Spans>,
    /// What came before the program's beginning was told. It comes by another ring, so that it may be the program's already.
    early: Option<Early>,
}

#[derive(Clone, Debug, Default)]
struct Early {
    slots: Vec<Slot>,
    /// Tables that have gone meanwhile.
    gone: BTreeSet<TableId>,
}

#[derive(Clone, Debug)]
struct Spans {
    counts: BTreeMap<u32, u64>,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Ages {
    fn default() -> Self {
        Self { open: HashMap::new(), held: 0, spans: BTreeMap::new(), early: Some(Early::default()) }
    }
}

impl Ages {
    /// A descriptor has come or gone.
    pub fn slot(&mut self, slot: &Slot) {
        match &mut self.early {
            Some(early) if early.slots.len() < EARLY => early.slots.push(*slot),
            Some(_) => {
                self.settle(|_| true);
                self.count(slot);
            }
            None => self.count(slot),
        }
    }

    /// Counts those of what waits that are meant.
    fn settle(&mut self, is_meant: impl Fn(&Slot) -> bool) {
        let Some(Early { slots, gone }) = self.early.take() else { return };
        slots.iter().filter(|slot| is_meant(slot)).for_each(|slot| self.count(slot));
        gone.into_iter().for_each(|table| self.ended(table));
    }

    fn count(&mut self, slot: &Slot) {
        if let Some(kind) = slot.before
            && let Some(opened) = self.open.get_mut(&slot.table).and_then(|open| open.remove(&slot.number))
        {
            self.held -= 1;
            self.closed((slot.table, kind), slot.at_ns.saturating_sub(opened));
        }
        if slot.now.is_some() && self.held < OPEN {
            let open = self.open.entry(slot.table).or_default();
            self.held += usize::from(open.insert(slot.number, slot.at_ns).is_none());
        }
    }

    fn closed(&mut self, key: (TableId, Kind), ns: u64) {
        if self.spans.len() >= ROWS && !self.spans.contains_key(&key) {
            return;
        }
        let spans = self.spans.entry(key).or_insert(Spans { counts: BTreeMap::new(), min_ns: ns, max_ns: ns });
        *spans.counts.entry(bucket(ns)).or_default() += 1;
        spans.min_ns = spans.min_ns.min(ns);
        spans.max_ns = spans.max_ns.max(ns);
    }

    /// The table has gone, and what was open with it.
    pub fn ended(&mut self, table: TableId) {
        if let Some(early) = &mut self.early {
            early.gone.insert(table);
        }
        self.held -= self.open.remove(&table).map_or(0, |open| open.len());
    }

    /// What came in this table before that time is not the program's.
    pub fn start_over(&mut self, table: TableId, at_ns: u64) {
        self.settle(|slot| slot.table != table || slot.at_ns >= at_ns);
    }

    /// Nothing of the table is told any more.
    pub fn forget(&mut self, table: TableId) {
        if let Some(early) = &mut self.early {
            early.slots.retain(|slot| slot.table != table);
        }
        self.ended(table);
        self.spans.retain(|(of, _), _| *of != table);
    }

    /// Its rows, by table, those closed most often first.
    pub fn into_rows(mut self, tables: &[TableRow]) -> Vec<AgeRow> {
        self.settle(|_| true);
        if self.spans.is_empty() {
            return Vec::new();
        }
        let tables: HashMap<u64, &TableRow> = tables.iter().map(|row| (row.table, row)).collect();
        let told = |(key, spans): ((TableId, Kind), Spans)| row(key, &spans, tables.get(&key.0.0).copied());
        let mut rows: Vec<AgeRow> = self.spans.into_iter().map(told).collect();
        rows.sort_by_key(|row| (row.table, std::cmp::Reverse(row.closed)));
        rows
    }
}

fn row((id, kind): (TableId, Kind), spans: &Spans, table: Option<&TableRow>) -> AgeRow {
    let closed: u64 = spans.counts.values().sum();
    let at = |percent: u64| {
        let rank = (closed * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let place = spans.counts.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        place.map_or(0, |(bucket, _)| top(*bucket)).clamp(spans.min_ns, spans.max_ns)
    };
    AgeRow {
        table: id.0,
        pid: table.and_then(|row| row.pids.first().copied()).unwrap_or(0),
        comm: table.map_or_else(Name::default, |row| row.comm.clone()),
        kind: kind.name().into(),
        closed,
        min_ns: spans.min_ns,
        p50_ns: at(50),
        p99_ns: at(99),
        max_ns: spans.max_ns,
    }
}

/// Doubling and step of a span.
fn bucket(ns: u64) -> u32 {
    let double = ns.max(u64::from(STEPS)).ilog2();
    let step = (ns >> (double - STEPS.ilog2())) & u64::from(STEPS - 1);
    if ns < u64::from(STEPS) { ns as u32 } else { double * STEPS + step as u32 }
}

/// The greatest span of a bucket.
fn top(bucket: u32) -> u64 {
    if bucket < STEPS {
        return bucket.into();
    }
    let (double, step) = (bucket / STEPS, u64::from(bucket % STEPS));
    let unit = double - STEPS.ilog2();
    ((u64::from(STEPS) + step) << unit) | ((1 << unit) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Opener, Syscall};

    fn slot(at_ns: u64, number: u32, before: Option<Kind>, now: Option<Kind>) -> Slot {
        let syscall = Syscall { nr: 3, compat: false, hidden: false };
        let (table, opener) = (TableId(1), Opener::Unknown);
        Slot { at_ns, table, number, now, before, live: 0, pid: 1, tid: 1, opener, syscall }
    }

    #[test]
    fn the_age_at_close_is_told_by_kind() {
        let mut ages = Ages::default();
        for n in 0..100u32 {
            let at = u64::from(n) * 1000;
            ages.slot(&slot(at, n, None, Some(Kind::Fifo)));
            // A dup2 onto it: one goes, another one comes.
            ages.slot(&slot(at + 10_000_000, n, Some(Kind::Fifo), Some(Kind::Pipe)));
            ages.slot(&slot(at + 10_000_007, n, Some(Kind::Pipe), None));
        }
        ages.slot(&slot(5, 900, Some(Kind::File), None));
        ages.settle(|_| true);
        assert_eq!(ages.held, 0);
        let rows = ages.into_rows(&[]);
        assert_eq!(rows.iter().map(|row| (&*row.kind, row.closed)).collect::<Vec<_>>(), [("pipe", 100), ("fifo", 100)]);
        assert_eq!((rows[0].min_ns, rows[0].p50_ns, rows[0].max_ns), (7, 7, 7));
        assert_eq!((rows[1].p50_ns, rows[1].p99_ns), (10_000_000, 10_000_000));
    }

    #[test]
    fn what_came_before_the_program_is_left_out_and_what_came_before_word_of_it_is_not() {
        let mut ages = Ages::default();
        ages.slot(&slot(10, 3, None, Some(Kind::File)));
        // Its exec is at 100, and is told after what it has opened and closed by then.
        ages.slot(&slot(110, 4, None, Some(Kind::Fifo)));
        ages.slot(&slot(120, 5, None, Some(Kind::Fifo)));
        ages.slot(&slot(130, 4, Some(Kind::Fifo), None));
        ages.start_over(TableId(1), 100);
        ages.slot(&slot(140, 3, Some(Kind::File), None));
        ages.slot(&slot(150, 5, Some(Kind::Fifo), None));
        let rows = ages.into_rows(&[]);
        assert_eq!(rows.iter().map(|row| (&*row.kind, row.closed, row.max_ns)).collect::<Vec<_>>(), [("fifo", 2, 30)]);
    }

    #[test]
    fn a_table_that_has_gone_before_anything_is_told_keeps_nothing_open() {
        let mut ages = Ages::default();
        ages.slot(&slot(10, 3, None, Some(Kind::File)));
        ages.ended(TableId(1));
        ages.start_over(TableId(2), 100);
        assert_eq!((ages.held, ages.open.len()), (0, 0));
    }

    #[test]
    fn buckets_hold_what_they_say() {
        for ns in [0, 1, 7, 8, 9, 15, 16, 17, 1000, 123_456_789, u64::MAX >> 1] {
            let top = top(bucket(ns));
            assert!(top >= ns && top - ns <= ns / 8, "{ns} {top}");
        }
    }
}
