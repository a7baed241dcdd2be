//! fdtide in a test suite: run a command or a closure under trace, and look at the report.
//!
//! ```no_run
//! # fn main() -> Result<(), fdtide::testing::Error> {
//! use fdtide::testing::{self, Options};
//!
//! let traced = testing::command(std::process::Command::new("true"), &Options::default())?;
//! assert!(traced.report.loss.lost == 0 && traced.high_water() <= Some(64));
//! assert_eq!(traced.leaked(), Some(0));
//! # Ok(())
//! # }
//! ```
//!
//! Tracing needs root, or CAP_BPF and CAP_PERFMON, and a kernel with BTF; [`Error::needs_rights`] tells a test when to skip.
//! What a test is written in does not matter: `docs/testing.md` has the same for pytest, go test and a shell script.

mod follow;
mod launch;
mod rest;

use std::{io, process::Command, time::Duration};

use crate::{
    event::Exit,
    gate::audit::Rest,
    model::{Report, report::TableRow},
    probe::ProbeError,
};

/// How to trace.
#[derive(Clone, Debug)]
pub struct Options {
    /// Soft limit on descriptors for what is traced.
    pub nofile: Option<u64>,
    /// A level counts as settled once it has been still for this long.
    pub settle: Duration,
    /// After this long the command, and its process group, are killed.
    pub timeout: Option<Duration>,
    /// How long to go on after its end while processes that it left behind are alive.
    pub linger: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { nofile: None, settle: Duration::from_millis(50), timeout: None, linger: Duration::ZERO }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel can't be looked into.
    #[error("failed to trace")]
    Probe(#[from] ProbeError),
    /// The command can't be executed.
    #[error("failed to start `{program}`")]
    Start {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Something around it failed.
    #[error("failed to {what}")]
    Io {
        /// What was to be done.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// Whether it is the rights, or the kernel, that are missing, rather than the command: a test may skip then.
    #[must_use]
    pub fn needs_rights(&self) -> bool {
        matches!(self, Self::Probe(_))
    }

    fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// What was traced.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The same report that `fdtide run` gives.
    pub report: Report,
    /// Levels at which the command's own table came to rest.
    pub rests: Vec<Rest>,
    /// How the command ended.
    pub exit: Option<Exit>,
    /// It was killed because its time was over.
    pub timed_out: bool,
}

impl Traced {
    /// The command's own table, as it was last: the one of its process.
    #[must_use]
    pub fn root(&self) -> Option<&TableRow> {
        let pid = self.report.root?.pid;
        self.report.tables.iter().rev().find(|table| table.pids.first() == Some(&pid))
    }

    /// Greatest number of live descriptors in that table.
    #[must_use]
    pub fn high_water(&self) -> Option<u32> {
        self.root()?.high_water
    }

    /// Descriptors that the program had at its end beyond those that it began with; `None` for a closure, or if the end did
    /// not come through.
    #[must_use]
    pub fn leaked(&self) -> Option<i64> {
        let pid = self.report.root?.pid;
        let exec = self.report.execs.iter().rev().find(|exec| exec.pid == pid)?;
        Some(i64::from(exec.image.at_exit?) - i64::from(exec.inherited))
    }
}

/// Runs a command under trace, from before its first instruction, and waits for its end.
///
/// Of the caller's descriptors it gets stdin, stdout and stderr only, as `command` has them. A pipe for one of them must be
/// read by somebody else meanwhile. It is killed if the calling thread ends.
///
/// # Errors
/// When the kernel can't be looked into, or the command can't be executed. A command that fails is no error.
pub fn command(command: Command, options: &Options) -> Result<Traced, Error> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let follow = follow::Follow::start(options, words)?;
    let held = launch::Held::command(command, options)?;
    follow.run(held)
}

/// Runs a closure under trace in a forked copy of this process, and waits for its end: exit code 0, or 101 if it panics.
///
/// The copy has one thread, and everything of the caller's memory; what it changes there, the caller does not see. Its table
/// is a copy of the caller's, which it begins with. A lock that another thread holds at the fork is held in it for ever: run
/// such tests with one thread.
///
/// # Errors
/// When the kernel can't be looked into, or the process can't be forked.
pub fn closure(act: impl FnOnce(), options: &Options) -> Result<Traced, Error> {
    let follow = follow::Follow::start(options, Vec::new())?;
    let held = launch::Held::closure(act, options)?;
    follow.run(held)
}
