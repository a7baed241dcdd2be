//! Errors to people: on stderr, with their causes, and as exit codes.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    process::ExitCode,
};

use crate::gate::Problem;

/// The command succeeded, and a budget is exceeded.
pub(super) const EXCEEDED: u8 = 122;
/// The command succeeded, and a budget is inconclusive.
pub(super) const INCONCLUSIVE: u8 = 123;
/// fdtide itself failed while it was to run a command; as env(1) and timeout(1) have it.
pub(super) const RUN: u8 = 125;
/// fdtide failed, no command involved.
pub(super) const OTHER: u8 = 2;

/// A bad command line, a call for help or for the version.
pub(super) fn usage(error: &clap::Error, args: &[OsString]) -> ExitCode {
    // Nothing is left to be done about an stdout or stderr that can't be written.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let run = args.iter().skip(1).find(|arg| !arg.to_string_lossy().starts_with('-')).is_some_and(|verb| verb == "run");
    ExitCode::from(if run { RUN } else { OTHER })
}

/// Says what failed and why, and gives the exit code.
pub(super) fn report(error: &anyhow::Error, code: u8) -> ExitCode {
    match error.downcast_ref::<Box<Problem>>() {
        Some(problem) => say(&problem.render()),
        None => say(&format!("{error:#}")),
    }
    ExitCode::from(code)
}

/// One message on stderr.
pub(super) fn say(text: &str) {
    // As above.
    let _ = writeln!(io::stderr(), "fdtide: {text}");
}

/// What to do about a failed write of results: a reader that has gone is no failure.
pub(super) fn written(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Logs to stderr, for `--debug`.
struct Stderr;

impl log::Log for Stderr {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        say(&format!("{}: {}", record.level().as_str().to_lowercase(), record.args()));
    }

    fn flush(&self) {}
}

/// Warnings always, everything with `--debug`.
pub(super) fn init_log(debug: bool) {
    static LOGGER: Stderr = Stderr;
    if log::set_logger(&LOGGER).is_ok() {
        log::set_max_level(if debug { log::LevelFilter::Debug } else { log::LevelFilter::Warn });
    }
}
