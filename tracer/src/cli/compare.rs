//! `fdtide compare`.

use std::process::ExitCode;

use anyhow::Context as _;

use super::{
    fail,
    gate_args::{CompareArgs, CompareFormat, FailOn},
    load::load_report,
    sink_file::Output,
};
use crate::{
    gate::compare::{Change, Comparison, Options, compare as compare_reports},
    sink::compare::{json, markdown, text},
};

/// Runs the verb: 0 nothing to fail on, 1 something, 2 usage or unreadable, 3 inconclusive.
pub(super) fn compare(args: &CompareArgs) -> ExitCode {
    match try_compare(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_compare(args: &CompareArgs) -> anyhow::Result<u8> {
    let mut output = Output::open(&args.output, false)?;
    let (base, new) = (load_report(&args.base)?, load_report(&args.new)?);
    let options = Options { error_rate: args.error_rate, tolerance: args.tolerance };
    let found = compare_reports(&base, &new, &options);
    let names = [&args.base, &args.new].map(|path| path.display().to_string());
    let written = match args.format {
        CompareFormat::Text => text(&found, &names[0], &names[1], &mut output),
        CompareFormat::Markdown => markdown(&found, &names[0], &names[1], &mut output),
        CompareFormat::Json => json(&found, &mut output),
    };
    fail::written(written.and_then(|()| output.finish())).context("failed to write the comparison")?;
    Ok(code(&found, &args.fail_on))
}

fn code(found: &Comparison, fail_on: &[FailOn]) -> u8 {
    let any = |changes: &[Change]| found.rows.iter().any(|row| changes.contains(&row.change));
    let fails = |rule: &FailOn| match rule {
        FailOn::Higher => any(&[Change::Higher, Change::Mixed]),
        FailOn::Change => any(&[Change::Higher, Change::Lower, Change::Mixed]),
        FailOn::Added => !found.added.is_empty(),
        FailOn::Gone => !found.gone.is_empty(),
        FailOn::Kinds => found.rows.iter().any(|row| !row.kinds_added.is_empty()),
    };
    if fail_on.is_empty() {
        return 0;
    }
    if fail_on.iter().any(fails) {
        return 1;
    }
    let tests = fail_on.iter().any(|rule| matches!(rule, FailOn::Higher | FailOn::Change));
    let blind = found.rows.is_empty() || any(&[Change::Untold]);
    if !found.incomplete.is_empty() || (tests && blind) { 3 } else { 0 }
}
