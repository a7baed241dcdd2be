//! What people noted while it was traced.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::event::Name;

/// Marks kept: the latest.
const KEPT: usize = 1000;

/// A person's remark on a moment: `deploy 1.4.2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkRow {
    /// When.
    pub at_ns: u64,
    /// What.
    pub text: Name,
}

/// The marks so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    rows: VecDeque<MarkRow>,
    /// Marks that are not kept any more.
    pub forgotten: u64,
}

impl Marks {
    /// Takes one. Of those that came at the same moment with the same words one is enough.
    pub fn add(&mut self, at_ns: u64, text: &str) {
        let row = MarkRow { at_ns, text: text.into() };
        if self.rows.contains(&row) {
            return;
        }
        if self.rows.len() >= KEPT {
            self.rows.pop_front();
            self.forgotten += 1;
        }
        self.rows.push_back(row);
    }

    /// The last one at a moment or before.
    pub fn before(&self, at_ns: u64) -> Option<Name> {
        self.rows.iter().rev().find(|row| row.at_ns <= at_ns).map(|row| row.text.clone())
    }

    /// In the order of time.
    pub fn into_rows(self) -> Vec<MarkRow> {
        let mut rows = Vec::from(self.rows);
        rows.sort_by_key(|row| row.at_ns);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mark_before_a_moment_is_the_one_that_counts() {
        let mut marks = Marks::default();
        marks.add(10, "deploy 1");
        marks.add(20, "deploy 2");
        marks.add(20, "deploy 2");
        let before = |at_ns| marks.before(at_ns).map(|text| text.text());
        assert_eq!(before(9), None);
        assert_eq!((before(10), before(19)), (Some("deploy 1".to_owned()), Some("deploy 1".to_owned())));
        assert_eq!(before(20), Some("deploy 2".to_owned()));
        assert_eq!(marks.into_rows().len(), 2);
    }

    #[test]
    fn of_too_many_the_latest_are_kept_and_the_rest_is_counted() {
        let mut marks = Marks::default();
        (0..KEPT as u64 + 5).for_each(|n| marks.add(n, &format!("mark {n}")));
        assert_eq!(marks.forgotten, 5);
        assert_eq!(marks.into_rows().first().map(|row| row.at_ns), Some(5));
    }
}
