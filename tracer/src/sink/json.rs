//! The whole report as one JSON document, and back.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::model::{Report, report::SCHEMA};

/// Writes a report, or several, indented, with a newline at its end. `docs/fields.md` lists the paths.
pub fn write(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, report)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Why a document is no report.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It is no JSON.
    #[error("no JSON")]
    Json(#[source] serde_json::Error),
    /// It is of another schema, or says none.
    #[error("{}, not of schema `{SCHEMA}`", schema.as_ref().map_or_else(|| "of no schema".to_owned(), |s| format!("of schema `{s}`")))]
    Schema {
        /// What it says.
        schema: Option<String>,
    },
    /// It says that it is a report, but is not whole.
    #[error("no whole report")]
    Shape(#[source] serde_json::Error),
}

/// Reads what [`write`] wrote. Keys that this version does not know are passed over.
pub fn read(bytes: &[u8]) -> Result<Report, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let head: Head = match serde_json::from_slice(bytes) {
        Ok(head) => head,
        // Any JSON but an object says no schema.
        Err(error) if error.is_data() => Head { schema: None },
        Err(error) => return Err(ReadError::Json(error)),
    };
    if head.schema.as_deref() != Some(SCHEMA) {
        return Err(ReadError::Schema { schema: head.schema.map(|schema| schema.escape_debug().to_string()) });
    }
    serde_json::from_slice(bytes).map_err(ReadError::Shape)
}
