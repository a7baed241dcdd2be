//! Crests: rises of a table's live descriptors that fell again, with who made them and which execs they overlap.
//!
//! The kernel program finds them (`docs/crests.md`): a rise of at least [`MIN`] descriptors over the lowest level since the
//! last crest is one once it has fallen again by half its height. Heads of tables at an exec, at an exit and at the end of
//! the trace show the one that has not fallen yet.

use std::collections::VecDeque;

use serde::Serialize;

use crate::event::{Head, Kinds, Name, TableId};

/// Least height of a crest, descriptors: what the kernel program uses.
pub const MIN: u32 = 16;
/// Crests kept for one table: the highest.
const KEPT: usize = 5;
/// Execs named for one crest; all are counted.
const EXECS: usize = 32;
/// Spawn windows remembered for crests that end after them.
const WINDOWS: usize = 64;

/// What ended a crest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CrestEnd {
    /// It fell by half its height, or more.
    Fall,
    /// The process that used the table went through an exec.
    Exec,
    /// The last process that used the table ended, or left it.
    Exit,
    /// Nothing so far: it had not fallen at the last look.
    Open,
}

/// One rise and fall of a table's live descriptors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CrestRow {
    /// The table.
    pub table: u64,
    /// Process that the table was first seen with.
    pub pid: u32,
    /// Its name.
    pub comm: Name,
    /// Last moment at the floor: the rise begins.
    pub from_ns: u64,
    /// Moment of the greatest number.
    pub top_ns: u64,
    /// When it had fallen by half its height, or what else ended it; `null` if nothing did.
    pub end_ns: Option<u64>,
    /// From the floor to the top.
    pub rise_ns: u64,
    /// From the top to the end.
    pub fall_ns: Option<u64>,
    /// What ended it.
    pub ended_by: CrestEnd,
    /// Live descriptors that it rose from.
    pub floor: u32,
    /// Live descriptors at the top.
    pub high_water: u32,
    /// The difference.
    pub height: u32,
    /// Greatest descriptor number in use.
    pub highest_number: Option<u32>,
    /// Soft limit at the top.
    pub soft_limit: u32,
    /// Soft limit minus top, not below 0.
    pub headroom: u32,
    /// What the top was made of.
    pub kinds: Kinds,
    /// What threads held at most of what they had opened, most first.
    pub threads: Vec<CrestThread>,
    /// Execs whose spawn windows overlap it, in their order; the first ones, if they are many.
    pub execs: Vec<u64>,
    /// How many there are.
    pub execs_total: u64,
}

/// What one thread held at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CrestThread {
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub comm: Name,
    /// Most descriptors that it had opened and that were open at once.
    pub held: u32,
}
