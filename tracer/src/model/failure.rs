//! Descriptors that could not be made: how often, in which state of the table, and why.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::event::{Errno, Failure, Head, Syscall};

/// From so many on failures have a rate.
const STORM: u64 = 10;

/// What a failure says about its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// No number below the soft limit was free.
    #[serde(rename = "table full")]
    TableFull,
    /// The table had room: another quota of the user or process was used up, or a supervisor of the process refused.
    #[serde(rename = "another quota")]
    AnotherQuota,
    /// The whole system had no room for another open file.
    #[serde(rename = "system-wide limit")]
    SystemWide,
    /// A number was asked for by name, and it is not below the soft limit: dup2 gives EBADF then, F_DUPFD EINVAL
    /// (fs/file.c, v6.12).
    #[serde(rename = "beyond the limit")]
    BeyondLimit,
    /// What is known does not tell.
    #[serde(rename = "unclear")]
    Unclear,
}

impl Cause {
    /// The name used in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::TableFull => "table full",
            Cause::AnotherQuota => "another quota",
            Cause::SystemWide => "system-wide limit",
            Cause::BeyondLimit => "beyond the limit",
            Cause::Unclear => "unclear",
        }
    }
}

/// Failures of one syscall with one error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureRow {
    /// Name of the error.
    pub errno: Cow<'static, str>,
    /// Name of the syscall.
    pub syscall: Cow<'static, str>,
    /// How many.
    pub count: u64,
    /// Live descriptors at the first; `null` if the first was not in this scope.
    pub live: Option<u32>,
    /// Soft limit at the first.
    pub soft_limit: Option<u32>,
    /// Boot time of the first.
    pub first_ns: Option<u64>,
    /// Boot time of the last.
    pub last_ns: Option<u64>,
    /// How many per second between the first and the last; `null` for fewer than ten, or if the first was not in this scope.
    pub per_second: Option<f64>,
    /// Lowest free number at the first.
    pub lowest_free: Option<u32>,
    /// Numbers in use at the first, reserved ones included, among the first 1,024.
    pub in_use: Option<u32>,
    /// What it says about its cause.
    pub cause: Cause,
    /// The syscall returned success, with fewer descriptors than were sent.
    pub hidden: bool,
}

impl FailureRow {
    fn new(failure: &Failure, highest: Option<u32>, count: u64, first_seen: bool) -> FailureRow {
        FailureRow {
            errno: failure.errno.name(),
            syscall: failure.syscall.name(),
            count,
            live: first_seen.then_some(failure.live),
            soft_limit: first_seen.then_some(failure.soft),
            first_ns: first_seen.then_some(failure.first_ns),
            last_ns: Some(failure.last_ns),
            per_second: rate(failure, count).filter(|_| first_seen),
            lowest_free: failure.lowest_free.filter(|_| first_seen),
            in_use: first_seen.then_some(failure.in_use),
            cause: cause(failure, highest),
            hidden: failure.syscall.hidden,
        }
    }

    fn other(count: u64) -> FailureRow {
        FailureRow {
            errno: "other".into(),
            syscall: "other".into(),
            count,
            live: None,
            soft_limit: None,
            first_ns: None,
            last_ns: None,
            per_second: None,
            lowest_free: None,
            in_use: None,
            cause: Cause::Unclear,
            hidden: false,
        }
    }
}

/// Events per second from the first to the last: intervals, not ends, are counted.
fn rate(failure: &Failure, count: u64) -> Option<f64> {
    let span = failure.last_ns.saturating_sub(failure.first_ns);
    (count >= STORM && span > 0).then(|| (count - 1) as f64 * 1e9 / span as f64)
}

/// Why it failed, as far as the table at the first failure tells, and the greatest number that was ever in use in it.
///
/// A number that was free at the syscall's exit may have become free a moment before, by another thread's close. Where no
/// number near the limit was ever in use the table was never full, whoever refused: a seccomp supervisor answers what it likes.
pub fn cause(failure: &Failure, highest: Option<u32>) -> Cause {
    let Failure { live, soft, lowest_free, in_use, .. } = *failure;
    match failure.errno {
        Errno::ENFILE => Cause::SystemWide,
        Errno::EBADF if failure.syscall.name().starts_with("dup") => Cause::BeyondLimit,
        Errno::EINVAL if failure.syscall.name().starts_with("fcntl") => Cause::BeyondLimit,
        Errno::EMFILE => {
            // One free number is none for a syscall that needs two.
            let short = failure.syscall.needs() - 1;
            let taken = |numbers: u32| numbers.saturating_add(short) >= soft;
            let full = lowest_free.is_some_and(|free| free >= soft) || taken(in_use) || taken(live);
            let never_full = highest.is_some_and(|highest| highest.saturating_add(1 + short) < soft);
            match lowest_free {
                _ if full => Cause::TableFull,
                Some(_) if failure.syscall.has_other_quota() => Cause::AnotherQuota,
                _ if never_full => Cause::AnotherQuota,
                _ => Cause::Unclear,
            }
        }
        _ => Cause::Unclear,
    }
}

/// How often each failure had happened at some moment.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: Vec<(Errno, Syscall, u32)>,
    other: u32,
}

impl Tally {
    /// As of this head.
    pub fn of(head: &Head) -> Tally {
        let counts = head.failures.iter().map(|f| (f.errno, f.syscall, f.count)).collect();
        Tally { counts, other: head.failures_other }
    }

    /// What has come since, up to this head. The state at the first is given where the first came since.
    pub fn since(&self, head: &Head) -> Vec<FailureRow> {
        let mut rows = Vec::new();
        let highest = head.life.highest.max(head.highest);
        for failure in &head.failures {
            let seen = self.counts.iter().find(|(e, s, _)| (*e, *s) == (failure.errno, failure.syscall));
            let before = seen.map_or(0, |(_, _, count)| *count);
            let count = failure.count.saturating_sub(before);
            if count > 0 {
                rows.push(FailureRow::new(failure, highest, count.into(), before == 0));
            }
        }
        let other = head.failures_other.saturating_sub(self.other);
        if other > 0 {
            rows.push(FailureRow::other(other.into()));
        }
        rows
    }
}

/// Adds later failures to earlier ones.
pub fn merge(into: &mut Vec<FailureRow>, later: &[FailureRow]) {
    for row in later {
        match into.iter_mut().find(|r| r.errno == row.errno && r.syscall == row.syscall) {
            Some(sum) => sum.count = sum.count.saturating_add(row.count),
            None => into.push(row.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emfile(nr: u16, live: u32, soft: u32, lowest_free: Option<u32>) -> Failure {
        let syscall = Syscall { nr, compat: false, hidden: false };
        Failure {
            first_ns: 1,
            last_ns: 1,
            count: 1,
            live,
            soft,
            lowest_free,
            in_use: live,
            syscall,
            errno: Errno::EMFILE,
        }
    }

    #[test]
    fn a_full_table_is_told_apart_from_another_quota() {
        let cause = |failure: &Failure| cause(failure, Some(20_000));
        assert_eq!(cause(&emfile(257, 1024, 1024, None)), Cause::TableFull);
        assert_eq!(cause(&emfile(257, 40, 64, Some(64))), Cause::TableFull, "a number above the limit is no free one");
        assert_eq!(cause(&emfile(293, 1023, 1024, Some(1023))), Cause::TableFull, "a pipe needs two numbers");
        assert_eq!(cause(&emfile(294, 132, 20_000, Some(132))), Cause::AnotherQuota);
        assert_eq!(cause(&emfile(257, 132, 20_000, Some(132))), Cause::Unclear);
        assert_eq!(cause(&emfile(294, 1030, 20_000, None)), Cause::Unclear, "a free number was not seen");
        let enfile = Failure { errno: Errno::ENFILE, ..emfile(257, 5, 1024, Some(5)) };
        assert_eq!(cause(&enfile), Cause::SystemWide);
        for (nr, errno) in [(33, Errno::EBADF), (292, Errno::EBADF), (72, Errno::EINVAL)] {
            let beyond = Failure { errno, ..emfile(nr, 5, 64, Some(5)) };
            assert_eq!(cause(&beyond), Cause::BeyondLimit);
        }
    }

    #[test]
    fn a_table_that_never_came_near_its_limit_was_not_the_cause() {
        // What a seccomp supervisor answers for `socket`: 5 of 20,000 in use.
        let refused = emfile(41, 5, 20_000, Some(4));
        assert_eq!(cause(&refused, Some(251)), Cause::AnotherQuota);
        assert_eq!(
            cause(&emfile(41, 4101, 20_000, None), Some(4100)),
            Cause::AnotherQuota,
            "no free number was looked for"
        );
        assert_eq!(cause(&refused, Some(19_999)), Cause::Unclear, "it may have been full a moment before");
        assert_eq!(cause(&refused, None), Cause::Unclear);
        assert_eq!(cause(&emfile(293, 5, 64, Some(5)), Some(61)), Cause::AnotherQuota);
        assert_eq!(cause(&emfile(293, 5, 64, Some(5)), Some(62)), Cause::Unclear, "a pipe needs two numbers");
    }

    #[test]
    fn a_cause_has_the_same_name_in_every_output() {
        for cause in [Cause::TableFull, Cause::AnotherQuota, Cause::SystemWide, Cause::BeyondLimit, Cause::Unclear] {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
        }
    }

    #[test]
    fn a_storm_has_a_rate_and_a_few_failures_have_none() {
        let mut head = crate::model::testing::head(1, 3);
        let storm = Failure { count: 3001, last_ns: 1_000_000_001, ..emfile(257, 1024, 1024, None) };
        head.failures = vec![storm.clone(), Failure { count: 3, ..storm }];
        head.failures[1].syscall.nr = 41;
        let rows = Tally::default().since(&head);
        assert_eq!((rows[0].per_second, rows[0].last_ns), (Some(3000.0), Some(1_000_000_001)));
        assert_eq!(rows[1].per_second, None);
    }

    #[test]
    fn a_failure_that_goes_on_tells_its_first_state_only_where_it_came_first() {
        let mut head = crate::model::testing::head(1, 3);
        head.failures = vec![Failure { count: 2, ..emfile(257, 1024, 1024, None) }];
        let first = Tally::default().since(&head);
        assert_eq!((first[0].count, first[0].live), (2, Some(1024)));
        let tally = Tally::of(&head);
        assert!(tally.since(&head).is_empty());
        head.failures[0].count = 5;
        head.failures_other = 1;
        let later = tally.since(&head);
        assert_eq!((later[0].count, later[0].live), (3, None));
        assert_eq!((later[1].syscall.as_ref(), later[1].count), ("other", 1));
        let mut sum = first;
        merge(&mut sum, &later);
        assert_eq!((sum[0].count, sum[0].live, sum.len()), (5, Some(1024), 2));
    }
}
