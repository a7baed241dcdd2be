//! The whole report as one JSON document.

use std::io::{self, Write};

use serde::Serialize;

/// Writes a report, or several, indented, with a newline at its end. `docs/fields.md` lists the paths.
pub fn write(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, report)?;
    out.write_all(b"\n")?;
    out.flush()
}
