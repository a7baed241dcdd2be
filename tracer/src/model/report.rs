//! The report: what every output says, in plain types.
//!
//! Field names are the JSON keys; `docs/fields.md` (made from `sink::fields`) says what each one means, with its unit.
//! Reports are read back as well, also those of earlier versions: a key that is added is an `Option` or has `#[serde(default)]`.
//! Times ending in `_ns` are boot time or durations in nanoseconds, counts are descriptors unless they say otherwise.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use crate::event::{Exit, Kind, Kinds, Name};
use crate::hist::Quantiles;
pub use crate::model::ages::AgeRow;
pub use crate::model::census_row::{
    CensusGroup, CensusRow, DescriptorRow, FrameRow, OpenerRow, SocketKind, SocketRow, StackRow,
};
pub use crate::model::crest::{CrestEnd, CrestRow, CrestThread};
pub use crate::model::failure::FailureRow;
pub use crate::model::found::*;
pub use crate::model::listener::LostListener;
pub use crate::model::marks::MarkRow;
pub use crate::model::record::*;

/// Identity of the JSON format.
pub const SCHEMA: &str = "fdtide.report/1";

/// Everything there is to say about one trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: Cow<'static, str>,
    /// Start of the trace, wall clock, RFC 3339 in UTC.
    pub started_at: String,
    /// The same moment on both clocks.
    pub anchor: Anchor,
    /// From the anchor to the end.
    pub duration_ns: u64,
    /// What was run; empty if fdtide attached.
    pub command: Vec<String>,
    /// How the run command ended.
    pub root: Option<RootEnd>,
    /// How it was traced.
    pub plan: Plan,
    /// What did not come through.
    pub loss: Loss,
    /// What the report can't tell, in sentences.
    pub coverage: Vec<CoverageNote>,
    /// What the tracer itself used.
    pub agent: Option<Agent>,
    /// Every table of the tree, in the order of first sight.
    pub tables: Vec<TableRow>,
    /// Every exec, in the order of arrival.
    pub execs: Vec<ExecRecord>,
    /// High-water per exec, one row per spawner and program.
    pub histograms: Vec<HistogramRow>,
    /// What each spawner's execs come to, highest first.
    pub spawners: Vec<SpawnerSummary>,
    /// Settled levels over the windows of each table that spawned often enough to tell.
    pub growth: Vec<Growth>,
    /// Processes that outlived the process that spawned them, or the last root.
    pub orphans: Vec<Orphan>,
    /// Ends of the run command, or of the processes that were attached to.
    #[serde(default)]
    pub roots: Vec<RootRow>,
    /// Containers that traced processes were in, by id.
    #[serde(default)]
    pub containers: Vec<ContainerRow>,
    /// The highest crests of each table, the highest first.
    #[serde(default)]
    pub crests: Vec<CrestRow>,
    /// How long descriptors were open, where every install and close was asked for.
    #[serde(default)]
    pub ages: Vec<AgeRow>,
    /// Listeners that went with a failed accept.
    #[serde(default)]
    pub lost_listeners: Vec<LostListener>,
    /// Walks of whole tables, by time.
    #[serde(default)]
    pub censuses: Vec<CensusRow>,
    /// User stacks of what censuses found.
    #[serde(default)]
    pub stacks: Vec<StackRow>,
    /// What people noted, by time.
    #[serde(default)]
    pub marks: Vec<MarkRow>,
}

/// One moment on the boot clock and the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Boot time, nanoseconds.
    pub boot_ns: u64,
    /// Nanoseconds since 1970-01-01 UTC.
    pub wall_unix_ns: u64,
}

/// How the run command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootEnd {
    /// Its process id.
    pub pid: u32,
    /// How it ended; null if it runs on.
    pub exit: Option<Exit>,
}

/// How the kernel was hooked, and what was refused before that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// The backend chosen.
    pub backend: String,
    /// Its hooks.
    pub hooks: Vec<String>,
    /// Backends that came first and could not be used; under the chosen one's name, hooks that it goes without.
    pub refused: Vec<Refused>,
    /// Kernel release.
    pub kernel: String,
    /// Version of fdtide.
    pub version: String,
    /// What the self-test in a scratch child gave.
    pub self_test: Option<String>,
    /// What the backend costs others on this machine.
    pub cost: Option<String>,
}

/// A backend that could not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Which.
    pub backend: String,
    /// Why.
    pub reason: String,
}

/// What did not come through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Records that found no room in the ring.
    pub lost: u64,
    /// Runs of a hook that did not happen.
    pub missed: u64,
    /// Records that this version can't read.
    pub skipped: u64,
    /// When runs were missed, as far as that is known.
    pub gaps: Vec<Gap>,
    /// The kernel program's own counters.
    pub counters: Vec<LossCounter>,
}

/// A time in which runs of a hook were missed. Marks set in it are upper bounds; after it every table was looked at again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Boot time of the last moment at which nothing was missing.
    pub from_ns: u64,
    /// Boot time at which every table was looked at again.
    pub to_ns: u64,
    /// Runs missed.
    pub missed: u64,
}

/// A time in which a flight recorder wrote nothing, because it could not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Boot time of the last row before it.
    pub from_ns: u64,
    /// Boot time of the first row after it.
    pub to_ns: u64,
    /// Why.
    pub why: String,
}

/// One counter of the kernel program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossCounter {
    /// Its name.
    pub name: String,
    /// How often it happened.
    pub value: u64,
    /// What it means.
    pub help: String,
}

/// Something that the report can't tell, or only in part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageNote {
    /// For programs.
    pub code: String,
    /// For people: what happened and what to do.
    pub text: String,
}

/// What the tracer itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// Its process id.
    pub pid: u32,
    /// Its own descriptors at the end.
    pub descriptors: u32,
    /// Its resident memory at the end, bytes.
    pub rss_bytes: u64,
    /// Its processor time, milliseconds.
    pub cpu_ms: u64,
}

/// Where a table is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableState {
    /// In use at the end of the trace.
    Alive,
    /// Gone before it.
    Ended,
    /// Its end was not seen, or it could not be looked at any more.
    Unseen,
    /// It is traced no longer: its process was removed from the targets, and runs on.
    Removed,
}

/// One descriptor table, over the time that it was seen. `null` where no full record of it came through.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableRow {
    /// Identity within this trace.
    pub table: u64,
    /// Processes that used it, first one first.
    pub pids: Vec<u32>,
    /// The same in their own PID namespaces, in the same order.
    #[serde(default)]
    pub ns_pids: Vec<u32>,
    /// Id of the container of the first of them.
    #[serde(default)]
    pub container: Option<Name>,
    /// Last name of the process that it was first seen with.
    pub comm: Name,
    /// Alive, ended or unseen.
    pub state: TableState,
    /// Whether it existed before it was first seen.
    pub seeded: bool,
    /// Whether processes shared it.
    pub shared: bool,
    /// First sight.
    pub first_ns: u64,
    /// Its end.
    pub end_ns: Option<u64>,
    /// Live descriptors at the end of the trace; 0 if the table has gone.
    pub live: Option<u32>,
    /// Live descriptors at the last look, by kind: at the table's end, or at the end of the trace.
    pub last_kinds: Option<Kinds>,
    /// Greatest number of live descriptors.
    pub high_water: Option<u32>,
    /// When that was reached.
    pub high_water_ns: Option<u64>,
    /// What it was made of.
    pub high_water_kinds: Option<Kinds>,
    /// Greatest descriptor number that was in use.
    pub highest_number: Option<u32>,
    /// Level that it came to rest at.
    pub settled: Option<u32>,
    /// How that is known.
    pub settled_from: Option<SettledFrom>,
    /// Soft limit at the high-water mark.
    pub soft_limit: Option<u32>,
    /// Soft limit at the last look.
    pub soft_limit_last: Option<u32>,
    /// Soft limit minus high-water mark, not below 0.
    pub headroom: Option<u32>,
    /// Descriptors that appeared.
    pub installs: Option<u64>,
    /// Descriptors that went.
    pub closes: Option<u64>,
    /// Close attempts on numbers that were not in use.
    pub bad_closes: Option<u64>,
    /// Crests, those that ended with the table included.
    pub crests: Option<u64>,
    /// Descriptors that could not be made.
    pub failures: Vec<FailureRow>,
}

/// High-water per exec, for one spawner and one program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistogramRow {
    /// Name of the spawner.
    pub spawner: Name,
    /// Base name of the program.
    pub program: Name,
    /// The spawner's high-water in its spawn windows.
    #[serde(flatten)]
    pub window: Quantiles,
    /// The same values as a histogram: HdrHistogram V2, compressed, base64.
    pub hdr: String,
    /// The child's high-water between fork and exec.
    pub before_exec: Option<Quantiles>,
}

/// What the execs of all spawners of one name come to. The run command's own first exec does not count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpawnerSummary {
    /// Name of the spawners.
    pub comm: Name,
    /// Their processes.
    pub pids: Vec<u32>,
    /// Their tables, as far as known.
    pub tables: Vec<u64>,
    /// How many execs.
    pub execs: u64,
    /// What was execed, most often first.
    pub programs: Vec<ProgramCount>,
    /// High-water of the spawn windows.
    pub spawn_window: Option<Quantiles>,
    /// High-water of the children between fork and exec.
    pub before_exec: Option<Quantiles>,
    /// High-water of the images.
    pub image: Option<Quantiles>,
}

/// How often a program was execed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCount {
    /// Base name of the program.
    pub program: Name,
    /// How many execs.
    pub count: u64,
}
