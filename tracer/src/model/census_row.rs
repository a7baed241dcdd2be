//! Censuses as they stand in a report.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::event::{CensusReason, Name};
use crate::model::record::ThreadRow;

/// A walk of a whole table at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CensusRow {
    /// The table.
    pub table: u64,
    /// The process that it was taken in.
    pub pid: u32,
    /// Its name.
    pub comm: Name,
    /// Identity; with the table, never reused.
    pub census: u32,
    /// Why.
    pub reason: Cow<'static, str>,
    /// When the walk began.
    pub at_ns: u64,
    /// How long it took.
    pub took_ns: u64,
    /// Live descriptors.
    pub live: u32,
    /// Soft limit.
    pub soft_limit: u32,
    /// Every live descriptor has its row.
    pub complete: bool,
    /// Rows that found no room in the ring.
    pub lost: u64,
    /// Rows that came and were let go, for memory.
    pub forgotten: u64,
    /// Rows alike, most first.
    pub groups: Vec<CensusGroup>,
    /// One row per descriptor, in the order of their numbers.
    pub descriptors: Vec<DescriptorRow>,
}

/// Descriptors that have kind, place, socket and opener in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CensusGroup {
    /// How many.
    pub count: u64,
    /// Name of the kind.
    pub kind: Cow<'static, str>,
    /// The folder that they are in, or the name that they have; empty if they have none.
    pub under: Name,
    /// `under` is a folder.
    pub folder: bool,
    /// What the sockets are.
    pub socket: Option<SocketKind>,
    /// Who opened them.
    pub opener: OpenerRow,
    /// The function that opened them, where stacks were taken.
    pub function: Option<String>,
    /// Age of the one that was opened first, at the census.
    pub oldest_ns: Option<u64>,
    /// Age of the one that was opened last.
    pub newest_ns: Option<u64>,
}

/// Who opened a descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenerRow {
    /// `thread`, `before` (it was there at first sight) or `unknown`.
    pub by: Cow<'static, str>,
    /// The thread.
    pub thread: Option<ThreadRow>,
}

/// What sockets have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SocketKind {
    /// Address family, `inet`.
    pub family: String,
    /// Type, `stream`.
    #[serde(rename = "type")]
    pub socket_type: String,
    /// State.
    pub state: Cow<'static, str>,
}

/// One descriptor of a census.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DescriptorRow {
    /// Its number.
    pub number: u32,
    /// Name of its kind.
    pub kind: Cow<'static, str>,
    /// Path as far as it was read: complete if it starts with `/`.
    pub name: Name,
    /// `read`, `write`, `read-write` or `path`.
    pub access: Cow<'static, str>,
    /// `f_flags`, as open(2) takes them.
    pub file_flags: u32,
    /// Closed at exec.
    pub cloexec: bool,
    /// The file has been unlinked.
    pub unlinked: bool,
    /// Who opened it.
    pub opener: OpenerRow,
    /// Age at the census.
    pub age_ns: Option<u64>,
    /// Inode number.
    pub inode: u64,
    /// Device of the file system, `major:minor`.
    pub device: String,
    /// What is known of a socket.
    pub socket: Option<SocketRow>,
    /// The stack of its install (`stacks[].ids`).
    pub stack: Option<u32>,
}

/// A socket of a census.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketRow {
    /// Family, type, state.
    #[serde(flatten)]
    pub kind: SocketKind,
    /// Protocol number.
    pub protocol: u16,
    /// Own address and port.
    pub local: Option<String>,
    /// The peer's.
    pub remote: Option<String>,
}

/// User stacks with the same functions, and what was opened through them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackRow {
    /// The table.
    pub table: u64,
    /// The census whose descriptors are counted.
    pub census: u32,
    /// Its reason.
    pub reason: Cow<'static, str>,
    /// How many descriptors.
    pub count: u64,
    /// Name of their kind.
    pub kind: Cow<'static, str>,
    /// The function that opened them: the innermost that is not of a library.
    pub function: Option<String>,
    /// The stacks (`censuses[].descriptors[].stack`).
    pub ids: Vec<u32>,
    /// Frames, innermost first, of the first of these stacks.
    pub frames: Vec<FrameRow>,
}

/// One frame of a user stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRow {
    /// Function; `null` if not known.
    pub symbol: Option<String>,
    /// Program or library.
    pub module: Name,
    /// Its build id.
    pub build_id: String,
    /// Offset in its file; the address if the file is not known.
    pub offset: u64,
    /// Source file and line.
    pub source: Option<String>,
}

/// Why a census was taken, in a word.
pub fn reason(reason: CensusReason) -> &'static str {
    match reason {
        CensusReason::Crest => "crest",
        CensusReason::Failure => "failure",
        CensusReason::Asked => "asked",
        CensusReason::End => "end",
    }
}
