//! What can be said to `fdtide audit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What `--help` shows.
pub(in crate::cli) const EXAMPLES: &str = "\
A plan:
  timeout = \"60s\"                  # of each attempt; also settle, linger, nofile, workers, failures = \"fail\"
  [[attempt]]
  trigger = \"container_restart_burst\"
  threads = [10, 100]              # one attempt for each; {threads} in the command is replaced
  command = [\"./harness\", \"--threads\", \"{threads}\"]

Examples:
  fdtide audit plan.toml
  fdtide audit plan.toml --format csv -o audit.csv

Exit status: 0; 1 if something is left open, a command failed, or calls were refused and the plan says
failures = \"fail\"; 3 if too little was seen; 2 if fdtide failed.";

/// Options of `fdtide audit`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditArgs {
    /// The plan
    #[arg(value_name = "PLAN.toml")]
    pub plan: PathBuf,
    /// Attempts under way at a time, instead of what the plan says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub workers: Option<u16>,
    /// What to write
    #[arg(long, value_enum, default_value_t = AuditFormat::Text)]
    pub format: AuditFormat,
    /// Where to write it; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// Text, CSV or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum AuditFormat {
    /// For people
    Text,
    /// One line for each attempt
    Csv,
    /// Everything, as one document
    Json,
}
