//! One alert of a cause in a while; what is held back is counted.

use std::collections::HashMap;

use super::Cause;
use crate::event::Name;

/// Names that are told apart; beyond, they share one place.
const NAMES: usize = 256;

/// When each was last told.
#[derive(Debug, Default)]
pub(super) struct Limiter {
    last: HashMap<(Cause, Name), Last>,
    suppressed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    at_ns: u64,
    suppressed: u64,
}

impl Limiter {
    /// How many were held back since the last one, if this one may go; `None` if it is held back too.
    pub fn pass(&mut self, (cause, name): (Cause, Name), now_ns: u64, every_ns: u64) -> Option<u64> {
        let full = self.last.len() >= NAMES;
        let key = if full && !self.last.contains_key(&(cause, name.clone())) {
            // Those that are over make room first.
            self.last.retain(|_, last| now_ns.saturating_sub(last.at_ns) < every_ns);
            let name = if self.last.len() >= NAMES { Name::default() } else { name };
            (cause, name)
        } else {
            (cause, name)
        };
        match self.last.get_mut(&key) {
            Some(last) if now_ns.saturating_sub(last.at_ns) < every_ns => {
                last.suppressed += 1;
                self.suppressed += 1;
                None
            }
            found => {
                let suppressed = found.map_or(0, |last| last.suppressed);
                self.last.insert(key, Last { at_ns: now_ns, suppressed: 0 });
                Some(suppressed)
            }
        }
    }

    /// All that were held back.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_and_the_others_are_counted_until_it_is_time_again() {
        let mut limiter = Limiter::default();
        let key = |name: &str| (Cause::Failure, Name::from(name));
        assert_eq!(limiter.pass(key("a"), 100, 50), Some(0));
        assert_eq!(limiter.pass(key("a"), 149, 50), None);
        assert_eq!(limiter.pass(key("a"), 149, 50), None);
        assert_eq!(limiter.pass(key("b"), 149, 50), Some(0), "another name");
        assert_eq!(limiter.pass((Cause::Headroom, "a".into()), 149, 50), Some(0), "another cause");
        assert_eq!(limiter.pass(key("a"), 150, 50), Some(2));
        assert_eq!(limiter.suppressed(), 2);
    }

    #[test]
    fn names_without_end_do_not_take_memory_without_end() {
        let mut limiter = Limiter::default();
        for n in 0..10_000 {
            limiter.pass((Cause::Failure, Name::from(format!("{n}").as_str())), 100, 50);
        }
        assert!(limiter.last.len() <= NAMES + 1, "{}", limiter.last.len());
        assert_eq!(limiter.suppressed(), 10_000 - NAMES as u64 - 1, "the rest shares a place");
        assert_eq!(limiter.pass((Cause::Failure, "late".into()), 1000, 50), Some(0), "room again");
        assert_eq!(limiter.last.len(), 1);
    }
}
