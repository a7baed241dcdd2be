//! Label sets: whose figures are told apart, and how many of them at most.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::event::Name;
use crate::model::failure::Cause;
use crate::model::meter::add;
use crate::model::meter::buckets::Distribution;
use crate::model::meter::recent::Recent;

/// A set whose tables have all gone gives its place to a new one after this time, nanoseconds.
const IDLE_NS: u64 = 600_000_000_000;
/// Errors and causes told apart in one set.
const FAILURES: usize = 32;
/// What the bucket for the rest is called.
const OTHER: &str = "other";
/// What an unknown name is called.
const UNKNOWN: &str = "unknown";

/// Whose figures they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels {
    /// Name of the process.
    pub comm: Name,
    /// Container that it is in; empty for none.
    pub container: Name,
}

/// Figures that only grow, of all tables that had these labels when something happened to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Execs of children.
    pub execs: u64,
    /// High-water of their spawn windows.
    pub windows: Distribution,
    /// High-water of the children between fork and exec.
    pub children: Distribution,
    /// Descriptors that appeared: opened, inherited, found at first sight.
    pub installs: Installs,
    /// Descriptors that went: closed, closed by an exec, gone with their table.
    pub closes: Closes,
    /// Close attempts on numbers that were not in use.
    pub bad_closes: u64,
    /// Crests.
    pub crests: u64,
    /// Orphans that have ended.
    pub orphans: u64,
    /// Descriptors that could not be made, by error and cause as known then.
    pub failures: Vec<Failures>,
}

/// Where descriptors came from. Together, less all [`Closes`], they are those that are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Installs {
    /// Appeared in a table that was followed.
    pub opened: u64,
    /// There when the table was made: by a fork, or an exec out of a shared table.
    pub inherited: u64,
    /// There when the table, older than the trace, was first seen.
    pub found: u64,
}

/// How descriptors went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closes {
    /// Went while the program ran: closed, or replaced by another one.
    pub closed: u64,
    /// Closed by an exec.
    pub exec: u64,
    /// Still there at the end of the table.
    pub exit: u64,
    /// In a table that is followed no longer, and lives on.
    pub removed: u64,
}

/// Failures with one error and cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failures {
    /// Name of the error.
    pub errno: Cow<'static, str>,
    /// What it says about its cause.
    pub cause: Cause,
    /// How many.
    pub count: u64,
}

impl Figures {
    /// Adds failures of one kind; those beyond the kinds that are told apart are counted as `other`.
    pub fn failed(&mut self, errno: Cow<'static, str>, cause: Cause, count: u64) {
        let is = |row: &Failures, errno: &str, cause: Cause| row.errno == errno && row.cause == cause;
        if let Some(row) = self.failures.iter_mut().find(|row| is(row, &errno, cause)) {
            row.count = row.count.saturating_add(count);
        } else if self.failures.len() + 1 < FAILURES {
            self.failures.push(Failures { errno, cause, count });
        } else if let Some(row) = self.failures.iter_mut().find(|row| is(row, OTHER, Cause::Unclear)) {
            row.count = row.count.saturating_add(count);
        } else {
            self.failures.push(Failures { errno: OTHER.into(), cause: Cause::Unclear, count });
        }
    }

    /// Adds the figures of another set.
    pub fn merge(&mut self, other: &Figures) {
        self.execs += other.execs;
        self.windows.merge(&other.windows);
        self.children.merge(&other.children);
        add(&mut self.installs.opened, other.installs.opened);
        add(&mut self.installs.inherited, other.installs.inherited);
        add(&mut self.installs.found, other.installs.found);
        add(&mut self.closes.closed, other.closes.closed);
        add(&mut self.closes.exec, other.closes.exec);
        add(&mut self.closes.exit, other.closes.exit);
        add(&mut self.closes.removed, other.closes.removed);
        self.bad_closes += other.bad_closes;
        self.crests += other.crests;
        self.orphans += other.orphans;
        for row in &other.failures {
            self.failed(row.errno.clone(), row.cause, row.count);
        }
    }
}

/// One label set.
#[derive(Clone, Debug, Default)]
pub struct Set {
    /// Its labels.
    pub labels: Labels,
    /// Its figures.
    pub figures: Figures,
    /// What its tables came to lately.
    pub recent: Recent,
    /// Tables that have these labels now.
    pub tables: usize,
    /// Last time that something happened to it, boot time.
    last_ns: u64,
}

/// Where a set is kept.
pub type Place = usize;

/// All label sets; the first one is for what finds no place of its own.
#[derive(Clone, Debug)]
pub struct Sets {
    sets: Vec<Set>,
    places: HashMap<Labels, Place>,
    most: usize,
    /// Figures of sets that have given up their place.
    pub given_up: Figures,
    /// How many have.
    pub given_up_count: u64,
    /// Tables and execs that were counted under `other`.
    pub overflowed: u64,
}

impl Sets {
    /// No set but the one for the rest; at most `most` others.
    pub fn new(most: usize) -> Sets {
        let labels = Labels { comm: Name::from(OTHER), container: Name::default() };
        let other = Set { labels: labels.clone(), ..Set::default() };
        Sets {
            sets: vec![other],
            places: HashMap::from([(labels, 0)]),
            most,
            given_up: Figures::default(),
            given_up_count: 0,
            overflowed: 0,
        }
    }

    /// The place of these labels, made if there is room for it.
    pub fn place(&mut self, labels: &Labels, at_ns: u64) -> Place {
        let unknown = Labels { comm: Name::from(UNKNOWN), container: labels.container.clone() };
        let labels = if labels.comm.is_empty() { &unknown } else { labels };
        if let Some(place) = self.places.get(labels) {
            return *place;
        }
        let set = Set { labels: labels.clone(), last_ns: at_ns, ..Set::default() };
        let place = if self.sets.len() <= self.most {
            self.sets.push(set);
            self.sets.len() - 1
        } else if let Some(place) = self.idle(at_ns) {
            let gone = std::mem::replace(&mut self.sets[place], set);
            self.places.remove(&gone.labels);
            self.given_up.merge(&gone.figures);
            self.given_up_count += 1;
            place
        } else {
            self.overflowed += 1;
            return 0;
        };
        self.places.insert(labels.clone(), place);
        place
    }

    /// The set that nothing has happened to for the longest time, if that is long enough.
    fn idle(&self, now_ns: u64) -> Option<Place> {
        let idle = |set: &Set| set.tables == 0 && now_ns.saturating_sub(set.last_ns) >= IDLE_NS;
        let all = self.sets.iter().enumerate().skip(1).filter(|(_, set)| idle(set));
        all.min_by_key(|(_, set)| set.last_ns).map(|(place, _)| place)
    }

    /// The set at a place: something happens to it.
    pub fn at(&mut self, place: Place, at_ns: u64) -> &mut Set {
        let place = if place < self.sets.len() { place } else { 0 };
        let set = &mut self.sets[place];
        set.last_ns = set.last_ns.max(at_ns);
        set
    }

    /// Every set with its place.
    pub fn iter(&self) -> impl Iterator<Item = (Place, &Set)> {
        self.sets.iter().enumerate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(comm: &str) -> Labels {
        Labels { comm: Name::from(comm), container: Name::default() }
    }

    #[test]
    fn what_finds_no_place_is_counted_under_other() {
        let mut sets = Sets::new(2);
        let places: Vec<_> = ["a", "b", "c", "a", "other"].map(|comm| sets.place(&labels(comm), 1)).into();
        assert_eq!(places, [1, 2, 0, 1, 0]);
        assert_eq!((sets.overflowed, sets.iter().count()), (1, 3));
    }

    #[test]
    fn an_idle_set_gives_up_its_place_and_its_figures_are_kept_apart() {
        let mut sets = Sets::new(2);
        let (a, b) = (sets.place(&labels("a"), 1), sets.place(&labels("b"), 2));
        sets.at(a, 1).figures.installs.opened = 7;
        sets.at(b, 2).tables = 1;
        assert_eq!(sets.place(&labels("c"), IDLE_NS), 0, "not idle for long enough");
        assert_eq!(sets.place(&labels("c"), IDLE_NS + 1), a);
        assert_eq!((sets.given_up.installs.opened, sets.given_up_count), (7, 1));
        assert_eq!(sets.at(a, 1).figures, Figures::default());
        assert_eq!(sets.place(&labels("d"), 9 * IDLE_NS), a, "`b` has a table");
    }

    #[test]
    fn kinds_of_failure_are_bounded_and_all_are_counted() {
        let mut figures = Figures::default();
        for n in 0..100 {
            figures.failed(format!("E{n}").into(), Cause::Unclear, 2);
        }
        assert_eq!(figures.failures.len(), FAILURES);
        figures.failed(OTHER.into(), Cause::Unclear, 0);
        assert_eq!(figures.failures.len(), FAILURES, "`other` is there once");
        assert_eq!(figures.failures.iter().map(|row| row.count).sum::<u64>(), 200);
        assert_eq!(figures.failures.last().unwrap().errno, "other");
    }
}
