//! `fdtide report`.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;

use super::{
    args::{Format, ReportArgs},
    fail,
    reading::{self, Rows},
    redacted, results,
    sink_file::Output,
};
use crate::{
    event::{Event, decode},
    model::merge::Merged,
    record::Input,
    sink::{self, html::Timeline},
};

/// Runs the verb.
pub(super) fn report(args: &ReportArgs) -> ExitCode {
    match try_report(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_report(args: &ReportArgs) -> anyhow::Result<()> {
    results::check(args.format, &args.output)?;
    let output = Output::open(&args.output, args.format == Format::Jsonl)?;
    let recordings = redacted::of(&args.recordings, args.redact_paths)?;
    match (recordings.paths.as_slice(), args.format) {
        (paths, Format::Jsonl) => lines(paths, output, Rows::Streamed { to_stdout: args.output.as_os_str() == "-" }),
        ([path], Format::Html) => page(path, output),
        (_, Format::Html) => anyhow::bail!("a page is of one recording: name one, or use `--format text` or `json`"),
        ([path], format) => {
            let (_, mut report) =
                reading::replay(path, Rows::Last, None).with_context(|| path.display().to_string())?;
            results::write(&mut report, Vec::new(), format, output, false)
        }
        (paths, format) => together(paths, format, output),
    }
}

/// A page, with every change drawn if the recording has them.
pub(super) fn page(path: &Path, mut output: Output) -> anyhow::Result<()> {
    let context = || path.display().to_string();
    let (_, report) = reading::replay(path, Rows::Last, None).with_context(context)?;
    let mut timeline = Timeline::default();
    reading::open(path, Rows::Last).with_context(context)?.inputs(|input| {
        if let Input::Record(bytes) = input
            && let Ok(Event::Slot(slot)) = decode(bytes)
        {
            timeline.slot(&slot);
        }
    });
    let written = sink::html::write(&report, &timeline, &mut output);
    fail::written(written.and_then(|()| output.finish())).context("failed to write the page")
}

/// Exec records one by one, as they came live; of several recordings one after the other.
fn lines(paths: &[PathBuf], mut output: Output, rows: Rows) -> anyhow::Result<()> {
    let mut result = Ok(());
    for path in paths {
        let mut one = |record: &_| {
            if result.is_ok() {
                result = sink::jsonl::write_exec(record, &mut output);
            }
        };
        let (_, report) = reading::replay(path, rows, Some(&mut |record| one(&record)))
            .with_context(|| path.display().to_string())?;
        report.execs.iter().for_each(one);
        let _ = sink::text::write_coverage(&report, &mut io::stderr());
    }
    fail::written(result.and_then(|()| output.finish())).context("failed to write the results")
}

fn together(paths: &[PathBuf], format: Format, mut output: Output) -> anyhow::Result<()> {
    let one = |path: &PathBuf| {
        let (start, report) = reading::replay(path, Rows::Last, None).with_context(|| path.display().to_string())?;
        Ok((start.host.name, name(path), report))
    };
    let merged = Merged::of(paths.iter().map(one).collect::<anyhow::Result<Vec<_>>>()?);
    let result = match format {
        Format::Json => sink::json::write(&merged, &mut output),
        Format::Text | Format::Jsonl | Format::Html => sink::text::hosts::write(&merged, &mut output),
    };
    fail::written(result.and_then(|()| output.finish())).context("failed to write the results")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
