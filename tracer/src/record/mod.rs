//! Recordings: everything that went into a trace, in one file, to be looked at again later.
//!
//! A recording is one append-only Arrow IPC stream: schema with the [`Start`] as metadata, then batches of rows, one row for
//! each [`Input`]. Its columns are for people and their tools; `raw` and `payload` hold what replaying needs. The format is
//! described in `docs/recording.md`.

mod columns;
mod compat;
mod error;
mod file;
mod flight;
mod frame;
mod input;
mod reader;
mod row;
mod shape;
mod start;
mod trigger;
mod writer;

#[cfg(test)]
mod tests;

pub use columns::{PAYLOAD, RAW, TYPE};
pub use compat::ABI;
pub use error::ReadError;
pub use file::RecordFile;
pub use flight::{Caps, Flight, Keep, Shared};
pub use input::{Closing, Counted, Input, Note, OomKills, Tap};
pub use reader::{End, Reader};
pub use start::{Continued, Depth, FORMAT, Host, Start};
pub use trigger::Trigger;
pub use writer::Writer;

pub use crate::replay::load_report;
