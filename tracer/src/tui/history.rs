//! The last minute of one table, a value per second.

use std::collections::VecDeque;

/// Seconds kept.
pub const SECONDS: usize = 60;
const SECOND_NS: u64 = 1_000_000_000;
/// Heights of a bar, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The greatest number known of each second; `None` where nothing was looked at.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Second of the last entry.
    last_s: u64,
    seconds: VecDeque<Option<u32>>,
}

impl History {
    /// This many were live then. What is older than a minute is left out.
    pub fn put(&mut self, at_ns: u64, live: u32) {
        let second = at_ns / SECOND_NS;
        if self.seconds.is_empty() {
            self.last_s = second;
            self.seconds.push_back(None);
        }
        self.advance(second);
        let back = usize::try_from(self.last_s - second.min(self.last_s)).unwrap_or(usize::MAX);
        // A crest is told when it has fallen: its top may be some seconds back, before the first look even.
        while back >= self.seconds.len() && self.seconds.len() < SECONDS && back < SECONDS {
            self.seconds.push_front(None);
        }
        let index = self.seconds.len().checked_sub(back + 1);
        if let Some(entry) = index.and_then(|index| self.seconds.get_mut(index)) {
            *entry = Some(entry.map_or(live, |known| known.max(live)));
        }
    }

    fn advance(&mut self, second: u64) {
        let missing = usize::try_from(second.saturating_sub(self.last_s)).unwrap_or(usize::MAX);
        for _ in 0..missing.min(SECONDS) {
            self.seconds.push_back(None);
        }
        while self.seconds.len() > SECONDS {
            self.seconds.pop_front();
        }
        self.last_s = self.last_s.max(second);
    }

    /// As bars, the present at the right end; several seconds share one where there is less room, and show their greatest.
    /// A full bar is `most`, or the greatest of the minute if that is more.
    pub fn bars(&self, width: usize, most: u32) -> String {
        let per = SECONDS.div_ceil(width.max(1));
        let mut groups: Vec<Option<u32>> = Vec::new();
        let newest_first: Vec<Option<u32>> = self.seconds.iter().rev().copied().collect();
        for group in newest_first.chunks(per).take(width) {
            groups.push(group.iter().flatten().max().copied());
        }
        let most = groups.iter().flatten().max().copied().unwrap_or(0).max(most);
        let bar = |value: &Option<u32>| value.map_or(' ', |value| level(value, most));
        let drawn: String = groups.iter().rev().map(bar).collect();
        format!("{drawn:>width$}")
    }
}

/// The bar of a value among values up to `most`.
pub fn level(value: u32, most: u32) -> char {
    let step = u64::from(value) * (BARS.len() as u64 - 1);
    let index = step.checked_div(u64::from(most)).unwrap_or(0);
    usize::try_from(index).ok().and_then(|index| BARS.get(index)).copied().unwrap_or('█')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_shows_its_greatest_and_gaps_stay_empty() {
        let mut history = History::default();
        history.put(10 * SECOND_NS, 3);
        history.put(10 * SECOND_NS + 5, 70);
        history.put(10 * SECOND_NS + 9, 4);
        history.put(13 * SECOND_NS, 35);
        assert_eq!(history.bars(60, 0).trim_start(), "█  ▄");
        history.put(12 * SECOND_NS, 70);
        assert_eq!(history.bars(60, 0).trim_start(), "█ █▄");
        assert_eq!(history.bars(12, 0).trim_start(), "█");
        assert_eq!(history.bars(60, 0).chars().count(), 60);
        assert_eq!(history.bars(60, 1000).trim_start(), "▁ ▁▁", "against what has been reached before");
    }

    #[test]
    fn what_came_before_the_first_look_is_put_in_and_what_is_too_old_is_not() {
        let mut history = History::default();
        history.put(100 * SECOND_NS, 1);
        history.put(97 * SECOND_NS, 9);
        assert_eq!(history.bars(60, 0).trim_start(), "█  ▁");
        history.put(20 * SECOND_NS, 1000);
        assert_eq!(history.bars(60, 0).trim_start(), "█  ▁");
        history.put(500 * SECOND_NS, 0);
        assert_eq!(history.bars(60, 0).trim_start(), "▁");
        assert_eq!(History::default().bars(5, 0), "     ");
    }
}
