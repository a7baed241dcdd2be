//! What can be said on the command line.

use std::{ffi::OsString, time::Duration};

use clap::{ArgGroup, Args, Parser, Subcommand};

mod agent;
mod audit;
mod common;
mod recorded;
mod scale;
mod targets;
mod units;

pub(super) use agent::{AgentArgs, Ask, CtlArgs};
pub(super) use audit::{AuditArgs, AuditFormat};
pub(super) use common::{BackendChoice, CensusAt, Common, DepthChoice, Format, redactor};
pub(super) use recorded::{ExportArgs, RecordArgs, ReportArgs, To};
pub(super) use scale::{ScaleArgs, Shape};
pub(super) use targets::TargetArgs;

use super::gate_args::{CHECK_EXAMPLES, COMPARE_EXAMPLES, CheckArgs, CompareArgs, GateArgs, InitCiArgs};
use units::duration;

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

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use super::*;
    use crate::record::Trigger;

    #[test]
    fn the_definitions_are_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn triggers_and_targets_are_checked() {
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
