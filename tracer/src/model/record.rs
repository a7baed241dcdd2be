//! The exec record: one row of a report per exec.

use serde::{Deserialize, Serialize};

use crate::event::{Exit, Kinds, Name};
use crate::model::failure::FailureRow;

/// Where a settled level comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettledFrom {
    /// `live` was still for the settle time at this level.
    Still,
    /// It never was: the least `live` of the window, which is what stays when transients have gone.
    Floor,
    /// It never was: `live` at the last look.
    Last,
}

/// Who spawned an exec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnerRow {
    /// Its process; 0 if that is not known.
    pub pid: u32,
    /// Its thread that forked.
    pub tid: u32,
    /// Name of the process.
    pub comm: Name,
    /// Name of the thread.
    pub thread: Name,
}

/// One exec: who spawned it, and the three lives around it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExecRecord {
    /// From 1, in the order of arrival; 0 is the run command's own first exec.
    pub seq: u64,
    /// Boot time.
    pub at_ns: u64,
    /// Who forked the process; itself if it has execed before.
    pub spawner: SpawnerRow,
    /// The process.
    pub pid: u32,
    /// The process in its own namespace.
    pub ns_pid: u32,
    /// Base name of the program.
    pub program: Name,
    /// Path handed to exec.
    pub path: Name,
    /// Name of the process afterwards.
    pub comm: Name,
    /// It has execed before, or was there at attach.
    pub again: bool,
    /// Id of the process's container.
    #[serde(default)]
    pub container: Option<Name>,
    /// Table that the image starts with.
    pub table: Option<u64>,
    /// The last mark before it, by whoever uses fdtide.
    #[serde(default)]
    pub mark: Option<Name>,
    /// The spawner's table, from its previous exec to this one.
    pub spawn_window: SpawnWindow,
    /// The process between fork and exec; for one that execs again, its image before.
    pub before_exec: BeforeExec,
    /// Descriptors that the image started with.
    pub inherited: u32,
    /// The same by kind.
    pub inherited_kinds: Kinds,
    /// The image's life.
    pub image: Image,
}

/// The spawner's table over a spawn window. All `null` if it is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpawnWindow {
    /// The table.
    pub table: Option<u64>,
    /// Start of the window.
    pub start_ns: Option<u64>,
    /// Greatest number of live descriptors.
    pub high_water: Option<u32>,
    /// When that was reached.
    pub high_water_ns: Option<u64>,
    /// Most that one thread held at once of what it had opened.
    pub thread_high_water: Option<u32>,
    /// That thread.
    pub thread: Option<ThreadRow>,
    /// Least number of live descriptors.
    pub floor: Option<u32>,
    /// Level that it came to rest at.
    pub settled: Option<u32>,
    /// How that is known.
    pub settled_from: Option<SettledFrom>,
    /// What the high-water mark was made of.
    pub kinds: Option<Kinds>,
    /// Live descriptors at the exec, the end of the window.
    pub at_exec: Option<u32>,
    /// What they were.
    pub at_exec_kinds: Option<Kinds>,
    /// Greatest descriptor number in use.
    pub highest_number: Option<u32>,
    /// Descriptors that appeared.
    pub installs: Option<u64>,
    /// Descriptors that went.
    pub closes: Option<u64>,
    /// Soft limit at the high-water mark.
    pub soft_limit: Option<u32>,
    /// Soft limit minus high-water mark, not below 0.
    pub headroom: Option<u32>,
    /// Descriptors that could not be made.
    pub failures: Option<Vec<FailureRow>>,
    /// Other execs from the same table between this child's fork and exec; their windows overlap this one.
    pub overlapping: Option<u32>,
    /// The table ended before the exec: so does the window.
    pub spawner_ended: Option<bool>,
}

/// A thread that held descriptors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Its id.
    pub tid: u32,
    /// Its name.
    pub comm: Name,
}

/// The process's own table before the exec.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BeforeExec {
    /// Greatest number of live descriptors.
    pub high_water: Option<u32>,
    /// What it was made of.
    pub kinds: Option<Kinds>,
    /// Live descriptors just before the exec closed any.
    pub live: Option<u32>,
    /// Soft limit at the high-water mark.
    pub soft_limit: Option<u32>,
    /// Soft limit minus high-water mark, not below 0.
    pub headroom: Option<u32>,
    /// Descriptors that could not be made.
    pub failures: Option<Vec<FailureRow>>,
    /// The table was shared: the figures are those of all its users.
    pub shared: Option<bool>,
}

/// How an image's record ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// The process went through another exec.
    Exec,
    /// The process ended.
    Exit,
    /// It was running at the end of the trace.
    Running,
    /// Its end did not come through.
    Unseen,
    /// Its process was removed from the targets, and ran on.
    Removed,
}

/// The life of one program image. `null` where its end did not come through.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Image {
    /// Greatest number of live descriptors.
    pub high_water: Option<u32>,
    /// What it was made of.
    pub high_water_kinds: Option<Kinds>,
    /// Greatest descriptor number in use.
    pub highest_number: Option<u32>,
    /// Level that it came to rest at.
    pub settled: Option<u32>,
    /// How that is known.
    pub settled_from: Option<SettledFrom>,
    /// Descriptors that appeared.
    pub installs: Option<u64>,
    /// Descriptors that went, without those that the exec itself closed.
    pub closes: Option<u64>,
    /// Soft limit at the high-water mark.
    pub soft_limit: Option<u32>,
    /// Soft limit minus high-water mark, not below 0.
    pub headroom: Option<u32>,
    /// Descriptors that could not be made.
    pub failures: Vec<FailureRow>,
    /// Live descriptors when the process ended, before its table was torn down.
    pub at_exit: Option<u32>,
    /// What they were.
    pub at_exit_kinds: Option<Kinds>,
    /// How the process ended.
    pub exit: Option<Exit>,
    /// What ended the image.
    pub ended_by: EndedBy,
    /// When.
    pub end_ns: Option<u64>,
}
