//! Audits: what each attempt held before, at most and afterwards, and whether something is left.
//!
//! *Before* is the last level at which the command's own table rested before it rose to its high-water mark; *after* the first one
//! once it had fallen by half; *delayed* the last one of all. Where it never rested, they are what the program began and ended
//! with. A leak is more in the delayed look than before, told by which descriptors those are.
//!
//! A rise that comes to a halt on a busy machine is a rest too. One in the upper half of the rise is never taken for *before*, and
//! one in the lower half only if none lasted for twice the settle time.

use std::collections::BTreeSet;

use serde::Serialize;

use super::plan::Attempt;
use crate::model::{ExecRecord, Report, report::TableRow};

/// Descriptors that are named as left, at most.
const NAMED: usize = 20;

/// A level that was still for the settle time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Live descriptors.
    pub level: u32,
    /// Boot time from which on it was still; `None` if it had ended before it was looked at.
    pub from_ns: Option<u64>,
    /// Boot time of the last look at which it was still; `None` likewise.
    pub until_ns: Option<u64>,
    /// Which they were, each as its number and what it points to; `None` if that could not be read.
    pub identities: Option<BTreeSet<(u32, String)>>,
}

/// What an attempt comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing is left and nothing failed.
    Clean,
    /// Nothing is left, but calls were refused, or children failed or were left behind.
    Failures,
    /// Something is left.
    Leak,
    /// The command failed, hung, or could not be started.
    Broken,
    /// Too little was seen to say.
    Inconclusive,
}

/// One row of an audit. `null` where nothing was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Number of the attempt, from 1.
    pub attempt: usize,
    /// What it does.
    pub trigger: String,
    /// With how many threads.
    pub threads: u64,
    /// Live descriptors before.
    pub before: Option<u32>,
    /// The most at one moment.
    pub held: Option<u32>,
    /// Live descriptors after.
    pub after: Option<u32>,
    /// Live descriptors in the last look.
    pub delayed: Option<u32>,
    /// Whether these three are levels of rest; else what the program began and ended with.
    pub rested: bool,
    /// Whether something is left.
    pub leak: bool,
    /// What is left: number and what it points to, at most 20.
    pub left: Vec<String>,
    /// Programs that it started.
    pub children: u64,
    /// Those that did not end well.
    pub children_failed: u64,
    /// Processes that outlived the one that forked them.
    pub outlived: u64,
    /// Calls that were refused a descriptor.
    pub failures: u64,
    /// The first of them.
    pub first_failure: Option<String>,
    /// What it all comes to.
    pub verdict: Verdict,
    /// The same in a sentence.
    pub sentence: String,
}

/// How the attempt's command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With exit code 0.
    Well,
    /// In another way, or not at all: why.
    Badly(String),
}

/// The three levels, and the rests that two of them come from.
struct Levels<'a> {
    before: Option<u32>,
    after: Option<u32>,
    delayed: Option<u32>,
    rests: Option<(&'a Rest, &'a Rest)>,
}

impl<'a> Levels<'a> {
    fn of(table: &TableRow, exec: Option<&ExecRecord>, rests: &'a [Rest], settle_ns: u64) -> Self {
        let (high, mark_ns) = (table.high_water.unwrap_or(0), table.high_water_ns.unwrap_or(0));
        let cut = rests.iter().position(|rest| rest.from_ns.is_some_and(|from| from >= mark_ns)).unwrap_or(rests.len());
        let (earlier, later) = rests.split_at(cut);
        let foot = earlier.iter().map(|rest| rest.level).min().unwrap_or(0);
        let low = |rest: &Rest| rest.from_ns.is_some() && rest.level <= foot + (high - foot.min(high)) / 2;
        let lasted = |rest: &Rest| rest.until_ns.zip(rest.from_ns).map_or(0, |(until, from)| until - from.min(until));
        let last = |long: u64| earlier.iter().rev().find(|rest| low(rest) && lasted(rest) >= long);
        let before = last(2 * settle_ns).or_else(|| last(0));
        let fallen = |rest: &&Rest| {
            before.is_some_and(|before| rest.level <= before.level + (high - before.level.min(high)) / 2)
        };
        let after = later.iter().find(fallen).or(later.last());
        if let (Some(before), Some(after), Some(delayed)) = (before, after, later.last()) {
            let levels = [before, after, delayed].map(|rest| Some(rest.level));
            let [before_level, after, delayed_level] = levels;
            return Self { before: before_level, after, delayed: delayed_level, rests: Some((before, delayed)) };
        }
        let (begun, ended) = (exec.map(|exec| exec.inherited), exec.and_then(|exec| exec.image.at_exit));
        Self { before: begun, after: ended, delayed: ended, rests: None }
    }

    /// What is in the delayed look and was not before.
    fn left(&self) -> Vec<String> {
        let Some((before, delayed)) = self.rests else { return Vec::new() };
        let (Some(before), Some(delayed)) = (&before.identities, &delayed.identities) else { return Vec::new() };
        delayed.difference(before).take(NAMED).map(|(number, target)| format!("{number} → {target}")).collect()
    }
}

impl Row {
    /// An attempt of which there is no report.
    #[must_use]
    pub fn not_run(attempt: &Attempt, why: &str) -> Self {
        Self {
            attempt: attempt.number,
            trigger: attempt.trigger.clone(),
            threads: attempt.threads,
            before: None,
            held: None,
            after: None,
            delayed: None,
            rested: false,
            leak: false,
            left: Vec::new(),
            children: 0,
            children_failed: 0,
            outlived: 0,
            failures: 0,
            first_failure: None,
            verdict: Verdict::Broken,
            sentence: format!("It was not run: {why}."),
        }
    }

    /// From the report of an attempt, and the levels at which its command rested.
    #[must_use]
    pub fn of(attempt: &Attempt, report: &Report, rests: &[Rest], ended: &Ended) -> Self {
        let mut row = Self::not_run(attempt, "its table was not seen");
        let Some(pid) = report.root.map(|root| root.pid) else { return row };
        let Some(table) = report.tables.iter().rev().find(|table| table.pids.first() == Some(&pid)) else { return row };
        let exec = report.execs.iter().rev().find(|exec| exec.pid == pid);
        let levels = Levels::of(table, exec, rests, attempt.settle.as_nanos() as u64);
        row.before = levels.before;
        row.held = table.high_water;
        row.after = levels.after;
        row.delayed = levels.delayed;
        row.rested = levels.rests.is_some();
        row.leak = levels.delayed.zip(levels.before).is_some_and(|(delayed, before)| delayed > before);
        if row.leak {
            row.left = levels.left();
        }
        row.count(report, pid);
        let blind = report.loss.lost + report.loss.missed > 0;
        row.verdict = match ended {
            _ if row.leak => Verdict::Leak,
            Ended::Badly(_) => Verdict::Broken,
            Ended::Well if row.delayed.is_none() || blind => Verdict::Inconclusive,
            Ended::Well if row.failures + row.children_failed + row.outlived > 0 => Verdict::Failures,
            Ended::Well => Verdict::Clean,
        };
        row.sentence = row.tell(ended, report);
        row
    }

    fn count(&mut self, report: &Report, root: u32) {
        let children = || report.execs.iter().filter(|exec| exec.pid != root);
        let failed = |exec: &&ExecRecord| exec.image.exit.is_some_and(|exit| exit.to_string() != "exit 0");
        self.children = children().count() as u64;
        self.children_failed = children().filter(failed).count() as u64;
        self.outlived = report.orphans.len() as u64;
        let rows = || report.tables.iter().flat_map(|table| &table.failures);
        self.failures = rows().map(|row| row.count).sum();
        self.first_failure = rows().min_by_key(|row| row.first_ns).map(|row| {
            let full = row.live.zip(row.soft_limit).map(|(live, soft)| format!(" with {live} of {soft} in use"));
            let full = full.unwrap_or_default();
            format!("{} {}{full}", row.syscall, row.errno)
        });
    }

    /// The verdict as a sentence.
    fn tell(&self, ended: &Ended, report: &Report) -> String {
        let level = |level: Option<u32>| level.map_or_else(|| "?".to_owned(), |level| level.to_string());
        let (before, after, held) = (level(self.before), level(self.after), level(self.held));
        let delayed = level(self.delayed);
        let mut text = match (&self.verdict, ended) {
            (Verdict::Leak, _) => {
                let count = self.delayed.unwrap_or(0) - self.before.unwrap_or(0);
                format!("{count} more descriptors after it than before: {before} → {held} → {delayed}.")
            }
            (Verdict::Broken, Ended::Badly(why)) => format!("The command failed: {why}."),
            (Verdict::Inconclusive, _) if self.delayed.is_some() => {
                let (lost, missed) = (report.loss.lost, report.loss.missed);
                format!(
                    "{before} → {held} → {delayed}, but {lost} records were lost and {missed} runs of hooks missed."
                )
            }
            (Verdict::Inconclusive, _) => "Its end did not come through.".to_owned(),
            (Verdict::Failures, _) if self.failures + self.children_failed > 0 => {
                format!(
                    "{before} before and {delayed} after prove nothing: it held {held} in between, and something failed."
                )
            }
            _ if after != delayed => {
                format!("It rose from {before} to {held}, rested at {after} and came back to {delayed}.")
            }
            _ => format!("It rose from {before} to {held} and came back to {delayed}."),
        };
        if let Some(first) = &self.first_failure {
            text.push_str(&format!(" Calls refused: {}, the first {first}.", self.failures));
        }
        if self.children_failed > 0 {
            text.push_str(&format!(" Children that failed: {} of {}.", self.children_failed, self.children));
        }
        if self.outlived > 0 {
            text.push_str(&format!(" Processes that outlived the one that forked them: {}.", self.outlived));
        }
        if !self.left.is_empty() {
            text.push_str(&format!(" Left: {}.", self.left.join(", ")));
        }
        text
    }
}

#[cfg(test)]
mod tests;
