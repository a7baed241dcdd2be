//! Verdicts for a person: what failed, why, and what passed in a line.

use std::io::{self, Write};

use super::{details, figures, outcome, title};
use crate::gate::{Check, Verdict};
use crate::sink::text::print;
use crate::sink::text::words::{Lines, count};

/// Checks told in full.
const TOLD: usize = 12;

/// Writes the verdicts, and at the end the exit code if the gate decides it.
pub fn write(checks: &[Check], exit: Option<u8>, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines::default();
    let bad: Vec<&Check> = checks.iter().filter(|check| check.verdict != Verdict::Pass).collect();
    for check in bad.iter().take(TOLD) {
        block(&mut lines, check);
    }
    if let Some(more) = bad.len().checked_sub(TOLD).filter(|more| *more > 0) {
        lines.push(&format!("{} · --verdict junit=FILE for all", count(more as u64, "more")));
    }
    passed(&mut lines, checks);
    if let Some(code) = exit {
        lines.push(&format!("exit {code}"));
    }
    print(lines, out)
}

fn block(lines: &mut Lines, check: &Check) {
    lines.wrapped(&format!("{}: ", outcome(check)), 2, &title(check));
    for (label, text) in details(check) {
        lines.wrapped(&if label.is_empty() { "  ".to_owned() } else { format!("  {label:<8}  ") }, 12, &text);
    }
}

/// A line per budget of which every check passed.
fn passed(lines: &mut Lines, checks: &[Check]) {
    let mut told: Vec<&Check> = Vec::new();
    for check in checks.iter().filter(|check| check.verdict == Verdict::Pass) {
        if told.iter().any(|other| other.budget == check.budget) {
            continue;
        }
        told.push(check);
        let same: Vec<&Check> =
            checks.iter().filter(|c| c.verdict == Verdict::Pass && c.budget == check.budget).collect();
        let text = match same.as_slice() {
            [only] => {
                let measured = only.measured.as_ref().map_or(String::new(), |m| format!(": {}", figures(only, m)));
                format!("{}{measured}", title(only))
            }
            all => {
                let figures = all.iter().filter_map(|c| c.measured.as_ref()).map(|m| m.figure);
                let worst = if check.budget.op.is_lower_bound() {
                    figures.fold(f64::INFINITY, f64::min)
                } else {
                    figures.fold(f64::NEG_INFINITY, f64::max)
                };
                let percent = if check.budget.limit.percent { "%" } else { "" };
                let worst = super::number(worst);
                format!("{} in {} groups: {worst}{percent} at worst", check.budget, all.len())
            }
        };
        lines.wrapped("passed: ", 2, &text);
    }
}
