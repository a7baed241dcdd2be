//! `fdtide top`.

use std::{future, process::ExitCode, time::Duration};

use anyhow::Context as _;

use super::{
    args::AttachArgs,
    attach, fail,
    signals::{self, Signals},
    terminal::{self, Terminal},
    trace::Trace,
};
use crate::{
    probe::Occasion,
    tui::{Answer, View},
};

/// How often the tables are looked at and drawn.
const FRAME: Duration = Duration::from_millis(250);

/// Runs the verb.
pub(super) fn top(args: &AttachArgs, debug: bool) -> ExitCode {
    match try_top(args, debug) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail::report(&error, fail::OTHER),
    }
}

fn try_top(args: &AttachArgs, debug: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        terminal::is_there(),
        "there is no terminal to draw on: use `fdtide attach`, which needs none, or set TERM"
    );
    let set = signals::block(attach::ENDING).context("failed to block signals")?;
    let runtime = Trace::runtime()?;
    runtime.block_on(async {
        let mut trace = attach::begin(args, debug)?;
        let signals = Signals::new(&set).context("failed to listen to signals")?;
        // The terminal is itself again before a word of the report, or of an error, is written.
        let watched = watch(&mut trace, &signals, args.duration).await;
        let written = trace.finish(None).map(drop);
        watched.and(written)
    })
}

/// Draws until a key, a signal, the end of the tree or of the time.
async fn watch(trace: &mut Trace, signals: &Signals, duration: Option<Duration>) -> anyhow::Result<()> {
    let mut terminal = Terminal::open().context("failed to take the terminal over")?;
    let mut view = View::new(terminal::has_color());
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let deadline = async {
        match duration {
            Some(duration) => tokio::time::sleep(duration).await,
            None => future::pending().await,
        }
    };
    tokio::pin!(deadline);
    while trace.goes_on() {
        let keys = tokio::select! {
            records = trace.records() => {
                records?;
                continue;
            }
            _ = frames.tick() => {
                let (live, status) = trace.look()?;
                view.update(live, status);
                Vec::new()
            }
            keys = terminal.keys() => match keys.context("failed to read keys")? {
                Some(keys) => keys,
                // As after SIGHUP.
                None => break,
            },
            signal = signals.next() => {
                if signal.context("failed to read signals")?.number != libc::SIGUSR1 {
                    break;
                }
                trace.census(Occasion::Asked)?;
                continue;
            }
            () = &mut deadline => break,
        };
        for key in keys {
            match view.key(key) {
                Answer::Stay => {}
                Answer::Quit => return Ok(()),
                Answer::Census(table) => view.take_census(table, trace.census_of(table)?),
            }
        }
        draw(&mut terminal, &view)?;
    }
    Ok(())
}

fn draw(terminal: &mut Terminal, view: &View) -> anyhow::Result<()> {
    terminal.screen().draw(|frame| view.draw(frame)).context("failed to draw")?;
    Ok(())
}
