//! Of tables that have gone those that matter most: where failures were, and the highest.

use crate::model::report::TableRow;
use crate::model::table::Table;

/// Rows kept.
const KEPT: usize = 128;

/// Whether descriptors were refused, and the high-water mark.
type Rank = (bool, u32);

/// The rows that are kept, and how many are not.
#[derive(Clone, Debug, Default)]
pub(super) struct Highest {
    rows: Vec<(Rank, TableRow)>,
    /// Tables of which nothing is kept.
    pub let_go: u64,
}

impl Highest {
    /// Its rank, if it has a place among those that are kept. One that has none is counted.
    pub fn takes(&mut self, table: &Table) -> Option<Rank> {
        let rank = table.rank();
        let low = self.rows.last().map(|(rank, _)| *rank).filter(|_| self.rows.len() >= KEPT);
        let place = low.is_none_or(|low| rank > low);
        if !place {
            self.let_go += 1;
        }
        place.then_some(rank)
    }

    /// Keeps it; the lowest one goes if there are too many.
    pub fn keep(&mut self, rank: Rank, row: TableRow) {
        let at = self.rows.partition_point(|(known, _)| *known >= rank);
        self.rows.insert(at, (rank, row));
        if self.rows.len() > KEPT {
            self.rows.pop();
            self.let_go += 1;
        }
    }

    /// The rows.
    pub fn take(&mut self) -> Vec<TableRow> {
        std::mem::take(&mut self.rows).into_iter().map(|(_, row)| row).collect()
    }
}
