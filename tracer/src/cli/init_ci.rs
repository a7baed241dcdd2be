//! `fdtide init-ci`.

use std::{io::Write as _, path::Path, process::ExitCode};

use anyhow::{Context as _, ensure};

use super::{fail, gate_args::InitCiArgs, load::load_report, sink_file::Output};
use crate::gate::init::starting_config;

/// Runs the verb.
pub(super) fn init_ci(args: &InitCiArgs) -> ExitCode {
    match try_init_ci(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_init_ci(args: &InitCiArgs) -> anyhow::Result<()> {
    let place = args.output.as_path();
    let stdout = place == Path::new("-");
    ensure!(
        stdout || args.force || place.symlink_metadata().is_err(),
        "`{}` is there already: --force overwrites it, `-o FILE` names another",
        place.display()
    );
    let report = load_report(&args.report)?;
    let mut output = Output::open(place, false)?;
    let text = starting_config(&report, &args.report.display().to_string());
    let written = output.write_all(text.as_bytes()).and_then(|()| output.finish());
    fail::written(written).context("failed to write the budgets")?;
    if !stdout {
        fail::say(&format!("wrote `{}`: read it, then `fdtide check REPORT` or `fdtide run --gate`", place.display()));
    }
    Ok(())
}
