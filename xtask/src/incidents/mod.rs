//! `cargo xtask incidents`: each incident reproduced, measured, and compared with what the fixture counted itself.

mod audit;
mod broker;
mod burst;
mod census;
mod run;
mod sandbox;

use std::{fs, process::ExitCode};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::{
    sh,
    steps::{Steps, Tally},
};
use run::Bench;

const BEGIN: &str = "<!-- incidents: written by `cargo xtask incidents --readme` -->";
const END: &str = "<!-- /incidents -->";

#[derive(clap::Args)]
pub struct Options {
    /// Use unoptimised builds, which are there sooner
    #[arg(long)]
    debug: bool,
    /// One of them only, 1 to 4
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=4))]
    only: Option<u8>,
    /// Write the README's table from the results, if every figure is right
    #[arg(long, conflicts_with = "only")]
    readme: bool,
}

/// What is found out about one incident.
#[derive(Default)]
struct Incident {
    checks: Vec<Check>,
    said: Vec<String>,
    /// The README's row: what it was, and what fdtide says.
    row: (String, String),
}

/// One figure.
struct Check {
    what: String,
    expected: String,
    measured: String,
}

impl Incident {
    /// A figure as the fixture has it and as it was measured.
    fn check(&mut self, what: impl Into<String>, expected: &Value, measured: &Value) {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.checks.push(Check { what: what.into(), expected: text(expected), measured: text(measured) });
    }

    /// A statement that must hold.
    fn holds(&mut self, what: impl Into<String>, holds: bool) {
        self.check(what, &true.into(), &holds.into());
    }

    fn show(&self) -> Tally {
        let width = self.checks.iter().map(|check| check.what.chars().count()).max().unwrap_or(0);
        println!("  {:<width$}  {:>10}  {:>10}", "", "expected", "measured");
        let mut tally = Tally::NONE;
        for Check { what, expected, measured } in &self.checks {
            let right = expected == measured;
            let mark = if right { "" } else { "  WRONG" };
            println!("  {what:<width$}  {expected:>10}  {measured:>10}{mark}");
            tally = tally.plus(if right { Tally::PASSED } else { Tally::FAILED });
        }
        println!("\n  fdtide says:");
        for line in &self.said {
            println!("    {line}");
        }
        tally
    }
}

/// An incident's name and what finds out about it.
type Step = (&'static str, fn(&Bench) -> Result<Incident>);

pub fn run(options: &Options) -> Result<ExitCode> {
    let bench = Bench::build(!options.debug)?;
    let mut steps = Steps::default();
    let incidents: [Step; 4] = [
        ("1. the Landlock preparation burst", burst::incident),
        ("2. the broker that runs out of sockets", broker::incident),
        ("3. the audit that reads 24 before and 24 after", audit::incident),
        ("4. the sandbox that outlives its runner", sandbox::incident),
    ];
    let mut rows = Vec::new();
    let wanted = |number: u8| options.only.is_none_or(|only| only == number);
    for (_, (name, incident)) in (1..).zip(incidents).filter(|(number, _)| wanted(*number)) {
        steps.step(name, || {
            let found = incident(&bench)?;
            let tally = found.show();
            rows.push(found.row);
            Ok(tally)
        });
    }
    if options.readme {
        let all_right = steps.total().failed == 0;
        steps.step("the README's table", || {
            ensure!(all_right, "a figure is wrong: the table stays as it is");
            readme(&rows).map(|()| Tally::PASSED)
        });
    }
    Ok(steps.finish())
}

/// Puts the table between its markers.
fn readme(rows: &[(String, String)]) -> Result<()> {
    let path = sh::root()?.join("README.md");
    let text = fs::read_to_string(&path).context("failed to read the README")?;
    let new = with_table(&text, rows).context("the README has no place for the table")?;
    fs::write(&path, new).context("failed to write the README")
}

fn with_table(text: &str, rows: &[(String, String)]) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let mut table = "| incident | what fdtide says of it |\n| --- | --- |\n".to_owned();
    for (incident, says) in rows {
        table.push_str(&format!("| {incident} | {says} |\n"));
    }
    Some(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let text = format!("head\n{BEGIN}\nold\n{END}\ntail\n");
        let new = with_table(&text, &[("one".to_owned(), "two".to_owned())]).expect("markers");
        let wanted = "| incident | what fdtide says of it |\n| --- | --- |\n| one | two |\n";
        assert_eq!(new, format!("head\n{BEGIN}\n{wanted}{END}\ntail\n"));
        assert_eq!(with_table("no markers", &[]), None);
    }

    #[test]
    fn a_figure_that_differs_is_counted() {
        let mut incident = Incident::default();
        incident.check("right", &7.into(), &7.into());
        incident.check("wrong", &7.into(), &8.into());
        assert_eq!(incident.show(), Tally { passed: 1, failed: 1, skipped: 0 });
    }
}
