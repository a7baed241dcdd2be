//! `fdtide attach`.

use std::{
    future,
    io::{self, IsTerminal as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;

use super::{
    args::{AttachArgs, Format},
    fail,
    progress::{Progress, clock},
    signals::{self, Signals},
    terminal, top,
    trace::Trace,
};
use crate::{probe::Occasion, sink::text::words::count};

/// Signals that end the trace, but for the last one, which has a census taken.
pub(super) const ENDING: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1];

/// Runs the verb. On a terminal, with nothing said about what to write, it is `top`.
pub(super) fn attach(args: &AttachArgs, debug: bool) -> ExitCode {
    if args.common.format.is_none() && args.common.output.as_os_str() == "-" && terminal::is_there() {
        return top::top(args, debug);
    }
    match try_attach(args, debug) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

/// Starts to trace the target. Needs an entered runtime and blocked signals.
pub(super) fn begin(args: &AttachArgs, debug: bool) -> anyhow::Result<Trace> {
    let mut trace = Trace::start(&args.common, Vec::new(), debug)?;
    trace.targets(&args.targets)?;
    trace.settle_down(false, false);
    Ok(trace)
}

fn try_attach(args: &AttachArgs, debug: bool) -> anyhow::Result<()> {
    let set = signals::block(ENDING).context("failed to block signals")?;
    let runtime = Trace::runtime()?;
    runtime.block_on(async {
        let mut trace = begin(args, debug)?;
        let signals = Signals::new(&set).context("failed to listen to signals")?;
        let deadline = async {
            match args.duration {
                Some(duration) => tokio::time::sleep(duration).await,
                None => future::pending().await,
            }
        };
        tokio::pin!(deadline);
        // Lines of results on the same terminal would be torn by it.
        let streamed = args.common.format() == Format::Jsonl && io::stdout().is_terminal();
        let mut progress = if streamed { Progress::hidden() } else { Progress::new(args.duration.map(millis)) };
        while trace.goes_on() {
            tokio::select! {
                records = trace.records() => {
                    records?;
                    tell(&mut progress, &trace, args.duration);
                }
                signal = signals.next() => {
                    if signal.context("failed to read signals")?.number != libc::SIGUSR1 {
                        break;
                    }
                    trace.census(Occasion::Asked)?;
                }
                () = &mut deadline => break,
            }
        }
        drop(progress);
        trace.finish(None).map(drop)
    })
}

/// `0:05 of 0:30 · 12 processes · Ctrl-C ends it`.
fn tell(progress: &mut Progress, trace: &Trace, duration: Option<Duration>) {
    if !progress.is_seen() {
        return;
    }
    let elapsed = progress.elapsed();
    let of = duration.map_or(String::new(), |whole| format!(" of {}", clock(whole)));
    let processes = count(trace.alive() as u64, "process");
    let text = format!("{}{of} · {processes} · Ctrl-C ends it", clock(elapsed));
    progress.at(millis(elapsed), text);
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
