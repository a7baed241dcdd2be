//! What can be said on the command line.

use std::{ffi::OsString, path::PathBuf, str::FromStr, time::Duration};

use anyhow::Context as _;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

mod agent;
mod audit;
mod scale;
mod targets;

pub(super) use agent::{AgentArgs, Ask, CtlArgs};
pub(super) use audit::{AuditArgs, AuditFormat};
pub(super) use scale::{ScaleArgs, Shape};
pub(super) use targets::TargetArgs;

use super::gate_args::{CHECK_EXAMPLES, COMPARE_EXAMPLES, CheckArgs, CompareArgs, GateArgs, InitCiArgs};
use crate::{record::Trigger, redact::Redactor};

const RUN_EXAMPLES: &str = "\
Examples:
  fdtide run -- cargo build                    what the build and all its processes held at most
  fdtide run --nofile 1024 -- ./server         the same under the usual soft limit
  fdtide run --format json -o r.json -- make   for a script
  fdtide run --format jsonl -- ./runtime       one line per exec as soon as its image has ended
  fdtide run --budget 'high_water <= 64' -- ./server
                                               a gate: docs/gate.md has the grammar
  fdtide run --format html -o r.html -- ./app  a page for a browser

Exit status: the command's own; 128+n if signal n ended it; 125 if fdtide failed; 126 if the command could not be
executed; 127 if it was not found. If it succeeded: 122 if a budget is exceeded, 123 if one is inconclusive.";

const ATTACH_EXAMPLES: &str = "\
Examples:
  fdtide attach -p 4242                        until Ctrl-C, or until the tree has gone
  fdtide attach -p 4242 --duration 30s         for half a minute
  fdtide attach -n postgres --format json -o r.json
  fdtide attach -n openshell-sandbox --wait    a name longer than the kernel keeps; waits for the first
  fdtide attach --container web --systemd-unit nginx --follow-new
                                               all of both, and later ones from their exec on

Exit status: 0 if there is a report; 2 if fdtide failed.";

const REPORT_EXAMPLES: &str = "\
Examples:
  fdtide report build.fdtide                      what `fdtide run --record build.fdtide` told at its end
  fdtide report --format json -o r.json build.fdtide
  fdtide report web1.fdtide web2.fdtide           two hosts, and their histograms merged

Exit status: 0 if there is a report; 2 if a recording could not be read.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  fdtide export build.fdtide --to parquet -o build.parquet
  duckdb -c \"select program, quantile_disc(window_high_water, 0.99) from 'build.parquet' where seq > 0 group by all\"
  fdtide export build.fdtide --to perfetto -o build.pftrace

Exit status: 0 if it was written; 2 if fdtide failed.";

const RECORD_EXAMPLES: &str = "\
Examples:
  fdtide record -n postgres --follow-new --on failure -o /var/tmp/fdtide
  fdtide record --keep 10m --max-bytes 64M --on 'headroom<100' -- ./server
  kill -USR1 $(pgrep -x fdtide)                a dump now

A dump is a recording: `fdtide report DUMP`. A last one is written at the end. After a kill -9 the segments are left, each
a recording by itself.

Exit status: as `fdtide run` with a command, else as `fdtide attach`.";

const TOP_EXAMPLES: &str = "\
Examples:
  fdtide top -p 4242                           until q; ? tells the keys
  fdtide top -p 4242 --format json -o r.json   the report at the end goes to a file

Exit status: 0 if there is a report; 2 if fdtide failed.";

/// Exact high-water marks of open descriptors, per exec, of a live process tree.
#[derive(Debug, Parser)]
#[command(name = "fdtide", version, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
pub(super) struct Cli {
    /// Log what the kernel program does, to stderr
    #[arg(long, global = true)]
    pub debug: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Run a command under trace, from before its first instruction
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Trace running processes and all their present and future descendants
    #[command(after_help = ATTACH_EXAMPLES)]
    Attach(AttachArgs),
    /// Watch running processes and their descendants; prints the report at the end
    #[command(after_help = TOP_EXAMPLES)]
    Top(AttachArgs),
    /// Keep the last stretch of a trace, and write it to a file when something happens
    #[command(after_help = RECORD_EXAMPLES)]
    Record(RecordArgs),
    /// Trace all day, unattended, as a configuration says
    #[command(after_help = agent::AGENT_EXAMPLES)]
    Agent(AgentArgs),
    /// Ask a running agent, or tell it something
    #[command(after_help = agent::CTL_EXAMPLES)]
    Ctl(CtlArgs),
    /// The report of a recording: the same as live
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// A recording in a form that other tools open
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Ask the segments of many machines: high-water, headroom, failures, growth since a release
    #[command(disable_help_flag = true, after_help = "Exit status: that of fdtide-fleet; 2 if it was not found.")]
    Fleet(FleetArgs),
    /// Hold a report to budgets
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Compare two reports: per spawner and program, whether high-water marks per exec have changed
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Write a fdtide.toml to start from, with what a report measured
    #[command(after_help = "Exit status: 0 if it was written; 2 if fdtide failed.")]
    InitCi(InitCiArgs),
    /// Say what this kernel allows, which backend would be taken, and what is missing
    #[command(after_help = "Exit status: 0 if fdtide can run here; 1 if it can't.")]
    Doctor(DoctorArgs),
    /// Run a command with several values of a number, and tell how its high-water mark follows that number
    #[command(after_help = scale::EXAMPLES)]
    Scale(ScaleArgs),
    /// Run the attempts of a plan under trace, and tell for each what it held and whether something is left
    #[command(after_help = audit::EXAMPLES)]
    Audit(AuditArgs),
}

/// What the program `fdtide-fleet` is given.
#[derive(Debug, Args)]
pub(super) struct FleetArgs {
    /// Places with segments, and options: `fdtide fleet --help` tells them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("target").multiple(true).conflicts_with("command")))]
pub(super) struct RecordArgs {
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
pub(super) struct ReportArgs {
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
pub(super) struct ExportArgs {
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

/// With a key that nobody knows.
pub(super) fn redactor() -> anyhow::Result<Redactor> {
    Redactor::random().context("failed to make a key for placeholders")
}

/// When every descriptor is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CensusAt {
    /// At a high crest, and at failures.
    #[default]
    Usual,
    /// At a crest of so many, at failures, and at the end.
    Crest(u32),
    /// Never.
    Never,
}

impl CensusAt {
    /// The least crest.
    pub fn at(self) -> Option<u32> {
        match self {
            Self::Usual => Some(256),
            Self::Crest(live) => Some(live),
            Self::Never => None,
        }
    }
}

impl FromStr for CensusAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(live @ 1..) => Ok(Self::Crest(live)),
            _ if text == "off" => Ok(Self::Never),
            _ => Err("neither a number of descriptors from 1 up nor `off`".to_owned()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum To {
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

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// For a script
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub gate: GateArgs,
    /// Soft limit on descriptors for the command
    #[arg(long, value_name = "N")]
    pub nofile: Option<u64>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("target").multiple(true).required(true)))]
pub(super) struct AttachArgs {
    #[command(flatten)]
    pub common: Common,
    /// Stop after this long: 30s, 5m, 1h, 250ms
    #[arg(short, long, value_name = "T", value_parser = duration)]
    pub duration: Option<Duration>,
    #[command(flatten)]
    pub targets: TargetArgs,
}

#[derive(Debug, Args)]
pub(super) struct Common {
    /// What to write [default: text; for `attach` on a terminal: the view of `fdtide top`]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Where to write it; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// A level counts as settled once it has been still for this long, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub settle: u64,
    /// List every descriptor at a crest of at least so many, at the first failure of each kind and, if this is given, at the
    /// end [default: at 256 and at failures]; `off` for never
    #[arg(long, value_name = "COUNT|off")]
    pub census: Option<CensusAt>,
    /// Note when each descriptor was opened, for the ages in a census: about 30 ns on each open of a traced process
    #[arg(long)]
    pub ages: bool,
    /// Take the user stack of each open, and name in a census who opened what: about 2 µs on each open of a traced process
    #[arg(long)]
    pub stacks: bool,
    /// Put placeholders for the names of files, folders, addresses and arguments, in all that is written
    #[arg(long)]
    pub redact_paths: bool,
    /// What makes them, where they are to be the same as elsewhere.
    #[arg(skip)]
    pub key: Option<Redactor>,
    /// Keep everything in a recording too, for `fdtide report` and `fdtide export`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// How much a recording holds
    #[arg(long, value_enum, default_value_t = DepthChoice::Records, requires = "record")]
    pub depth: DepthChoice,
    /// How to look into the kernel
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
}

impl Common {
    /// What makes placeholders, if any are to be made.
    pub(super) fn redactor(&self) -> anyhow::Result<Option<Redactor>> {
        match self.key {
            None if self.redact_paths => redactor().map(Some),
            key => Ok(key),
        }
    }

    /// What to write.
    pub(super) fn format(&self) -> Format {
        self.format.unwrap_or(Format::Text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people: at most a screen
    Text,
    /// Everything, at the end
    Json,
    /// One exec record per line, as each is complete
    Jsonl,
    /// A page for a browser, at the end; needs `-o`
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DepthChoice {
    /// Execs, crests, failures, the lives of processes
    Records,
    /// Every install and close too
    Events,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BackendChoice {
    /// The first that proves itself, cheapest for others first
    Auto,
    /// Trampolines at the functions that change a table
    Fentry,
    /// Probes at the same functions
    Kprobe,
    /// The exit of every syscall
    Syscall,
}

/// A size: bytes, or with K, M, G.
fn bytes(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is no size: use a number and K, M or G"))?;
    number.checked_mul(1 << shift).filter(|size| *size >= 1 << 16).ok_or_else(|| "at least 64K".to_owned())
}

impl Common {
    /// What nobody has said anything about.
    pub(super) fn unsaid() -> Result<Self, clap::Error> {
        #[derive(Parser)]
        struct Only {
            #[command(flatten)]
            common: Common,
        }
        Only::try_parse_from(["fdtide"]).map(|only| only.common)
    }
}

/// A number and its unit: ms, s (or nothing), m, h.
fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is no unit: use ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is no duration: use a number and ms, s, m or h"))?;
    Duration::try_from_secs_f64(number * scale).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn durations_have_units_and_bad_ones_say_so() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert!(duration("5 parsecs").unwrap_err().contains("parsecs"));
        assert!(duration("s").is_err() && duration("-1s").is_err() && duration("9e99h").is_err());
    }

    #[test]
    fn sizes_and_triggers_are_checked() {
        assert_eq!((bytes("64K"), bytes("256M"), bytes("2g")), (Ok(1 << 16), Ok(1 << 28), Ok(1 << 31)));
        assert!(bytes("1K").is_err() && bytes("M").is_err() && bytes("99999999999G").is_err() && bytes("").is_err());
        assert_eq!(Trigger::from_str("headroom<100"), Ok(Trigger::Headroom(100)));
        assert_eq!(Trigger::from_str("failure"), Ok(Trigger::Failure));
        assert!(Trigger::from_str("headroom<x").is_err() && Trigger::from_str("smoke").is_err());
        assert!(Cli::try_parse_from(["fdtide", "record"]).is_err());
        assert!(Cli::try_parse_from(["fdtide", "record", "-p", "1", "--", "true"]).is_err());
        let cli = Cli::try_parse_from(["fdtide", "record", "--on", "failure", "--", "ls", "-l"]).unwrap();
        let Verb::Record(record) = cli.verb else { panic!("not record") };
        assert_eq!(record.command, ["ls", "-l"]);
    }

    #[test]
    fn everything_after_the_command_is_the_commands() {
        let cli = Cli::try_parse_from(["fdtide", "run", "--nofile", "64", "ls", "--format", "x"]).unwrap();
        let Verb::Run(run) = cli.verb else { panic!("not run") };
        assert_eq!(run.command, ["ls", "--format", "x"]);
        assert_eq!(run.nofile, Some(64));
    }
}
