//! Inputs to a stream of batches.

use std::io::{self, Write};

use arrow_ipc::{
    CompressionType,
    writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions},
};
use arrow_schema::ArrowError;

use super::{
    Input, Start,
    columns::{Columns, Row},
    compat, frame,
    start::FORMAT,
};
use crate::event::Event;
use crate::model::Anchor;

/// A batch is written once its first row is this old, so that a kill loses at most a second.
const AGE_NS: u64 = 700_000_000;
/// Or once it has so many rows,
const ROWS: usize = 16 << 10;
/// or so many bytes of the kernel's.
const BYTES: usize = 8 << 20;

/// Writes one recording.
pub struct Writer<W> {
    out: W,
    anchor: Anchor,
    columns: Columns,
    rows: usize,
    bytes: usize,
    first_ns: u64,
    written: u64,
    tracker: DictionaryTracker,
    options: IpcWriteOptions,
    compression: IpcWriteContext,
}

impl<W: Write> Writer<W> {
    /// Begins the stream. What only the format knows is filled into the start here.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn new(out: W, start: &Start) -> io::Result<Writer<W>> {
        Writer::begin(out, start, true)
    }

    /// Goes on with a stream that began with this start, and whose end was not written.
    ///
    /// # Errors
    ///
    /// When the start can't be encoded.
    pub fn resume(out: W, start: &Start) -> io::Result<Writer<W>> {
        Writer::begin(out, start, false)
    }

    fn begin(mut out: W, start: &Start, new: bool) -> io::Result<Writer<W>> {
        let start = Start { format: FORMAT, abi: compat::ABI, layout: compat::layout(), ..start.clone() };
        let columns = Columns::new(serde_json::to_string(&start)?);
        let options = IpcWriteOptions::try_new(8, false, arrow_ipc::MetadataVersion::V5)
            .and_then(|options| options.try_with_compression(Some(CompressionType::ZSTD)))
            .map_err(failed)?;
        let mut tracker = DictionaryTracker::new(false);
        let schema = columns.schema();
        let message =
            IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options);
        let written = if new { frame::write(&mut out, &message)? as u64 } else { 0 };
        Ok(Writer {
            out,
            anchor: start.anchor,
            columns,
            rows: 0,
            bytes: 0,
            first_ns: 0,
            written,
            tracker,
            options,
            compression: IpcWriteContext::default(),
        })
    }

    /// Adds a row; writes a batch if it is time to.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn push(&mut self, input: &Input<'_>, event: Option<&Event>) -> io::Result<()> {
        let row = Row::of(input, event, self.anchor);
        let at_ns = row.boot_ns;
        self.bytes += row.raw.map_or(0, <[u8]>::len) + row.payload.as_ref().map_or(0, |payload| payload.len());
        self.columns.push(&row);
        self.rows += 1;
        if self.rows == 1 {
            self.first_ns = at_ns.unwrap_or(self.first_ns);
        }
        if self.rows >= ROWS || self.bytes >= BYTES {
            return self.flush();
        }
        at_ns.map_or(Ok(()), |at_ns| self.tick(at_ns))
    }

    /// Boot time has come to this.
    ///
    /// # Errors
    ///
    /// When a batch that is due can't be written.
    pub fn tick(&mut self, now_ns: u64) -> io::Result<()> {
        if self.rows > 0 && now_ns.saturating_sub(self.first_ns) >= AGE_NS { self.flush() } else { Ok(()) }
    }

    /// Writes what waits, as a batch that can be read.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        (self.rows, self.bytes) = (0, 0);
        let batch = self.columns.take().map_err(failed)?;
        let (dictionaries, rows) = IpcDataGenerator::default()
            .encode(&batch, &mut self.tracker, &self.options, &mut self.compression)
            .map_err(failed)?;
        for message in dictionaries.iter().chain([&rows]) {
            self.written += frame::write(&mut self.out, message)? as u64;
        }
        self.out.flush()
    }

    /// Bytes written so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes what waits and ends the stream.
    ///
    /// # Errors
    ///
    /// When it can't be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        frame::write_end(&mut self.out)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn failed(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}
