//! Reading what `cargo test -- --show-output` prints.

use crate::steps::Tally;

/// Counts results line by line; a test that prints `skipped: <reason>` counts as skipped, not as passed.
#[derive(Default)]
pub struct Summary {
    tally: Tally,
    /// Inside the shown output of one test whose skip has not been counted yet.
    in_test: bool,
    skips: Vec<String>,
}

impl Summary {
    pub fn line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.in_test = false;
            self.tally = self.tally.plus(parse_result(result));
        } else if line.starts_with("---- ") && (line.ends_with(" stdout ----") || line.ends_with(" stderr ----")) {
            self.in_test = true;
        } else if line == "failures:" || line == "successes:" {
            self.in_test = false;
        } else if let Some(reason) = line.strip_prefix("skipped: ")
            && self.in_test
        {
            // One skip per test, whatever else it says.
            self.in_test = false;
            self.skips.push(reason.to_owned());
        }
    }

    /// The count; `ok` is whether cargo succeeded, since a build that breaks has no results at all.
    pub fn finish(self, ok: bool) -> Tally {
        let skips = self.skips.len();
        let mut tally = Tally {
            passed: self.tally.passed.saturating_sub(skips),
            skipped: self.tally.skipped + skips,
            ..self.tally
        };
        if !ok && tally.failed == 0 {
            tally.failed = 1;
        }
        tally
    }
}

/// `ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn parse_result(result: &str) -> Tally {
    let number = |label: &str| {
        result.split([';', '.']).find_map(|part| part.trim().strip_suffix(label)?.trim().parse().ok()).unwrap_or(0)
    };
    Tally { passed: number("passed"), failed: number("failed"), skipped: number("ignored") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, ok: bool) -> Tally {
        let mut summary = Summary::default();
        text.lines().for_each(|line| summary.line(line));
        summary.finish(ok)
    }

    #[test]
    fn results_of_all_binaries_add_up() {
        let text = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.50s\n";
        assert_eq!(read(text, false), Tally { passed: 7, failed: 2, skipped: 1 });
    }

    #[test]
    fn a_test_that_says_skipped_did_not_pass() {
        let text = "successes:\n\n\
            ---- postgres_start_is_seen stdout ----\n\
            skipped: no postgres on this machine\n\
            skipped: nor another\n\n\
            ---- other stdout ----\n\
            all well\n\n\
            successes:\n    other\n    postgres_start_is_seen\n\n\
            test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(read(text, true), Tally { passed: 1, failed: 0, skipped: 1 });
    }

    #[test]
    fn a_build_that_breaks_is_a_failure() {
        assert_eq!(read("", false), Tally::FAILED);
        assert_eq!(read("", true), Tally::NONE);
    }
}
