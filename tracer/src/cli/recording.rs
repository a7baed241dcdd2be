//! What a trace that is recorded does beside tracing: looks at tables in passing, and tells what was counted so far.

use std::{path::Path, time::Duration};

use anyhow::Context as _;

use super::args::{Common, DepthChoice};
use crate::{
    event::{Event, decode::decode},
    model::Options,
    pipeline::{self, Pipeline},
    probe::{Session, session::boot_ns},
    record::{Depth, Input, RecordFile, Start, Tap},
    target::Targets,
};

/// How often tables are looked at and all that waits is written, so that a kill loses less than a second.
const EVERY: Duration = Duration::from_millis(500);
/// Of the agent's time, looking at tables takes at most one part in so many.
const SHARE: u64 = 20;
/// Counters that have not changed are told again after so many looks: a sign of life.
const QUIET: u32 = 120;

/// Work that is due from time to time.
#[derive(Default)]
pub(super) struct Recording {
    next_ns: u64,
    looked_ns: u64,
    took_ns: u64,
    counted: Vec<(&'static str, u64)>,
    quiet: u32,
}

/// Makes the file of `--record`, before anything is traced.
pub(super) fn create(common: &Common) -> anyhow::Result<Option<RecordFile>> {
    let create = |path: &Path| {
        RecordFile::create(path).with_context(|| {
            format!("failed to make the recording `{}`: name a place that can be written", path.display())
        })
    };
    common.record.as_deref().map(create).transpose()
}

/// How much is recorded.
pub(super) fn depth(common: &Common) -> Depth {
    match common.depth {
        DepthChoice::Records => Depth::Records,
        DepthChoice::Events => Depth::Events,
    }
}

/// A trace that starts now, shown to `tap` if it gives one.
pub(super) fn begin(
    session: &Session,
    common: &Common,
    command: Vec<String>,
    options: Options,
    tap: impl FnOnce(&Start) -> anyhow::Result<Option<Box<dyn Tap>>>,
) -> anyhow::Result<(Pipeline, Option<Recording>)> {
    let redactor = common.redactor()?;
    let start: Start = pipeline::start(session, command, options, depth(common));
    let start = redactor.map_or(start.clone(), |redactor| redactor.start(start));
    let tap = tap(&start)?;
    let recording = tap.is_some().then(Recording::default);
    let mut pipeline = Pipeline::new(start, options.stream);
    pipeline.redact(redactor);
    if let Some(tap) = tap {
        pipeline.record(tap);
    }
    Ok((pipeline, recording))
}

impl Recording {
    /// Does what is due. What a recording alone is about does not end a trace.
    pub(super) fn tick(&mut self, session: &mut Session, pipeline: &mut Pipeline, targets: &Targets) {
        let now_ns = boot_ns();
        if now_ns >= self.next_ns {
            if let Err(error) = self.look(session, pipeline, targets).and_then(|()| self.count(session, pipeline)) {
                log::debug!("no look at the tables for the recording: {error:#}");
            }
            let took = boot_ns().saturating_sub(now_ns);
            self.took_ns = took;
            self.next_ns = now_ns + (took * SHARE).max(EVERY.as_nanos() as u64);
            pipeline.flush();
        }
        pipeline.tick(now_ns);
    }

    /// Something has happened that somebody wants to know more of: the next look comes sooner, though not at once.
    pub(super) fn hasten(&mut self) {
        self.next_ns = self.next_ns.min(boot_ns() + self.took_ns * SHARE / 4);
    }

    /// Tables that have changed since the last look: should the trace be cut off, this is what is known of them.
    fn look(&mut self, session: &mut Session, pipeline: &mut Pipeline, targets: &Targets) -> anyhow::Result<()> {
        let since_ns = std::mem::replace(&mut self.looked_ns, boot_ns());
        session.glance(|bytes| {
            let changed = match decode(bytes) {
                Ok(Event::Table(seen)) => {
                    let table = &seen.table;
                    let failed = table.failures.iter().any(|failure| failure.last_ns >= since_ns);
                    let changed = table.last_change_ns >= since_ns || table.image.at_ns >= since_ns;
                    targets.shows(&seen) && (failed || changed)
                }
                _ => false,
            };
            if changed {
                pipeline.take(Input::Look(bytes));
            }
        })?;
        Ok(())
    }

    fn count(&mut self, session: &Session, pipeline: &mut Pipeline) -> anyhow::Result<()> {
        let stopped = session.coverage()?;
        let missed = stopped.missed.iter().copied();
        let values = missed.chain(stopped.counters.iter().map(|(counter, value)| (counter.name(), *value)));
        let values: Vec<_> = values.collect();
        self.quiet += 1;
        if values != self.counted || self.quiet >= QUIET {
            (self.counted, self.quiet) = (values, 0);
            pipeline.take(Input::Counted(pipeline::counted(&stopped)));
        }
        Ok(())
    }
}
