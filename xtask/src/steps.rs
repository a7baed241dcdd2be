//! A run of named steps: each is timed, none hides the next, all are counted.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Result;

/// How many passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Tally {
    /// Nothing to count.
    pub const NONE: Self = Self { passed: 0, failed: 0, skipped: 0 };
    pub const PASSED: Self = Self { passed: 1, failed: 0, skipped: 0 };
    pub const FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };

    /// One skipped check, with the reason printed.
    pub fn skipped(reason: &str) -> Self {
        println!("skipped: {reason}");
        Self { skipped: 1, ..Self::NONE }
    }

    pub const fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

struct Row {
    name: &'static str,
    took: Duration,
    tally: Tally,
    error: Option<String>,
}

#[derive(Default)]
pub struct Steps {
    rows: Vec<Row>,
}

impl Steps {
    /// Runs one step; an error is printed and counts as one failure.
    pub fn step(&mut self, name: &'static str, body: impl FnOnce() -> Result<Tally>) {
        println!("\n── {name}");
        let started = Instant::now();
        let result = body();
        let took = started.elapsed();
        let (tally, error) = match result {
            Ok(tally) => (tally, None),
            Err(error) => (Tally::FAILED, Some(format!("{error:#}"))),
        };
        if let Some(error) = &error {
            eprintln!("error: {error}");
        }
        self.rows.push(Row { name, took, tally, error });
    }

    pub fn total(&self) -> Tally {
        self.rows.iter().fold(Tally::NONE, |sum, row| sum.plus(row.tally))
    }

    /// Prints each step's time and count, the failures again, and the closing line.
    pub fn finish(self) -> ExitCode {
        println!("\n── steps");
        for row in &self.rows {
            println!("{:>7.1} s  {:<34} {}", row.took.as_secs_f64(), row.name, row.tally);
        }
        for row in &self.rows {
            if let Some(error) = &row.error {
                println!("failed: {}: {error}", row.name);
            } else if row.tally.failed > 0 {
                println!("failed: {}: see above", row.name);
            }
        }
        let total = self.total();
        println!("{total}");
        if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_step_does_not_hide_the_next() {
        let mut steps = Steps::default();
        steps.step("first", || anyhow::bail!("broken"));
        steps.step("second", || Ok(Tally { passed: 3, failed: 0, skipped: 2 }));
        assert_eq!(steps.total(), Tally { passed: 3, failed: 1, skipped: 2 });
    }

    #[test]
    fn the_closing_line_is_the_plain_one() {
        let tally = Tally { passed: 12, failed: 0, skipped: 3 };
        assert_eq!(tally.to_string(), "12 passed, 0 failed, 3 skipped");
    }
}
