//! Verdicts for GitHub Actions: annotations as workflow commands, and a job summary in Markdown.

use std::io::{self, Write};

use super::{details, line, outcome, subject, title};
use crate::gate::{Check, Verdict};

/// GitHub shows ten annotations of a kind per step.
const SHOWN: usize = 10;
/// Checks in a summary, of which GitHub takes a mebibyte per step.
const ROWS: usize = 400;

/// Writes one workflow command per check that did not pass: an error for one that failed, a warning for one that is
/// inconclusive. Of more than ten of a kind the last one says how many there are.
pub fn annotations(checks: &[Check], out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::new();
    for (verdict, command) in [(Verdict::Fail, "error"), (Verdict::Inconclusive, "warning")] {
        let of: Vec<&Check> = checks.iter().filter(|check| check.verdict == verdict).collect();
        let shown = if of.len() > SHOWN { SHOWN - 1 } else { of.len() };
        of.iter().take(shown).for_each(|check| text.push_str(&annotation(command, check)));
        if of.len() > shown {
            text.push_str(&format!("::{command} title=fdtide::{} more budgets did not pass\n", of.len() - shown));
        }
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn annotation(command: &str, check: &Check) -> String {
    let place = &check.budget.place;
    let title = property(&format!("{}: {}", outcome(check), title(check)));
    let file = place
        .path
        .as_ref()
        .map_or(String::new(), |path| format!(",file={},line={},col={}", property(path), place.line, place.column));
    format!("::{command} title={title}{file}::{}\n", data(&line(check)))
}

/// The text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Writes the job summary: a table of all checks, then what those that did not pass are made of.
pub fn summary(checks: &[Check], out: &mut dyn Write) -> io::Result<()> {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let (failed, open) = (count(Verdict::Fail), count(Verdict::Inconclusive));
    let all = checks.len();
    let head = match (failed, open) {
        (0, 0) => format!("{all} of {all} passed"),
        (0, open) => format!("{open} of {all} inconclusive"),
        (failed, 0) => format!("{failed} of {all} exceeded"),
        (failed, open) => format!("{failed} of {all} exceeded, {open} inconclusive"),
    };
    let mut text = format!("### fdtide: {head}\n\n| | budget | for | measured |\n| --- | --- | --- | --- |\n");
    for check in checks.iter().take(ROWS) {
        let measured =
            check.measured.as_ref().map_or("nothing".to_owned(), |m| super::figures(check, m) + &super::was(check));
        let subject = subject(check);
        let cells = [
            outcome(check).to_owned(),
            markdown(&check.budget.to_string()),
            markdown(subject.strip_prefix("for ").unwrap_or("everything")),
            markdown(&measured),
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    if let Some(more) = all.checked_sub(ROWS).filter(|more| *more > 0) {
        text.push_str(&format!("\n{more} more\n"));
    }
    for check in checks.iter().filter(|check| check.verdict != Verdict::Pass).take(ROWS) {
        text.push_str(&format!("\n**{}: {}**\n\n", outcome(check), markdown(&title(check))));
        for (label, told) in details(check) {
            text.push_str(&format!("- {}\n", markdown(format!("{label} {told}").trim_start())));
        }
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Text that Markdown shows as it is: whatever could mean something is a character reference.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace('\u{a0}', " ").chars() {
        match c {
            ' ' | '.' | ',' | '-' | '/' | '%' | '(' | ')' | ';' => out.push(c),
            c if c.is_alphanumeric() => out.push(c),
            c if c.is_ascii() => out.push_str(&format!("&#{};", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
