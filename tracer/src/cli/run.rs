//! `fdtide run`.

use std::process::ExitCode;

use anyhow::Context as _;

use super::{
    args::{Format, RunArgs},
    fail,
    gate::{self, Gate, Outputs},
    launch::{self, Held, Refusal, Running},
    signals::{self, Signal, Signals},
    trace::Trace,
};
use crate::{
    event::Exit,
    model::{Report, RootEnd},
};

/// Signals that are passed on to the command.
const FORWARDED: &[i32] = &[
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGWINCH,
    libc::SIGCONT,
];

/// Runs the verb.
pub(super) fn run(args: &RunArgs, debug: bool) -> ExitCode {
    match try_run(args, debug) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail::report(&error, fail::RUN),
    }
}

fn try_run(args: &RunArgs, debug: bool) -> anyhow::Result<u8> {
    if let Some(soft) = args.nofile {
        let hard = launch::hard_limit().context("failed to read the limit on descriptors")?;
        anyhow::ensure!(soft <= hard, "--nofile {soft} is above the hard limit of {hard}: name at most that");
    }
    let gate = Gate::read(&args.gate, false)?;
    anyhow::ensure!(
        gate.is_none() || args.common.format() != Format::Jsonl,
        "budgets are held against all execs at the end, `--format jsonl` keeps none: use json or text"
    );
    // First of all, while there is one thread and nothing open that the command should not inherit.
    let held = Held::fork(&args.command, args.nofile).context("failed to fork")?;
    match prepare(args, debug, &held, gate.as_ref()) {
        Ok(Prepared { trace, runtime, signals, outputs }) => {
            match held.release().context("failed to start the command")? {
                Ok(running) => {
                    let (exit, report) = runtime.block_on(follow(trace, signals, running))?;
                    let code = exit.map_or(fail::RUN, launch::code);
                    match gate.zip(outputs) {
                        Some((gate, outputs)) => judged(&gate, outputs, &report, code),
                        None => Ok(code),
                    }
                }
                Err(refusal) => Ok(refused(&args.command[0].to_string_lossy(), &refusal)),
            }
        }
        Err(error) => {
            held.abandon();
            Err(error)
        }
    }
}

/// All that stands ready before the command starts.
struct Prepared {
    trace: Trace,
    runtime: tokio::runtime::Runtime,
    signals: Signals,
    outputs: Option<Outputs>,
}

fn prepare(args: &RunArgs, debug: bool, held: &Held, gate: Option<&Gate>) -> anyhow::Result<Prepared> {
    let blocked: Vec<i32> = FORWARDED.iter().copied().chain([libc::SIGCHLD]).collect();
    let set = signals::block(&blocked).context("failed to block signals")?;
    let runtime = Trace::runtime()?;
    let _entered = runtime.enter();
    let outputs = gate.map(Gate::open).transpose()?;
    let command = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut trace = Trace::start(&args.common, command, debug)?;
    trace.waiting(held.pid())?;
    trace.settle_down(true, outputs.as_ref().is_some_and(Outputs::pending));
    let signals = Signals::new(&set).context("failed to listen to signals")?;
    drop(_entered);
    Ok(Prepared { trace, runtime, signals, outputs })
}

/// Passes signals on and takes records until the command has ended.
async fn follow(mut trace: Trace, signals: Signals, running: Running) -> anyhow::Result<(Option<Exit>, Report)> {
    let mut exit = running.try_wait()?;
    while exit.is_none() {
        tokio::select! {
            records = trace.records() => records?,
            signal = signals.next() => match signal.context("failed to read signals")? {
                Signal { number: libc::SIGCHLD, .. } => exit = running.try_wait()?,
                // Keys at the terminal reach the command without us.
                Signal { from_kernel: true, .. } => {}
                Signal { number, .. } => running.signal(number),
            },
        }
    }
    let report = trace.finish(Some(RootEnd { pid: running.pid(), exit }))?;
    Ok((exit, report))
}

/// The verdicts, on stderr unless other places were named, and the exit code: the command's own comes first.
fn judged(gate: &Gate, outputs: Outputs, report: &Report, code: u8) -> anyhow::Result<u8> {
    let checks = gate.judge(report);
    let code = if code == 0 { gate::code(&checks, 0, fail::EXCEEDED, fail::INCONCLUSIVE) } else { code };
    outputs.write(&checks, Some(code), &mut std::io::stderr())?;
    Ok(code)
}

fn refused(program: &str, refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::NotFound => {
            fail::say(&format!("no program `{program}` was found"));
            127
        }
        Refusal::NotExecutable(errno) => {
            fail::say(&format!("`{program}` can't be executed: {}", std::io::Error::from_raw_os_error(*errno)));
            126
        }
    }
}
