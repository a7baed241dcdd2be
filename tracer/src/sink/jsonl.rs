//! Exec records one per line, each the same object as in the report's `execs`.

use std::io::{self, Write};

use crate::model::ExecRecord;

/// Writes one record as one line, in one write, and flushes it.
pub fn write_exec(record: &ExecRecord, out: &mut dyn Write) -> io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}
