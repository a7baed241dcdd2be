//! `[targets]` and `[trace]`: whom to trace, and how.

use serde::Deserialize;

use super::Time;
use crate::target::Selector;

/// Whom to trace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Targets {
    /// Who; with nobody the agent waits for `fdtide ctl add`.
    pub follow: Vec<Selector>,
    /// Processes that come later and match are followed too.
    pub follow_new: bool,
}

impl Default for Targets {
    fn default() -> Self {
        Targets { follow: Vec::new(), follow_new: true }
    }
}

/// How to trace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceConfig {
    /// Way of hooking; the first that proves itself where nothing is said.
    pub backend: Option<BackendName>,
    /// A level counts as settled once it has been still for this long.
    pub settle: Time,
    /// A crest of so many descriptors gets a census.
    pub census_at: u32,
    /// Note when each descriptor was opened.
    pub ages: bool,
}

impl Default for TraceConfig {
    fn default() -> Self {
        TraceConfig { backend: None, settle: Time(std::time::Duration::from_millis(50)), census_at: 256, ages: false }
    }
}

/// A way of hooking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendName {
    /// Trampolines at the functions that change a table.
    Fentry,
    /// Probes at the same functions.
    Kprobe,
    /// The exit of every syscall.
    Syscall,
}
