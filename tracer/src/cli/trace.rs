//! One trace, from opened output to written report: what `run` and `attach` share.

use std::{
    io, mem,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use tokio::io::{Interest, unix::AsyncFd};

use super::{
    args::{BackendChoice, CensusAt, Common, Format, TargetArgs},
    recording::{self, Recording},
    results,
    sink_file::Output,
    stacks::Stacks,
};
use crate::{
    event::{Descriptor, Event, decode::decode},
    kernel::oom::OomCounter,
    memory,
    model::{ExecRecord, Gap, LiveView, Options, Report, RootEnd, meter::Reading},
    pipeline::{self, Pipeline},
    priority,
    probe::{Backend, Choice, LoadOptions, Occasion, Session, privileges, session::boot_ns},
    record::{Depth, Input, Start, Tap},
    sink,
    target::{Added, Selector, Targets},
    tui::Status,
};

/// How often the ring is looked into when nobody says that there is something.
const LAG: Duration = Duration::from_millis(250);

/// The same where every single install is wanted, whose ring wakes nobody.
const SHORT_LAG: Duration = Duration::from_millis(10);

/// Records gather for so long from one turn to the next: a turn for each would cost the agent more than all that is done with
/// it. The kernel program calls sooner when the ring fills up.
const GATHER: Duration = Duration::from_millis(20);

/// What is to be done about targets that come after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Later {
    Wanted,
    Unwanted,
}

/// A running trace.
pub(super) struct Trace {
    session: Session,
    ring: AsyncFd<OwnedFd>,
    pipeline: Pipeline,
    recording: Option<Recording>,
    format: Format,
    output: Output,
    /// When the hooks were last asked whether they missed anything.
    checked: Instant,
    checked_ns: u64,
    /// When records were last waited for to the end.
    turned: Instant,
    /// The ring has told of a record, and has not been emptied since.
    woken: bool,
    lag: Duration,
    /// The reader of streamed results has gone.
    deaf: bool,
    /// Exec records that are complete, for a verb that does not write them as they come.
    kept: Option<Vec<ExecRecord>>,
    /// Names user stacks, where they are asked for.
    stacks: Option<Stacks>,
    /// A last census is taken at the end.
    last_census: bool,
    /// The kernel knows of no traced process any more.
    deserted: bool,
    /// Who is meant.
    targets: Targets,
    /// The first target has not come yet; and whether later ones are targets too.
    waiting: Option<Later>,
    sought: Instant,
    /// OOM kills where the first target is; who sent a SIGKILL is not to be seen otherwise.
    oom: Option<OomCounter>,
}

impl Trace {
    /// The runtime that everything runs on: one thread.
    pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start the event loop")
    }

    /// Opens the outputs, then loads and attaches. Needs an entered runtime.
    pub(super) fn start(common: &Common, command: Vec<String>, debug: bool) -> anyhow::Result<Self> {
        let file = recording::create(common)?;
        Self::start_with(common, command, debug, |start| {
            Ok(file.map(|mut file| -> Box<dyn Tap> {
                file.begin(start);
                Box::new(file)
            }))
        })
    }

    /// As [`Self::start`], shown to what `tap` gives; for verbs that record in their own way.
    pub(super) fn start_with(
        common: &Common,
        command: Vec<String>,
        debug: bool,
        tap: impl FnOnce(&Start) -> anyhow::Result<Option<Box<dyn Tap>>>,
    ) -> anyhow::Result<Self> {
        results::check(common.format(), &common.output)?;
        let stream = common.format() == Format::Jsonl;
        let output = Output::open(&common.output, stream)?;
        let settle_ns = common.settle * 1_000_000;
        let choice = match common.backend {
            BackendChoice::Auto => Choice::from_env(),
            BackendChoice::Fentry => Choice::Only(Backend::Fentry),
            BackendChoice::Kprobe => Choice::Only(Backend::Kprobe),
            BackendChoice::Syscall => Choice::Only(Backend::Syscall),
        };
        let slots = recording::depth(common) == Depth::Events;
        let census = common.census.unwrap_or_default();
        let load = LoadOptions {
            settle_ns,
            debug,
            slots,
            census_at: census.at(),
            census_failed: census != CensusAt::Never,
            ages: common.ages,
            stacks: common.stacks,
            ..LoadOptions::default()
        };
        let session = Session::open(choice, &load)?;
        if let Err(error) = priority::raise() {
            log::debug!("records are taken when it is this program's turn: {error}");
        }
        let ring = session.as_fd().try_clone_to_owned().context("failed to wait for records")?;
        // SAFETY: the descriptor stays the same and open for as long as the registration owns it.
        let ring = unsafe { AsyncFd::register_with_interest(ring, Interest::READABLE) }
            .context("failed to wait for records")?;
        let options = Options { settle_ns, stream };
        let (mut pipeline, recording) = recording::begin(&session, common, command, options, tap)?;
        let stacks = common.stacks.then(|| Stacks::new(&mut pipeline));
        Ok(Self {
            session,
            ring,
            stacks,
            last_census: common.census.is_some_and(|at| at != CensusAt::Never),
            pipeline,
            recording,
            format: common.format(),
            output,
            checked: Instant::now(),
            checked_ns: boot_ns(),
            turned: Instant::now(),
            woken: false,
            lag: if slots { SHORT_LAG } else { LAG },
            deaf: false,
            kept: None,
            deserted: false,
            targets: Targets::new(Path::new("/"), Vec::new(), false),
            waiting: None,
            sought: Instant::now(),
            oom: None,
        })
    }

    /// Traces processes and their descendants.
    pub(super) fn targets(&mut self, args: &TargetArgs) -> anyhow::Result<()> {
        self.targets = Targets::new(Path::new("/"), args.selectors(), args.follow_new || args.wait);
        let found = self.targets.begin(&mut self.session)?;
        if found == 0 {
            anyhow::ensure!(args.wait && self.targets.is_open(), self.targets.nobody());
            self.waiting = Some(if args.follow_new { Later::Wanted } else { Later::Unwanted });
        } else if !args.follow_new {
            self.targets.close(&mut self.session)?;
        }
        if let Some(pid) = self.targets.first() {
            self.count_oom_kills(pid);
        }
        self.take()
    }

    /// Begins without a target; those that are added later take later processes too if `follow_new` says so.
    pub(super) fn follow(&mut self, follow_new: bool) -> anyhow::Result<()> {
        self.targets = Targets::new(Path::new("/"), Vec::new(), follow_new);
        self.targets.begin(&mut self.session)?;
        Ok(())
    }

    /// One more target.
    pub(super) fn add(&mut self, selector: Selector) -> anyhow::Result<Added> {
        let added = self.targets.add(&mut self.session, selector)?;
        if let Some(pid) = self.targets.first() {
            self.count_oom_kills(pid);
        }
        self.deserted = false;
        self.take()?;
        Ok(added)
    }

    /// One target fewer. Gives how many processes are traced no longer.
    pub(super) fn remove(&mut self, selector: &Selector) -> anyhow::Result<u64> {
        let removed = self.targets.remove(&mut self.session, selector)?;
        self.take()?;
        Ok(removed)
    }

    /// The targets in force, as they are written.
    pub(super) fn selectors(&self) -> Vec<String> {
        self.targets.selectors().map(ToString::to_string).collect()
    }

    /// Looks for the first target; once it is there, later ones are targets only if that was asked for.
    fn await_first(&mut self) -> anyhow::Result<()> {
        let Some(later) = self.waiting else { return Ok(()) };
        if self.pipeline.alive() == 0 && self.sought.elapsed() >= LAG {
            self.targets.seek(&mut self.session)?;
            self.sought = Instant::now();
            self.take()?;
        }
        if self.pipeline.alive() > 0 {
            self.waiting = None;
            if later == Later::Unwanted {
                self.targets.close(&mut self.session)?;
            }
        }
        Ok(())
    }

    /// Whether there is, or may still come, something to trace.
    pub(super) fn goes_on(&self) -> bool {
        self.targets.is_open() || self.alive() > 0
    }

    /// Where every process is, once more: for a recording that begins here.
    pub(super) fn tell_places(&mut self) {
        for place in self.targets.places(boot_ns()) {
            self.pipeline.take(Input::Place(Box::new(place)));
        }
    }

    /// The tables that are there now, and before them the processes where those are wanted, as records.
    pub(super) fn state(&mut self, processes: bool) -> anyhow::Result<Vec<Vec<u8>>> {
        let Self { session, targets, .. } = self;
        let mut state = Vec::new();
        let mut keep = |bytes: &[u8]| {
            targets.take(bytes, &mut |input, _| {
                if let Input::Record(bytes) = input {
                    state.push(bytes.to_vec());
                }
            });
        };
        if processes {
            session.processes(&mut keep)?;
        }
        session.snapshot(&mut keep)?;
        Ok(state)
    }

    /// Traces a child that waits for its exec.
    pub(super) fn waiting(&mut self, pid: u32) -> anyhow::Result<()> {
        self.count_oom_kills(pid);
        self.session.add_waiting(pid)?;
        self.take()
    }

    fn count_oom_kills(&mut self, pid: u32) {
        if self.oom.is_none() {
            self.oom = OomCounter::here(pid);
        }
    }

    /// What it all goes through, for verbs that record in their own way.
    pub(super) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Nobody reads the exec records.
    pub(super) fn mute(&mut self) {
        self.deaf = true;
    }

    /// Exec records are not written as they come, but kept for [`Self::completed`].
    pub(super) fn keep(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// Looks at the tables sooner than it would, for those who are shown the inputs.
    pub(super) fn hasten(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.hasten();
        }
    }

    /// Exec records completed since the last call.
    pub(super) fn completed(&mut self) -> Vec<ExecRecord> {
        self.kept.as_mut().map(mem::take).unwrap_or_default()
    }

    /// What it all goes through after the kernel.
    pub(super) fn pipeline(&mut self) -> &mut Pipeline {
        &mut self.pipeline
    }

    /// Traced processes that have not ended. None where the kernel knows of none any more, though the records of some ends
    /// found no room in the ring.
    pub(super) fn alive(&self) -> usize {
        if self.deserted { 0 } else { self.pipeline.alive() }
    }

    /// Every target is there: gives up the rights, and the memory, that only finding and hooking them took.
    /// `command`: there is one, which signals are passed on to. `files`: more than the report's own file is put in its place at the end.
    pub(super) fn settle_down(&self, command: bool, files: bool) {
        let files = files || matches!(self.output, Output::Pending(..));
        // Whose program it is that has just been execed is asked of /proc.
        let look = self.stacks.is_some() || self.targets.is_open();
        if let Err(error) = privileges::drop_unneeded(command, files, look) {
            log::warn!("the capabilities that are no longer needed could not be given up: {error}");
        }
        self.give_back();
    }

    /// Gives memory back that only the start took. Code stays mapped while targets may come: who they are is asked of /proc, which
    /// forgets a short process, so that nothing is to come between.
    pub(super) fn give_back(&self) {
        memory::trim();
        if self.stacks.is_none() && !self.targets.is_open() {
            memory::forget_code();
        }
    }

    /// Waits for records and takes them.
    pub(super) async fn records(&mut self) -> anyhow::Result<()> {
        self.wait().await?;
        self.turned = Instant::now();
        self.take()?;
        self.targets.tend(&mut self.session)?;
        self.await_first()?;
        if self.checked.elapsed() >= LAG {
            self.checked = Instant::now();
            self.check()?;
            if !self.targets.is_open() && self.pipeline.alive() > 0 && self.session.is_deserted() {
                self.take()?;
                self.deserted = true;
            }
            if let Some(recording) = &mut self.recording {
                recording.tick(&mut self.session, &mut self.pipeline, &self.targets);
            }
        }
        Ok(())
    }

    /// Until the ring is to be emptied. Who gives this up to do something else, and comes back, does not wait anew.
    async fn wait(&mut self) -> anyhow::Result<()> {
        let quiet = self.turned + self.targets.patience().map_or(self.lag, |patience| patience.min(self.lag));
        // Where a stack leads, who a new target is and in what container, is asked of /proc, which soon forgets it.
        let hurry = self.stacks.is_some() || self.targets.is_open();
        loop {
            let until = if self.woken { quiet.min(self.turned + GATHER) } else { quiet };
            tokio::select! {
                ready = self.ring.readable() => {
                    ready.context("failed to wait for records")?.clear_ready();
                    // A second time: the ring fills up.
                    if hurry || self.woken {
                        break;
                    }
                    self.woken = true;
                }
                () = tokio::time::sleep_until(until.into()) => break,
            }
        }
        self.woken = false;
        Ok(())
    }

    /// Asks whether runs of a hook were missed since it was last asked; if so, every table has been looked at again.
    fn check(&mut self) -> anyhow::Result<()> {
        let missed = self.session.heal()?;
        let to_ns = boot_ns();
        let from_ns = mem::replace(&mut self.checked_ns, to_ns);
        if missed > 0 {
            self.pipeline.take(Input::Checked(Gap { from_ns, to_ns, missed }));
            // One of them may have been the exec of a target.
            if self.targets.is_open() {
                self.targets.seek(&mut self.session)?;
            }
        }
        Ok(())
    }

    /// Looks at every table, and tells how things are now. The looks are for the eye: the report does not know of them.
    pub(super) fn look(&mut self) -> anyhow::Result<(LiveView, Status)> {
        self.look_with(false).map(|(live, status, _)| (live, status))
    }

    /// As [`Self::look`], with what is metered.
    pub(super) fn look_with(&mut self, metered: bool) -> anyhow::Result<(LiveView, Status, Option<Reading>)> {
        let mut looks = Vec::new();
        self.session.glance(|bytes| {
            if let Ok(Event::Table(seen)) = decode(bytes) {
                looks.push(*seen);
            }
        })?;
        // Then what came before the looks, so that none is in advance of its records.
        self.take()?;
        let Self { session, pipeline, .. } = self;
        let counted = pipeline::counted(&session.coverage()?);
        let status = Status {
            now_ns: boot_ns(),
            backend: pipeline.start().plan.backend.clone(),
            lost: counted.lost,
            missed: counted.missed.values().sum(),
            skipped: pipeline.skipped(),
        };
        let reading = if metered { pipeline.reading(&looks, status.now_ns) } else { None };
        Ok((pipeline.live(&looks), status, reading))
    }

    /// Takes a census now, and gives the rows of one table in the order of their numbers.
    pub(super) fn census_of(&mut self, table: u64) -> anyhow::Result<Vec<Descriptor>> {
        let Self { session, pipeline, targets, .. } = self;
        let mut rows = Vec::new();
        session.census(Occasion::Asked, |bytes| {
            hand_on(targets, pipeline, bytes);
            if let Ok(Event::Descriptor(row)) = decode(&pipeline.redacted(bytes))
                && row.table.0 == table
            {
                rows.push(*row);
            }
        })?;
        // One census may have been taken for each process that shares the table: the last one counts.
        let last = rows.iter().map(|row| row.census).max();
        rows.retain(|row| Some(row.census) == last);
        rows.sort_by_key(|row| row.number);
        Ok(rows)
    }

    /// Takes the records that wait.
    pub(super) fn take(&mut self) -> anyhow::Result<()> {
        let Self { session, pipeline, targets, .. } = self;
        session.drain(|bytes| hand_on(targets, pipeline, bytes));
        if let Some(stacks) = &mut self.stacks {
            stacks.resolve(session, pipeline);
        }
        self.stream()
    }

    /// Writes exec records that are complete, where they are wanted at once.
    fn stream(&mut self) -> anyhow::Result<()> {
        if let Some(kept) = &mut self.kept {
            kept.append(&mut self.pipeline.drain_completed());
        }
        for record in self.pipeline.drain_completed() {
            if self.deaf {
                break;
            }
            match sink::jsonl::write_exec(&record, &mut self.output) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.deaf = true,
                other => other.context("failed to write an exec record")?,
            }
        }
        Ok(())
    }

    /// Takes a census of every process that is traced.
    pub(super) fn census(&mut self, occasion: Occasion) -> anyhow::Result<()> {
        let Self { session, pipeline, targets, .. } = self;
        session.census(occasion, |bytes| hand_on(targets, pipeline, bytes))?;
        self.take()
    }

    /// Detaches, writes what is left to write, and gives the report; without its execs if they were streamed.
    pub(super) fn finish(self, root: Option<RootEnd>) -> anyhow::Result<Report> {
        let (mut ended, rest) = self.end(root)?;
        results::write(&mut ended.report, rest, ended.format, ended.output, ended.deaf)?;
        Ok(ended.report)
    }

    /// Detaches, and gives the report and the exec records that were completed last.
    pub(super) fn report(self) -> anyhow::Result<(Report, Vec<ExecRecord>)> {
        self.end(None).map(|(ended, rest)| (ended.report, rest))
    }

    fn end(mut self, root: Option<RootEnd>) -> anyhow::Result<(Ended, Vec<ExecRecord>)> {
        self.take()?;
        self.check()?;
        if self.last_census && self.alive() > 0 {
            self.census(Occasion::End)?;
        }
        let mut rest = self.completed();
        let Self { session, ring, mut pipeline, mut targets, format, output, deaf, oom, .. } = self;
        // The ring is the session's; only its registration ends here.
        drop(ring);
        let stopped = session.stop(|bytes| hand_on(&mut targets, &mut pipeline, bytes))?;
        pipeline.take(Input::End(Box::new(pipeline::closing(&stopped, root, oom.as_ref()))));
        rest.append(&mut pipeline.drain_completed());
        Ok((Ended { report: pipeline.finish(), format, output, deaf }, rest))
    }
}

/// What is left of a trace.
struct Ended {
    report: Report,
    format: Format,
    output: Output,
    deaf: bool,
}

/// What there is to tell of a record goes into the pipeline.
fn hand_on(targets: &mut Targets, pipeline: &mut Pipeline, bytes: &[u8]) {
    targets.take(bytes, &mut |input, event| pipeline.take_decoded(input, event));
}
