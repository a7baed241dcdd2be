//! What can be said to `fdtide agent` and `fdtide ctl`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::agent::config::{Level, PATH, SOCKET};

/// What `agent --help` shows.
pub(in crate::cli) const AGENT_EXAMPLES: &str = "\
Examples:
  fdtide agent --check-config --config ./agent.toml   is everything in it known and sound?
  fdtide agent                                        in the foreground, as a service manager starts it
  kill -HUP $(pgrep -x fdtide)                        read the configuration again; -USR1 takes a census

The keys of the configuration, the signals and the control socket stand in docs/agent.md.

Exit status: 0 after SIGTERM or SIGINT, or if the configuration is sound; 2 if fdtide failed.";

/// What `ctl --help` shows.
pub(in crate::cli) const CTL_EXAMPLES: &str = "\
Examples:
  fdtide ctl status
  fdtide ctl add name:openshell-sandbox
  fdtide ctl mark 'deploy 1.4.2'      stands in recordings and reports from now on
  fdtide ctl log debug                until the next reload

Exit status: 0 if it was done; 1 if the agent refused; 2 if there is none, or fdtide failed.";

/// Options of `fdtide agent`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AgentArgs {
    /// The configuration
    #[arg(short, long, value_name = "FILE", default_value = PATH)]
    pub config: PathBuf,
    /// Read the configuration, say what is wrong with it, and end
    #[arg(long)]
    pub check_config: bool,
}

/// Options of `fdtide ctl`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CtlArgs {
    /// The agent's control socket
    #[arg(long, value_name = "PATH", default_value = SOCKET, global = true)]
    pub socket: PathBuf,
    /// The agent's answer as it came
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub ask: Ask,
}

/// What can be asked of an agent.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Ask {
    /// How things are
    Status,
    /// Trace this too
    Add {
        /// Whom: `pid:4242`, `name:postgres`, `exe:GLOB`, `cgroup:PATH`, `container:ID`, `unit:NAME`, `uid:USER`
        #[arg(value_name = "TARGET")]
        target: String,
    },
    /// Trace it no longer
    Remove {
        /// As it was added
        #[arg(value_name = "TARGET")]
        target: String,
    },
    /// List every descriptor of every traced process, now
    Census,
    /// Write the flight recorder's stretch to a file
    Dump,
    /// Note something at this moment
    Mark {
        /// What: `deploy 1.4.2`
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Log so much from now on
    Log {
        /// How much
        #[arg(value_name = "LEVEL")]
        level: LevelChoice,
    },
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LevelChoice {
    /// What ends the agent, or a part of it
    Error,
    /// What is missing from now on
    Warn,
    /// What has changed
    Info,
    /// What it does
    Debug,
    /// Every step
    Trace,
}

impl From<LevelChoice> for Level {
    fn from(choice: LevelChoice) -> Level {
        match choice {
            LevelChoice::Error => Level::Error,
            LevelChoice::Warn => Level::Warn,
            LevelChoice::Info => Level::Info,
            LevelChoice::Debug => Level::Debug,
            LevelChoice::Trace => Level::Trace,
        }
    }
}
