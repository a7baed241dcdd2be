//! `[service]`, `[log]` and `[control]`: the agent as a service.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Who the agent is, and what it may do, once it has attached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceConfig {
    /// Whom an agent that was started as root becomes; without it, it stays root with few capabilities.
    pub user: Option<User>,
    /// Whether system calls that it does not need are refused to it from then on.
    pub seccomp: bool,
}

impl Default for ServiceConfig {
    fn default() -> Self {
        ServiceConfig { user: None, seccomp: true }
    }
}

/// A user as it is written: a name, a number, or two numbers for user and group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub enum User {
    /// A name of this machine's user database, which has the group too.
    Name(String),
    /// Numbers; without a group that of the user database, else the same number.
    Ids(u32, Option<u32>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a user as in \"fdtide\", 998 or \"998:998\"")]
enum Written {
    Number(u32),
    Text(String),
}

impl TryFrom<Written> for User {
    type Error = String;

    fn try_from(written: Written) -> Result<User, String> {
        let user = match written {
            Written::Number(uid) => User::Ids(uid, None),
            Written::Text(text) => match text.split_once(':').map(|(uid, gid)| (uid.parse(), gid.parse())) {
                Some((Ok(uid), Ok(gid))) => User::Ids(uid, Some(gid)),
                None if !text.is_empty() && !text.contains(char::is_whitespace) => {
                    text.parse().map_or(User::Name(text), |uid| User::Ids(uid, None))
                }
                _ => return Err(format!("`{text}` is no user: use a name, a number, or two as in \"998:998\"")),
            },
        };
        match user {
            // To the kernel this number means that nothing changes.
            User::Ids(u32::MAX, _) | User::Ids(_, Some(u32::MAX)) => {
                Err(format!("no user has the number {}", u32::MAX))
            }
            user => Ok(user),
        }
    }
}

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
