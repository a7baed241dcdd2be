//! One trace without an event loop: takes records until the child has ended.

use std::{
    collections::BTreeSet,
    fs, mem,
    os::fd::{AsFd as _, AsRawFd as _},
    time::{Duration, Instant},
};

use super::{
    Error, Options, Traced,
    launch::{Held, Running},
    rest::Watch,
};
use crate::{
    event::{Event, Exit, decode},
    kernel::oom::OomCounter,
    model::{self, Gap, RootEnd},
    pipeline::{self, Pipeline},
    probe::{Choice, LoadOptions, Session, session::boot_ns},
    record::{Depth, Input},
};

/// How often the hooks are asked whether they missed anything.
const CHECK: Duration = Duration::from_millis(250);
/// How long records may wait when nobody says that there is one.
const LAG: Duration = Duration::from_millis(20);

/// A trace that nothing is traced by yet.
pub(super) struct Follow<'a> {
    session: Session,
    pipeline: Pipeline,
    checked_ns: u64,
    watch: Watch,
    options: &'a Options,
}

impl<'a> Follow<'a> {
    /// Loads and attaches.
    pub(super) fn start(options: &'a Options, command: Vec<String>) -> Result<Self, Error> {
        let settle_ns = options.settle.as_nanos() as u64;
        let load = LoadOptions { settle_ns, ..LoadOptions::default() };
        let session = Session::open(Choice::from_env(), &load)?;
        let start = pipeline::start(&session, command, model::Options { settle_ns, stream: false }, Depth::Records);
        let pipeline = Pipeline::new(start, false);
        Ok(Self { session, pipeline, checked_ns: boot_ns(), watch: Watch::new(settle_ns), options })
    }

    /// Lets the child go and follows it to its end.
    pub(super) fn run(mut self, held: Held) -> Result<Traced, Error> {
        let pid = held.pid();
        if held.execs() {
            self.session.add_waiting(pid)?;
        } else {
            self.session.add_target(pid)?;
        }
        let oom = OomCounter::here(pid);
        self.take();
        let mut running = held.release()?;
        let (exit, timed_out) = self.until_end(&mut running)?;
        self.linger()?;
        self.take();
        self.check()?;
        let Self { session, mut pipeline, watch, .. } = self;
        let stopped = session.stop(|bytes| pipeline.take(Input::Record(bytes)))?;
        pipeline.take(Input::End(Box::new(pipeline::closing(&stopped, Some(RootEnd { pid, exit }), oom.as_ref()))));
        Ok(Traced { report: pipeline.finish(), rests: watch.into_rests(), exit, timed_out })
    }

    /// How it ended, and whether its time was over.
    fn until_end(&mut self, running: &mut Running) -> Result<(Option<Exit>, bool), Error> {
        let begun = Instant::now();
        let (mut looked, mut checked, mut timed_out) = (begun, begun, false);
        loop {
            self.wait();
            self.take();
            if let Some(exit) = running.try_wait()? {
                self.take();
                return Ok((Some(exit), timed_out));
            }
            if looked.elapsed() >= self.options.settle / 3 {
                looked = Instant::now();
                self.look(running.pid())?;
            }
            if checked.elapsed() >= CHECK {
                checked = Instant::now();
                self.check()?;
            }
            if !timed_out && self.options.timeout.is_some_and(|limit| begun.elapsed() >= limit) {
                timed_out = true;
                running.kill();
            }
        }
    }

    /// Goes on for a while if processes were left behind.
    fn linger(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        while self.pipeline.alive() > 0 && begun.elapsed() < self.options.linger {
            self.wait();
            self.take();
            self.check()?;
        }
        Ok(())
    }

    /// Waits for records, or until it is time to look.
    fn wait(&self) {
        let mut ready = libc::pollfd { fd: self.session.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout = LAG.min(self.options.settle / 3).as_millis().max(1) as i32;
        // SAFETY: one entry, as stated. What it gives does not matter: the ring is looked into anyhow.
        unsafe { libc::poll(&raw mut ready, 1, timeout) };
    }

    fn take(&mut self) {
        let Self { session, pipeline, .. } = self;
        session.drain(|bytes| pipeline.take(Input::Record(bytes)));
    }

    /// Asks whether runs of a hook were missed since it was last asked; if so, every table has been looked at again.
    fn check(&mut self) -> Result<(), Error> {
        let missed = self.session.heal()?;
        let to_ns = boot_ns();
        let from_ns = mem::replace(&mut self.checked_ns, to_ns);
        if missed > 0 {
            self.pipeline.take(Input::Checked(Gap { from_ns, to_ns, missed }));
        }
        Ok(())
    }

    /// Looks at the table of the child's own process.
    fn look(&mut self, pid: u32) -> Result<(), Error> {
        let Self { session, watch, .. } = self;
        let mut fresh = false;
        session.snapshot(|bytes| {
            if let Ok(Event::Table(seen)) = decode(bytes)
                && seen.table.owner == pid
            {
                fresh = watch.look(&seen.table, seen.at_ns);
            }
        })?;
        if fresh {
            watch.identify(identities(pid));
        }
        Ok(())
    }
}

/// What /proc shows of a process's descriptors; nothing if it has gone. As many as the kernel counts, or it has changed.
fn identities(pid: u32) -> BTreeSet<(u32, String)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return BTreeSet::new() };
    let identity = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        Some((entry.file_name().to_str()?.parse().ok()?, target.to_string_lossy().into_owned()))
    };
    entries.flatten().filter_map(identity).collect()
}
