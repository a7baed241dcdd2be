//! `fdtide report`.

use std::{io, path::Path, process::ExitCode};

use anyhow::Context as _;

use super::{
    args::{Format, ReportArgs},
    fail, results,
    sink_file::Output,
};
use crate::{record, replay, sink};

/// Runs the verb.
pub(super) fn report(args: &ReportArgs) -> ExitCode {
    match try_report(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_report(args: &ReportArgs) -> anyhow::Result<()> {
    let output = Output::open(&args.output, args.format == Format::Jsonl)?;
    let path = &args.recordings[0];
    if args.format == Format::Jsonl {
        return lines(path, output);
    }
    let report = record::load_report(path).with_context(|| path.display().to_string())?;
    results::write(report, Vec::new(), args.format, output, false)
}

/// Exec records one by one, as they came live.
fn lines(path: &Path, mut output: Output) -> anyhow::Result<()> {
    let mut result = Ok(());
    let (_, report) = replay::replay(path, true, |record| {
        if result.is_ok() {
            result = sink::jsonl::write_exec(&record, &mut output);
        }
    })
    .with_context(|| path.display().to_string())?;
    let deaf = matches!(&result, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
    fail::written(result).context("failed to write an exec record")?;
    results::write(report, Vec::new(), Format::Jsonl, output, deaf)
}
