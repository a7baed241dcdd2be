//! `fdtide export`.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use arrow_schema::ArrowError;

use super::{
    args::{ExportArgs, To},
    fail,
    reading::{self, Rows},
    redacted, report,
    sink_file::Output,
};
use crate::{
    event::decode,
    model::Report,
    record::{Input, Start},
    sink::{self, perfetto, rows},
};

/// Runs the verb.
pub(super) fn export(args: &ExportArgs) -> ExitCode {
    match try_export(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_export(args: &ExportArgs) -> anyhow::Result<()> {
    let binary = matches!(args.to, To::Parquet | To::Perfetto | To::Html);
    if binary && args.output.as_os_str() == "-" && io::stdout().is_terminal() {
        anyhow::bail!("this format is not for a terminal: name a file with -o");
    }
    let mut output = Output::open(&args.output, false)?;
    let recordings = redacted::of(std::slice::from_ref(&args.recording), args.redact_paths)?;
    let recording = recordings.paths.first().map_or(args.recording.as_path(), PathBuf::as_path);
    let (start, report) = reading::replay(recording, Rows::Last, None).with_context(|| name(args))?;
    // What can't be told belongs to whoever asked, but not into the file.
    let _ = sink::text::write_coverage(&report, &mut io::stderr());
    let result = match args.to {
        To::Hdr => sink::hdr::write(&report, &mut output),
        To::Perfetto => perfetto(args, recording, &report, &mut output)?,
        To::Html => return report::page(recording, output),
        To::Parquet | To::Jsonl | To::Csv => table(args, recording, &start, report, &mut output)?,
    };
    fail::written(result.and_then(|()| output.finish())).context("failed to write the export")
}

fn name(args: &ExportArgs) -> String {
    args.recording.display().to_string()
}

fn perfetto(
    args: &ExportArgs,
    recording: &Path,
    report: &Report,
    output: &mut Output,
) -> anyhow::Result<io::Result<()>> {
    let mut trace = perfetto::Trace::default();
    reading::open(recording, Rows::Last).with_context(|| name(args))?.inputs(|input| match input {
        Input::Record(bytes) | Input::Look(bytes) => {
            if let Ok(event) = decode(bytes) {
                trace.event(&event);
            }
        }
        Input::Note(note) => trace.note(note.at_ns, &note.text),
        _ => {}
    });
    Ok(trace.write(report, output))
}

fn table(
    args: &ExportArgs,
    recording: &Path,
    start: &Start,
    report: Report,
    output: &mut Output,
) -> anyhow::Result<io::Result<()>> {
    let rows = Rows::Streamed { to_stdout: args.output.as_os_str() == "-" };
    let mut reader = reading::open(recording, rows).with_context(|| name(args))?;
    let rows = rows::Rows::new(&start.host.name, report);
    let written = (|| {
        let mut table: Box<dyn rows::Table + '_> = match args.to {
            To::Csv => Box::new(rows::Csv::new(output, &rows::Rows::schema(reader.schema()))?),
            To::Jsonl => Box::new(rows::Jsonl::new(output)),
            _ => Box::new(rows::Parquet::new(output, rows::Rows::schema(reader.schema()))?),
        };
        while let Some(batch) = reader.next_batch() {
            table.write(&rows.of(&batch)?)?;
        }
        table.finish()
    })();
    Ok(written.map_err(|error| match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }))
}
