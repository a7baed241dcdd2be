//! High-water of the last minutes: what a gauge that falls again is made of.
//!
//! The kernel keeps a table's mark since its last crest, so a rise between two looks is never unseen: it stands in the
//! present crest's top, or in the record of the crest that has ended. A top counts for as long as its crest has not fallen,
//! and for [`MINUTES`] after that.

use std::collections::VecDeque;

/// Minutes that a top counts after its crest.
pub const MINUTES: u64 = 5;

const MINUTE: u64 = 60_000_000_000;

/// What came closest to the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Top {
    /// Greatest number of live descriptors in one table.
    pub high_water: u32,
    /// Least room below the soft limit, in parts of that limit: from 0 to 1.
    pub headroom_ratio: f64,
}

impl Top {
    fn or(self, other: Top) -> Top {
        Top {
            high_water: self.high_water.max(other.high_water),
            headroom_ratio: self.headroom_ratio.min(other.headroom_ratio),
        }
    }
}

/// Tops by the minute in which they were last seen.
#[derive(Clone, Debug, Default)]
pub struct Recent(VecDeque<(u64, Top)>);

impl Recent {
    /// A crest was seen with this top.
    pub fn seen(&mut self, at_ns: u64, live: u32, soft: u32) {
        let room = soft.saturating_sub(live);
        let ratio = if soft == 0 { 0.0 } else { f64::from(room) / f64::from(soft) };
        let top = Top { high_water: live, headroom_ratio: ratio };
        let minute = at_ns / MINUTE;
        match self.0.back_mut() {
            // Records of several tables need not come in the order of time.
            Some((last, known)) if *last >= minute => *known = known.or(top),
            _ => self.0.push_back((minute, top)),
        }
        self.forget(minute);
    }

    /// What the last minutes come to; `None` if nothing was seen in them.
    pub fn top(&self, now_ns: u64) -> Option<Top> {
        let since = (now_ns / MINUTE).saturating_sub(MINUTES);
        self.0.iter().filter(|(minute, _)| *minute >= since).map(|(_, top)| *top).reduce(Top::or)
    }

    fn forget(&mut self, minute: u64) {
        while self.0.front().is_some_and(|(first, _)| *first < minute.saturating_sub(MINUTES)) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_top_counts_for_five_minutes_and_is_forgotten_then() {
        let mut recent = Recent::default();
        recent.seen(10 * MINUTE, 900, 1000);
        recent.seen(11 * MINUTE, 100, 128);
        let top = recent.top(11 * MINUTE).unwrap();
        assert_eq!((top.high_water, top.headroom_ratio), (900, 0.1));
        assert_eq!(recent.top(15 * MINUTE).unwrap().high_water, 900);
        assert_eq!(recent.top(16 * MINUTE).unwrap().high_water, 100);
        assert_eq!(recent.top(17 * MINUTE), None);
    }

    #[test]
    fn memory_does_not_grow_with_time() {
        let mut recent = Recent::default();
        for minute in 0..10_000 {
            recent.seen(minute * MINUTE, 5, 10);
            recent.seen(minute * MINUTE - minute.min(1) * MINUTE, 6, 10);
        }
        assert!(recent.0.len() as u64 <= MINUTES + 1, "{}", recent.0.len());
    }

    #[test]
    fn a_limit_of_nothing_has_no_room() {
        let mut recent = Recent::default();
        recent.seen(0, 0, 0);
        assert_eq!(recent.top(0).map(|top| top.headroom_ratio), Some(0.0));
    }
}
