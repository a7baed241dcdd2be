//! The control socket: one request a line, one answer a line, as JSON.

mod client;
pub(super) mod message;
mod server;

pub use client::ask;
pub use message::{ANSWER_MAX, Alerts, Answer, MARK_MAX, REQUEST_MAX, Recorder, Request, Status, mark};
pub use server::{Asked, Server, converse};

use std::{io, path::PathBuf};

/// Why there is no control socket, or no answer from one.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Another agent has it.
    #[error("another agent runs with the control socket `{}`: end it first, or give this one another path under [control]", .0.display())]
    Taken(PathBuf),
    /// Something else is there.
    #[error("`{}` is there and is no socket: remove it, or name another path under [control]", .0.display())]
    Foreign(PathBuf),
    /// It can't be made.
    #[error("failed to make the control socket `{}`: name a place that can be written under [control]", path.display())]
    Bind {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nobody is there.
    #[error("no agent listens at `{}`: start one, or name its socket with --socket", path.display())]
    Nobody {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It can't be talked to.
    #[error("failed to talk to the agent at `{}`", path.display())]
    Talk {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not speak as it should.
    #[error("the agent at `{}` gave no answer that this version can read: {why}", path.display())]
    Answer {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}
