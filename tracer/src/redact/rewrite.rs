//! A recording without its names, for those that were made with them.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use super::Redactor;
use crate::{
    event::decode,
    record::{End, Input, Reader, Writer},
};

/// Why a recording could not be rewritten.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] crate::record::ReadError),
    /// The other one can't be written.
    #[error("failed to write the recording without its names")]
    Write(#[source] io::Error),
}

/// Writes a recording again without its names. One that breaks off, breaks off there too.
///
/// # Errors
///
/// When it can't be read, or the other one can't be written.
pub fn rewrite(path: &Path, out: impl Write, redactor: &Redactor) -> Result<(), RewriteError> {
    rewrite_from(Reader::open(path)?, out, redactor).map_err(RewriteError::Write)
}

pub(super) fn rewrite_from<R: Read>(mut reader: Reader<R>, out: impl Write, redactor: &Redactor) -> io::Result<()> {
    let mut writer = Writer::new(out, &redactor.start(reader.start().clone()))?;
    let mut result = Ok(());
    let end = reader.inputs(|input| {
        if result.is_ok() {
            result = redactor.input(input, |input| {
                let event = match &input {
                    Input::Record(bytes) | Input::Look(bytes) => decode(bytes).ok(),
                    _ => None,
                };
                writer.push(&input, event.as_ref())
            });
        }
    });
    result?;
    if end == End::Whole { writer.finish().map(drop) } else { writer.flush() }
}

impl Redactor {
    /// Hands on an input without its names.
    pub fn input<T>(&self, input: Input<'_>, take: impl FnOnce(Input<'_>) -> T) -> T {
        match input {
            Input::Record(bytes) => take(Input::Record(&self.raw(bytes))),
            Input::Look(bytes) => take(Input::Look(&self.raw(bytes))),
            Input::Stack(stack) => take(Input::Stack(Box::new(self.stack(*stack)))),
            other => take(other),
        }
    }
}
