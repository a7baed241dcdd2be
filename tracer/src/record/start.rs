//! What stands at the start of every recording.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{Anchor, Options, Plan};

/// Version of the format of recordings. A reader takes this one and all before.
pub const FORMAT: u32 = 1;
/// Key of the schema's metadata that holds the start, as JSON.
pub(super) const KEY: &str = "fdtide";

/// Where, when, with what and how a trace was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Start {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// [`super::ABI`] of the writer: what the bytes in `raw` mean.
    pub abi: u32,
    /// Bytes of each kind of record, by its number.
    pub layout: BTreeMap<u32, u32>,
    /// Version of fdtide.
    pub version: String,
    /// The machine.
    pub host: Host,
    /// The start of the trace, on both clocks.
    pub anchor: Anchor,
    /// How the kernel was hooked.
    pub plan: Plan,
    /// Where the members of kernel structures were found, byte offsets.
    pub offsets: BTreeMap<String, u32>,
    /// What was run; empty if fdtide attached.
    pub command: Vec<String>,
    /// How the events are to be looked at.
    pub options: Options,
    /// What is in it.
    pub depth: Depth,
    /// It is not the beginning of the trace.
    pub continued: Option<Continued>,
}

/// How much is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Execs, crests, failures, censuses, the lives of processes.
    #[default]
    Records,
    /// Every install and close too.
    Events,
}

/// The machine of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Identity of its boot.
    pub boot_id: String,
    /// Its architecture.
    pub arch: String,
}

/// The part of a trace that a recording begins with, where that is not the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continued {
    /// Boot time of the start of the trace, nanoseconds.
    pub began_ns: u64,
    /// Which segment, from 1.
    pub segment: u64,
}
