//! Reports from files: the one place that knows which kinds of file hold one.

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use anyhow::{Context as _, anyhow};

use crate::{model::Report, record, sink};

/// Reads the report in a file, JSON or a recording; `-` is stdin, and JSON.
///
/// # Errors
///
/// When it can't be read, or holds no report.
pub(super) fn load_report(path: &Path) -> anyhow::Result<Report> {
    let context = || format!("failed to read a report from `{}`", path.display());
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let bytes = bytes.with_context(context)?;
    let report = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => sink::json::read(&bytes).map_err(|error| match is_lines(&bytes) {
            true => anyhow!("exec records of `--format jsonl`: a report is written with `--format json`"),
            false => error.into(),
        }),
        // The marker that a message of an Arrow stream begins with.
        Some(0xff) => record::load_report(path).map_err(Into::into),
        Some(_) => Err(anyhow!("it is no JSON, and no recording")),
        None => Err(anyhow!("it is empty: the run that was to write it may not have ended")),
    };
    report.with_context(context)
}

/// Whether a file begins with a line that is an exec record.
fn is_lines(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice::<serde_json::Value>(line).is_ok_and(|value| value.get("spawn_window").is_some())
}
