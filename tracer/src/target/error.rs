//! What can keep a target from being found.

use std::io;

use crate::{probe::ProbeError, procfs::NotHost};

/// Why no target is traced.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A selector that says nothing that is understood.
    #[error("`{text}` names no process: {why}")]
    Selector {
        /// What was said.
        text: String,
        /// What is wrong, and what to write.
        why: String,
    },
    /// Nobody fits.
    #[error("no process {what}{hint}")]
    NoMatch {
        /// What the selectors ask for: `has the name `x``.
        what: String,
        /// What there is instead, and what to do.
        hint: String,
    },
    /// A number that several processes have, each in its own PID namespace.
    #[error(
        "the process id `{pid}` is that of several processes, each in its own PID namespace: {list}; name one by its id outside"
    )]
    Ambiguous {
        /// The number.
        pid: u32,
        /// Those that have it.
        list: String,
    },
    /// The tracer itself.
    #[error("process `{0}` is fdtide itself, which never traces itself: name another")]
    Own(u32),
    /// Ids mean something else in the kernel.
    #[error(transparent)]
    Namespace(#[from] NotHost),
    /// Processes can't be listed.
    #[error("failed to list the processes of this machine")]
    List(#[source] io::Error),
    /// The kernel program could not be told.
    #[error(transparent)]
    Probe(#[from] ProbeError),
}
