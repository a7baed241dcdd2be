//! A report to where it is wanted: what a live trace and a recording share.

use std::{io, path::Path};

use anyhow::Context as _;

use super::{args::Format, fail, sink_file::Output};
use crate::{
    model::{ExecRecord, Report},
    sink::{self, html::Timeline},
};

/// A page goes to a file: a terminal can't show it, and stdout is also the traced command's.
pub(super) fn check(format: Format, output: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        format != Format::Html || output.as_os_str() != "-",
        "`--format html` writes a page: name a file for it with `-o FILE`"
    );
    Ok(())
}

/// Writes what is left to write: the report, or the exec records that did not stream by before it. The report is without its
/// execs then, if they were written.
pub(super) fn write(
    report: &mut Report,
    mut rest: Vec<ExecRecord>,
    format: Format,
    mut output: Output,
    deaf: bool,
) -> anyhow::Result<()> {
    let result = match format {
        Format::Text => sink::text::write(report, &mut output),
        Format::Html => sink::html::write(report, &Timeline::default(), &mut output),
        Format::Json => sink::json::write(report, &mut output),
        Format::Jsonl => {
            rest.append(&mut report.execs);
            // Lines have no tables, so that none is missing.
            report.coverage.retain(|note| note.code != "tables_let_go");
            // What was not seen belongs to the reader of the lines too, but not into them.
            let _ = sink::text::write_coverage(report, &mut io::stderr());
            if deaf { Ok(()) } else { rest.iter().try_for_each(|record| sink::jsonl::write_exec(record, &mut output)) }
        }
    };
    fail::written(result.and_then(|()| output.finish())).context("failed to write the results")
}
