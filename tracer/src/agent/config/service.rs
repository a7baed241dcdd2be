//! `[log]` and `[control]`: the agent as a service.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Logs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// What is logged: this and what is worse.
    pub level: Level,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What ends the agent, or a part of it.
    Error,
    /// What is missing from now on.
    Warn,
    /// What has changed.
    #[default]
    Info,
    /// What it does.
    Debug,
    /// Every step.
    Trace,
}

/// The socket of `fdtide ctl`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ControlConfig {
    /// Its path; empty for none.
    pub socket: PathBuf,
}

impl Default for ControlConfig {
    fn default() -> Self {
        ControlConfig { socket: PathBuf::from(crate::agent::config::SOCKET) }
    }
}
