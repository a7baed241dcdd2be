//! `fdtide attach`.

use std::{future, process::ExitCode};

use anyhow::Context as _;

use super::{
    args::AttachArgs,
    fail,
    signals::{self, Signals},
    trace::Trace,
};
use crate::probe::Occasion;

/// Signals that end the trace, but for the last one, which has a census taken.
const ENDING: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1];

/// Runs the verb.
pub(super) fn attach(args: &AttachArgs, debug: bool) -> ExitCode {
    match try_attach(args, debug) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_attach(args: &AttachArgs, debug: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        args.pid != std::process::id(),
        "process `{}` is fdtide itself, which never traces itself: name another",
        args.pid
    );
    let set = signals::block(ENDING).context("failed to block signals")?;
    let runtime = Trace::runtime()?;
    runtime.block_on(async {
        let mut trace = Trace::start(&args.common, Vec::new(), debug)?;
        trace.target(args.pid)?;
        trace.settle_down(false);
        let signals = Signals::new(&set).context("failed to listen to signals")?;
        let deadline = async {
            match args.duration {
                Some(duration) => tokio::time::sleep(duration).await,
                None => future::pending().await,
            }
        };
        tokio::pin!(deadline);
        while trace.alive() > 0 {
            tokio::select! {
                records = trace.records() => records?,
                signal = signals.next() => {
                    if signal.context("failed to read signals")?.number != libc::SIGUSR1 {
                        break;
                    }
                    trace.census(Occasion::Asked)?;
                }
                () = &mut deadline => break,
            }
        }
        trace.finish(None).map(drop)
    })
}
