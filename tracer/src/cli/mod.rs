//! The command line: definitions, validated options, one function per verb.

mod agent;
mod args;
mod attach;
mod audit;
mod check;
mod compare;
mod ctl;
mod doctor;
mod export;
mod fail;
mod fleet;
mod gate;
mod gate_args;
mod init_ci;
mod keeper;
mod launch;
mod load;
mod progress;
mod reading;
mod record;
mod recording;
mod redacted;
mod report;
mod results;
mod run;
mod scale;
mod signals;
mod sink_file;
mod stacks;
mod terminal;
mod top;
mod trace;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, Parser as _};

use args::{Cli, Verb};

/// What can be said on the command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the tool and gives its exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return fail::usage(&error, &args),
    };
    // The agent has logs of its own.
    if !matches!(cli.verb, Verb::Agent(_)) {
        fail::init_log(cli.debug);
    }
    match cli.verb {
        Verb::Run(options) => run::run(&options, cli.debug),
        Verb::Attach(options) => attach::attach(&options, cli.debug),
        Verb::Report(options) => report::report(&options),
        Verb::Export(options) => export::export(&options),
        Verb::Record(options) => record::record(&options, cli.debug),
        Verb::Agent(options) => agent::agent(&options),
        Verb::Ctl(options) => ctl::ctl(&options),
        Verb::Fleet(options) => fleet::fleet(&options),
        Verb::Check(options) => check::check(&options),
        Verb::Compare(options) => compare::compare(&options),
        Verb::InitCi(options) => init_ci::init_ci(&options),
        Verb::Top(options) => top::top(&options, cli.debug),
        Verb::Doctor(options) => doctor::doctor(&options),
        Verb::Scale(options) => scale::scale(&options),
        Verb::Audit(options) => audit::audit(&options),
    }
}
