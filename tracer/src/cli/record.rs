//! `fdtide record`: a flight recorder.

use std::process::ExitCode;

use anyhow::Context as _;

use super::{
    args::{Common, Format, RecordArgs},
    fail,
    keeper::Keeper,
    launch::{self, Held, Refusal, Running},
    progress::{Progress, clock},
    signals::{self, Signal, Signals},
    trace::Trace,
};
use crate::{
    event::Exit,
    model::RootEnd,
    record::{Flight, Keep, Tap},
    sink::text::words::count,
};

/// Signals that end the trace of a running process; a command gets them passed on.
const ENDING: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Runs the verb.
pub(super) fn record(args: &RecordArgs, debug: bool) -> ExitCode {
    match try_record(args, debug) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail::report(&error, if args.command.is_empty() { fail::OTHER } else { fail::RUN }),
    }
}

fn try_record(args: &RecordArgs, debug: bool) -> anyhow::Result<u8> {
    // As in `run`: first of all.
    let held = match args.command.as_slice() {
        [] => None,
        command => Some(Held::fork(command, None).context("failed to fork")?),
    };
    let (mut recorder, runtime) = match Recorder::prepare(args, debug, held.as_ref()) {
        Ok(prepared) => prepared,
        Err(error) => {
            held.into_iter().for_each(Held::abandon);
            return Err(error);
        }
    };
    let running = match held.map(Held::release).transpose().context("failed to start the command")? {
        Some(Err(refusal)) => {
            recorder.keeper.discard();
            return Ok(refused(args, &refusal));
        }
        Some(Ok(running)) => Some(running),
        None => None,
    };
    let exit = runtime.block_on(recorder.follow(running.as_ref()))?;
    let root = running.as_ref().map(|running| RootEnd { pid: running.pid(), exit });
    recorder.finish(root)?;
    Ok(match running {
        Some(_) => exit.map_or(fail::RUN, launch::code),
        None => 0,
    })
}

fn refused(args: &RecordArgs, refusal: &Refusal) -> u8 {
    let program = args.command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
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

struct Recorder {
    trace: Trace,
    keeper: Keeper,
    signals: Signals,
    progress: Progress,
}

impl Recorder {
    fn prepare(
        args: &RecordArgs,
        debug: bool,
        held: Option<&Held>,
    ) -> anyhow::Result<(Recorder, tokio::runtime::Runtime)> {
        let common = Common {
            settle: args.settle,
            backend: args.backend,
            depth: args.depth,
            redact_paths: args.redact_paths,
            // Execs need not be kept in memory: they are in the recording.
            format: Some(Format::Jsonl),
            ..Common::unsaid()?
        };
        let blocked: Vec<i32> = ENDING.iter().copied().chain([libc::SIGUSR1, libc::SIGCHLD]).collect();
        let set = signals::block(&blocked).context("failed to block signals")?;
        let runtime = Trace::runtime()?;
        let entered = runtime.enter();
        let keep = Keep {
            keep_ns: u64::try_from(args.keep.as_nanos()).unwrap_or(u64::MAX),
            max_bytes: args.max_bytes,
            min_free: 0,
            triggers: args.on.clone(),
            dumps: None,
        };
        let command = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut keeper = None;
        let mut trace = Trace::start_with(&common, command, debug, |start| {
            let made = Flight::create(&args.output, keep, start.clone()).with_context(|| {
                format!("failed to record below `{}`: name a folder that can be written", args.output.display())
            })?;
            let tap = Box::new(keeper.insert(Keeper::new(made)).shared()) as Box<dyn Tap>;
            Ok(Some(tap))
        })?;
        let keeper = keeper.context("failed to begin a recording")?;
        trace.mute();
        match held {
            Some(held) => trace.waiting(held.pid())?,
            None => trace.targets(&args.targets)?,
        }
        trace.settle_down(held.is_some(), true);
        let signals = Signals::new(&set).context("failed to listen to signals")?;
        drop(entered);
        // A command has the terminal to itself.
        let progress = if held.is_some() { Progress::hidden() } else { Progress::new(None) };
        Ok((Recorder { trace, keeper, signals, progress }, runtime))
    }

    /// Takes records until the command, or the tree, has ended, or a signal ends the trace.
    async fn follow(&mut self, running: Option<&Running>) -> anyhow::Result<Option<Exit>> {
        let mut exit = None;
        while exit.is_none() && (running.is_some() || self.trace.goes_on()) {
            tokio::select! {
                records = self.trace.records() => records?,
                signal = self.signals.next() => match (signal.context("failed to read signals")?, running) {
                    (Signal { number: libc::SIGUSR1, .. }, _) => self.dump("asked")?,
                    (Signal { number: libc::SIGCHLD, .. }, Some(running)) => exit = running.try_wait()?,
                    (Signal { number: libc::SIGCHLD, .. }, None) => {}
                    (Signal { from_kernel: true, .. }, Some(_)) => {}
                    (Signal { number, .. }, Some(running)) => running.signal(number),
                    (_, None) => break,
                },
            }
            self.tend()?;
            self.tell();
        }
        Ok(exit)
    }

    /// `0:05 · 12 processes · 1 dump · SIGUSR1 dumps, Ctrl-C ends it`.
    fn tell(&mut self) {
        if !self.progress.is_seen() {
            return;
        }
        let elapsed = self.progress.elapsed();
        let (processes, dumps) = (self.trace.alive() as u64, self.keeper.dumps().len() as u64);
        let (processes, dumps) = (count(processes, "process"), count(dumps, "dump"));
        self.progress.at(0, format!("{} · {processes} · {dumps} · SIGUSR1 dumps, Ctrl-C ends it", clock(elapsed)));
    }

    /// A new segment, or a dump, if it is time.
    fn tend(&mut self) -> anyhow::Result<()> {
        match self.keeper.tend(&mut self.trace)? {
            Some(why) => self.dump(why),
            None => Ok(()),
        }
    }

    fn dump(&mut self, why: &str) -> anyhow::Result<()> {
        match self.keeper.dump(&mut self.trace, why)? {
            Ok(path) => self.progress.aside(|| fail::say(&format!("dumped to `{}`", path.display()))),
            Err(error) => self.progress.aside(|| {
                log::warn!("failed to dump the recording: {error}; the recorder goes on");
            }),
        }
        Ok(())
    }

    fn finish(self, root: Option<RootEnd>) -> anyhow::Result<()> {
        let Recorder { trace, keeper, progress, .. } = self;
        drop(progress);
        trace.finish(root)?;
        if let Some(path) = keeper.dumps().last() {
            fail::say(&format!("the last of it is in `{0}`; `fdtide report {0}` tells", path.display()));
        }
        Ok(())
    }
}
