//! What the verbs around recordings take.

use std::{ffi::OsString, path::PathBuf, str::FromStr as _, time::Duration};

use clap::{ArgGroup, Args, ValueEnum};

use super::{
    TargetArgs,
    common::{BackendChoice, DepthChoice, Format},
    units::{bytes, duration},
};
use crate::record::Trigger;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("target").multiple(true).conflicts_with("command")))]
pub(in crate::cli) struct RecordArgs {
    /// How far back a dump reaches
    #[arg(long, value_name = "T", default_value = "30m", value_parser = duration)]
    pub keep: Duration,
    /// How much is kept at most: 64K, 256M, 2G
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = bytes)]
    pub max_bytes: u64,
    /// Dump when this happens: `failure`, `headroom<N`; SIGUSR1 always does
    #[arg(long, value_name = "WHAT", value_parser = Trigger::from_str)]
    pub on: Vec<Trigger>,
    /// Folder for dumps, and for the segments until then
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// How much is recorded
    #[arg(long, value_enum, default_value_t = DepthChoice::Records)]
    pub depth: DepthChoice,
    /// A level counts as settled once it has been still for this long, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub settle: u64,
    /// How to look into the kernel
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
    /// Put placeholders for the names of files, folders, addresses and arguments, in all that is written
    #[arg(long)]
    pub redact_paths: bool,
    /// A command to run
    #[arg(last = true, value_name = "CMD", required_unless_present = "target")]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub targets: TargetArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ReportArgs {
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Where to write it; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Put placeholders for the names of files, folders, addresses and arguments
    #[arg(long)]
    pub redact_paths: bool,
    /// Recordings; those of several hosts are told together
    #[arg(required = true, value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArgs {
    /// What for
    #[arg(long, value_enum)]
    pub to: To,
    /// Where to write it; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Put placeholders for the names of files, folders, addresses and arguments
    #[arg(long)]
    pub redact_paths: bool,
    /// The recording
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum To {
    /// Rows for DuckDB, polars, pandas
    Parquet,
    /// The same rows, one JSON object per line
    Jsonl,
    /// The same rows for a spreadsheet
    Csv,
    /// High-water per exec for HdrHistogram's tools, a tag per spawner and program
    Hdr,
    /// Levels, execs, crests and failures over time, for ui.perfetto.dev
    Perfetto,
    /// A page for a browser
    Html,
}
