//! One trace, from opened output to written report: what `run` and `attach` share.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use tokio::io::{Interest, unix::AsyncFd};

use super::{
    args::{BackendChoice, Common, Format},
    fail,
    sink_file::Output,
};
use crate::{
    model::{Options, Plan, RootEnd},
    pipeline::{self, Pipeline},
    probe::{Backend, Choice, LoadOptions, Session, privileges},
    sink,
};

/// How often the ring is looked into when nobody says that there is something.
const LAG: Duration = Duration::from_millis(250);

/// A running trace.
pub(super) struct Trace {
    session: Session,
    ring: AsyncFd<OwnedFd>,
    pipeline: Pipeline,
    plan: Plan,
    format: Format,
    output: Output,
    /// When the hooks were last asked whether they missed anything.
    checked: Instant,
    /// The reader of streamed results has gone.
    deaf: bool,
}

impl Trace {
    /// The runtime that everything runs on: one thread.
    pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start the event loop")
    }

    /// Opens the output, then loads and attaches. Needs an entered runtime.
    pub(super) fn start(common: &Common, debug: bool) -> anyhow::Result<Self> {
        let stream = common.format == Format::Jsonl;
        let output = Output::open(&common.output, stream)?;
        let settle_ns = common.settle * 1_000_000;
        let choice = match common.backend {
            BackendChoice::Auto => Choice::from_env(),
            BackendChoice::Fentry => Choice::Only(Backend::Fentry),
            BackendChoice::Kprobe => Choice::Only(Backend::Kprobe),
            BackendChoice::Syscall => Choice::Only(Backend::Syscall),
        };
        let session = Session::open(choice, &LoadOptions { settle_ns, debug, ..LoadOptions::default() })?;
        let ring = session.as_fd().try_clone_to_owned().context("failed to wait for records")?;
        // SAFETY: the descriptor stays the same and open for as long as the registration owns it.
        let ring = unsafe { AsyncFd::register_with_interest(ring, Interest::READABLE) }
            .context("failed to wait for records")?;
        let plan = pipeline::plan(&session);
        Ok(Self {
            session,
            ring,
            pipeline: Pipeline::new(Options { settle_ns, stream }),
            plan,
            format: common.format,
            output,
            checked: Instant::now(),
            deaf: false,
        })
    }

    /// Traces a process and its descendants.
    pub(super) fn target(&mut self, pid: u32) -> anyhow::Result<()> {
        self.session.add_target(pid)?;
        self.take()
    }

    /// Traces a child that waits for its exec.
    pub(super) fn waiting(&mut self, pid: u32) -> anyhow::Result<()> {
        self.session.add_waiting(pid)?;
        self.take()
    }

    /// Traced processes that have not ended.
    pub(super) fn alive(&self) -> usize {
        self.pipeline.alive()
    }

    /// Every target is there: gives up the rights that only finding and hooking them took.
    pub(super) fn settle_down(&self) {
        if let Err(error) = privileges::drop_unneeded(matches!(self.output, Output::Pending(..))) {
            log::warn!("the capabilities that are no longer needed could not be given up: {error}");
        }
    }

    /// Waits for records and takes them.
    pub(super) async fn records(&mut self) -> anyhow::Result<()> {
        tokio::select! {
            ready = self.ring.readable() => ready.context("failed to wait for records")?.clear_ready(),
            () = tokio::time::sleep(LAG) => {}
        }
        self.take()?;
        if self.checked.elapsed() >= LAG {
            self.checked = Instant::now();
            self.pipeline.checked(self.session.heal()?);
        }
        Ok(())
    }

    fn take(&mut self) -> anyhow::Result<()> {
        let Self { session, pipeline, .. } = self;
        session.drain(|bytes| pipeline.feed(bytes));
        self.stream()
    }

    /// Writes exec records that are complete, where they are wanted at once.
    fn stream(&mut self) -> anyhow::Result<()> {
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

    /// Detaches and writes what is left to write.
    pub(super) fn finish(mut self, command: Vec<String>, root: Option<RootEnd>) -> anyhow::Result<()> {
        self.take()?;
        self.pipeline.checked(self.session.heal()?);
        let Self { session, ring, mut pipeline, plan, format, mut output, deaf, .. } = self;
        // The ring is the session's; only its registration ends here.
        drop(ring);
        let stopped = session.stop(|bytes| pipeline.feed(bytes))?;
        let mut rest = pipeline.drain_completed();
        let mut report = pipeline.finish(plan, &stopped, command, root);
        let result = match format {
            Format::Text => sink::text::write(&report, &mut output),
            Format::Json => sink::json::write(&report, &mut output),
            Format::Jsonl => {
                rest.append(&mut report.execs);
                // What was not seen belongs to the reader of the lines too, but not into them.
                let _ = sink::text::write_coverage(&report, &mut io::stderr());
                if deaf {
                    Ok(())
                } else {
                    rest.iter().try_for_each(|record| sink::jsonl::write_exec(record, &mut output))
                }
            }
        };
        fail::written(result.and_then(|()| output.finish())).context("failed to write the results")
    }
}
