//! Rows of a report beside tables and execs: growth, orphans, roots.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::event::{Exit, Kinds, Name};
use crate::model::record::ThreadRow;

/// What a window of a growth row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrowthPer {
    /// A spawn window: from one exec to the next; its level is the settled one.
    Exec,
    /// From one child that never execs to the next; its level is the one at the fork.
    Fork,
}

/// Levels of one table over its windows, first to last; from three windows on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// The table.
    pub table: u64,
    /// The process that spawned last from it.
    pub pid: u32,
    /// Its name.
    pub comm: Name,
    /// What a window is.
    pub per: GrowthPer,
    /// How many windows.
    pub windows: u64,
    /// Level of the first window.
    pub first: u32,
    /// Level of the last.
    pub last: u32,
    /// Windows whose level is above that of the one before; at most `windows - 1`.
    pub grew: u64,
    /// (last − first) / (windows − 1), descriptors per exec.
    pub per_exec: f64,
    /// Median slope of all pairs of windows, descriptors per exec.
    pub slope: f64,
    /// Lower end of its 95 % interval.
    pub slope_low: f64,
    /// Upper end.
    pub slope_high: f64,
    /// Kinds that are not as many at the last window's end as at the first one's, the greatest change first.
    pub kinds: Vec<KindTrend>,
    /// Kinds that grew in every window after warm-up, while the level did too. Empty: no leak is suspected.
    pub suspect: Vec<SuspectKind>,
    /// Kinds that grew like that, but were fewer again at the last look: released late.
    pub late: Vec<SuspectKind>,
    /// Soft limit in the last window.
    pub soft_limit: Option<u32>,
    /// More execs until the limit is reached, at this slope; only where a leak is suspected.
    pub limit_in: Option<u64>,
}

/// One kind over the windows of a table, as it was at the windows' ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindTrend {
    /// Name of the kind.
    pub kind: Cow<'static, str>,
    /// How many at the end of the first window.
    pub first: u32,
    /// How many at the end of the last.
    pub last: u32,
    /// Windows that ended with more than the one before.
    pub grew: u64,
    /// Median slope, descriptors per exec.
    pub slope: f64,
    /// Lower end of its 95 % interval.
    pub slope_low: f64,
    /// Upper end.
    pub slope_high: f64,
}

/// A kind of descriptor that grew in every window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspectKind {
    /// Name of the kind.
    pub kind: Cow<'static, str>,
    /// By how much in all, from the first window to the last.
    pub growth: u32,
    /// Who opened those that were there at the table's last census; empty without one.
    pub opened_by: Vec<OpenedBy>,
}

/// Descriptors by who opened them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedBy {
    /// How many.
    pub count: u64,
    /// The thread; `null` if not known.
    pub thread: Option<ThreadRow>,
    /// The function, where stacks were taken.
    pub function: Option<String>,
}

/// Whom a process has outlived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outlived {
    /// The process that spawned it.
    Spawner,
    /// Only the roots: its spawner lives on.
    Root,
}

/// A process that outlived the process that spawned it, or the last root.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orphan {
    /// The process.
    pub pid: u32,
    /// Its name.
    pub comm: Name,
    /// Whom it has outlived.
    pub outlived: Outlived,
    /// The process that spawned it; 0 if not known.
    pub spawner: u32,
    /// Name of that at its end; `null` if it lives on.
    pub spawner_comm: Option<Name>,
    /// How it ended; `null` if it lives on.
    pub spawner_exit: Option<Exit>,
    /// When its spawner ended; the last root, if the spawner lives on.
    pub since_ns: u64,
    /// When the last root ended; `null` if one outlived the orphan.
    pub root_since_ns: Option<u64>,
    /// When the orphan ended; `null` if it lived on.
    pub end_ns: Option<u64>,
    /// How; `null` if it lived on.
    pub exit: Option<Exit>,
    /// Live descriptors at its end, or at the end of the trace.
    pub live: Option<u32>,
    /// What they were.
    pub kinds: Option<Kinds>,
}

/// The end of a root: the run command, or a process that was attached to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootRow {
    /// The process.
    pub pid: u32,
    /// The same in its own PID namespace.
    #[serde(default)]
    pub ns_pid: u32,
    /// Id of its container.
    #[serde(default)]
    pub container: Option<Name>,
    /// Its name.
    pub comm: Name,
    /// When it ended.
    pub end_ns: u64,
    /// How.
    pub exit: Exit,
    /// Whether the OOM killer ended it; `null` if that is not known.
    pub oom_killed: Option<bool>,
}

/// A container that traced processes were in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerRow {
    /// Its id, whole.
    pub id: Name,
    /// Who made it.
    pub runtime: String,
    /// Its name; `null` if the runtime's files don't tell it.
    pub name: Option<Name>,
    /// Traced processes that were seen in it.
    pub processes: u64,
}
