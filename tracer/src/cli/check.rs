//! `fdtide check`.

use std::{io, process::ExitCode};

use super::{
    fail,
    gate::{self, Gate},
    gate_args::CheckArgs,
    load::load_report,
};

/// Runs the verb: 0 pass, 1 fail, 2 usage or unreadable, 3 inconclusive.
pub(super) fn check(args: &CheckArgs) -> ExitCode {
    match try_check(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_check(args: &CheckArgs) -> anyhow::Result<u8> {
    let gate = Gate::read(&args.gate, true)?.ok_or_else(|| anyhow::anyhow!("there are no budgets: add --budget"))?;
    let outputs = gate.open()?;
    let report = load_report(&args.file)?;
    let checks = gate.judge(&report);
    let code = gate::code(&checks, 0, 1, 3);
    outputs.write(&checks, Some(code), &mut io::stdout())?;
    Ok(code)
}
