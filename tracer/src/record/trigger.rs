//! What a flight recorder is to keep its recording for.

use std::{
    collections::{HashMap, HashSet},
    str::FromStr,
};

use crate::event::{Event, Head, Reason, TableId};

/// When to write down what has been kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A descriptor could not be made.
    Failure,
    /// A table has come so close to its soft limit: fewer numbers left than this.
    Headroom(u32),
}

/// `failure`, or `headroom<N`.
impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("headroom<") {
            Some(least) => {
                least.parse().map(Self::Headroom).map_err(|_| format!("`{least}` is no number of descriptors"))
            }
            None if text == "failure" => Ok(Self::Failure),
            None => Err(format!("`{text}` is no trigger: use `failure` or `headroom<N`")),
        }
    }
}

/// Looks out for triggers.
#[derive(Debug, Default)]
pub(super) struct Lookout {
    triggers: Vec<Trigger>,
    failures: HashMap<TableId, u64>,
    near: HashSet<TableId>,
}

impl Lookout {
    pub(super) fn new(triggers: Vec<Trigger>) -> Lookout {
        Lookout { triggers, ..Lookout::default() }
    }

    /// Looks out for these from now on.
    pub(super) fn set(&mut self, triggers: Vec<Trigger>) {
        self.triggers = triggers;
    }

    /// Why a dump is due after this event, if it is: a word for the file's name.
    pub(super) fn event(&mut self, event: &Event) -> Option<&'static str> {
        if self.triggers.is_empty() {
            return None;
        }
        match event {
            Event::Exec(exec) => exec.before.iter().chain(&exec.spawner).filter_map(|head| self.head(head)).last(),
            Event::Exit(ended) => {
                let head = ended.table.as_ref()?;
                let found = self.head(head);
                if head.users == 0 {
                    self.forget(head.id);
                }
                found
            }
            Event::Removed(removed) => {
                removed.table.iter().filter(|head| head.users == 0).for_each(|head| self.forget(head.id));
                None
            }
            Event::Table(seen) => {
                let found = self.head(&seen.table);
                if matches!(seen.reason, Reason::Left | Reason::Replaced) {
                    self.forget(seen.table.id);
                }
                found
            }
            _ => None,
        }
    }

    fn forget(&mut self, table: TableId) {
        self.failures.remove(&table);
        self.near.remove(&table);
    }

    fn head(&mut self, head: &Head) -> Option<&'static str> {
        let mut found = None;
        for trigger in self.triggers.clone() {
            match trigger {
                Trigger::Failure => {
                    let known: u64 = head.failures.iter().map(|failure| u64::from(failure.count)).sum();
                    let count = known + u64::from(head.failures_other);
                    let before = self.failures.insert(head.id, count).unwrap_or(0);
                    if count > before {
                        found = Some("failure");
                    }
                }
                Trigger::Headroom(least) => {
                    // The crest may have been between two looks.
                    let left = head.soft.saturating_sub(head.crest.live.max(head.live));
                    if left >= least {
                        self.near.remove(&head.id);
                    } else if self.near.insert(head.id) {
                        found = Some("headroom");
                    }
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{EMFILE, head, mark, snapshot};

    #[test]
    fn each_new_failure_triggers_and_an_old_one_does_not() {
        let mut lookout = Lookout::new(vec![Trigger::Failure]);
        let mut failure = EMFILE;
        let mut table = head(1, 64);
        assert_eq!(lookout.event(&snapshot(1, table.clone())), None);
        table.failures = vec![failure.clone()];
        assert_eq!(lookout.event(&snapshot(2, table.clone())), Some("failure"));
        assert_eq!(lookout.event(&snapshot(3, table.clone())), None);
        failure.count = 2;
        table.failures = vec![failure];
        assert_eq!(lookout.event(&snapshot(4, table)), Some("failure"));
    }

    #[test]
    fn a_table_near_its_limit_triggers_once_until_it_has_room_again() {
        let mut lookout = Lookout::new(vec![Trigger::Headroom(100)]);
        assert_eq!(lookout.event(&snapshot(1, head(1, 900))), None);
        let mut near = head(1, 20);
        near.crest = mark(5, 950);
        assert_eq!(lookout.event(&snapshot(2, near.clone())), Some("headroom"));
        assert_eq!(lookout.event(&snapshot(3, near.clone())), None);
        assert_eq!(lookout.event(&snapshot(4, head(1, 20))), None);
        assert_eq!(lookout.event(&snapshot(5, near)), Some("headroom"));
        assert_eq!(Lookout::new(Vec::new()).event(&snapshot(1, head(1, 1024))), None);
    }
}
