//! `fdtide audit`.

use std::{
    fs::{self, File},
    io::{self, IsTerminal as _, Read as _, Seek as _},
    process::{Command, ExitCode, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    args::{AuditArgs, AuditFormat},
    fail,
    sink_file::Output,
};
use crate::{
    gate::{
        audit::{Ended, Row, Verdict},
        plan::{Attempt, Plan},
    },
    sink,
    testing::{self, Error, Traced},
};

/// Something is left, or something failed that may not.
const FAILED: u8 = 1;
/// Too little was seen.
const INCONCLUSIVE: u8 = 3;
/// As much of what a failing command printed last is told.
const LAST_WORDS: u64 = 4096;

/// Runs the verb.
pub(super) fn audit(args: &AuditArgs) -> ExitCode {
    match try_audit(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_audit(args: &AuditArgs) -> anyhow::Result<u8> {
    let path = args.plan.display();
    let text = fs::read_to_string(&args.plan).with_context(|| format!("failed to read the plan `{path}`"))?;
    let plan = Plan::parse(&text).with_context(|| format!("failed to understand the plan `{path}`"))?;
    let mut output = Output::open(&args.output, false)?;
    let workers = args.workers.map_or(plan.workers, usize::from);
    let rows = run_all(&plan.attempts, workers)?;
    let written = match args.format {
        AuditFormat::Text => sink::audit::text(&rows, &mut output),
        AuditFormat::Csv => sink::audit::csv(&rows, &mut output),
        AuditFormat::Json => sink::audit::json(&rows, &mut output),
    };
    fail::written(written.and_then(|()| output.finish())).context("failed to write the results")?;
    Ok(code(&rows, plan.failures_fail))
}

fn code(rows: &[Row], failures_fail: bool) -> u8 {
    let any = |verdict: Verdict| rows.iter().any(|row| row.verdict == verdict);
    if any(Verdict::Leak) || any(Verdict::Broken) || failures_fail && any(Verdict::Failures) {
        FAILED
    } else if any(Verdict::Inconclusive) {
        INCONCLUSIVE
    } else {
        0
    }
}

/// Runs every attempt, `workers` at a time. Only what would keep all of them from being traced is an error.
fn run_all(attempts: &[Attempt], workers: usize) -> anyhow::Result<Vec<Row>> {
    let bar = progress(attempts.len());
    let queue = Mutex::new(attempts.iter());
    let rows = Mutex::new(Vec::new());
    let work = || -> Result<(), Error> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(attempt) = next else { return Ok(()) };
            bar.set_message(attempt.trigger.clone());
            let row = run(attempt)?;
            rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
            bar.inc(1);
        }
    };
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.min(attempts.len())).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    bar.finish_and_clear();
    for result in results {
        result.map_err(|_| anyhow::anyhow!("a worker panicked"))?.context("failed to run the attempts")?;
    }
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|row| row.attempt);
    Ok(rows)
}

/// A bar on stderr if that is a terminal.
fn progress(attempts: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(
        Some(attempts as u64),
        match io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        },
    );
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}") {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(250));
    }
    bar
}

/// One attempt. What goes wrong with its command is part of its row.
fn run(attempt: &Attempt) -> Result<Row, Error> {
    let (program, args) =
        attempt.command.split_first().map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    let words = match printed_to(&mut command) {
        Ok(words) => words,
        Err(error) => return Ok(Row::not_run(attempt, &format!("no place for what it prints: {error}"))),
    };
    let options = testing::Options {
        nofile: attempt.nofile,
        settle: attempt.settle,
        timeout: Some(attempt.timeout),
        linger: attempt.linger,
    };
    match testing::command(command, &options) {
        Ok(traced) => Ok(Row::of(attempt, &traced.report, &traced.rests, &ended(attempt, &traced, words))),
        Err(error) if error.needs_rights() => Err(error),
        Err(error) => Ok(Row::not_run(attempt, &format!("{:#}", anyhow::Error::new(error)))),
    }
}

/// Sends what a command prints to a file that has no name.
fn printed_to(command: &mut Command) -> io::Result<File> {
    let words = tempfile::tempfile()?;
    command.stdout(words.try_clone()?).stderr(words.try_clone()?);
    Ok(words)
}

fn ended(attempt: &Attempt, traced: &Traced, words: File) -> Ended {
    if traced.timed_out {
        return Ended::Badly(format!("killed after {:?}, which is its time", attempt.timeout));
    }
    match traced.exit.map(|exit| exit.to_string()) {
        Some(exit) if exit == "exit 0" => Ended::Well,
        Some(exit) => Ended::Badly(match last_line(words) {
            Some(line) => format!("{exit}: `{line}`"),
            None => exit,
        }),
        None => Ended::Badly("its end was not seen".to_owned()),
    }
}

/// The last line that is not empty.
fn last_line(mut words: File) -> Option<String> {
    let length = words.seek(io::SeekFrom::End(0)).ok()?;
    words.seek(io::SeekFrom::Start(length.saturating_sub(LAST_WORDS))).ok()?;
    let mut bytes = Vec::new();
    words.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(200).collect())
}
