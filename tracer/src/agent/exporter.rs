//! Who is told what the agent sees.

use std::{error::Error, time::Instant};

use serde_json::Value;

use super::Config;
use crate::{
    event::Event,
    model::{
        Agent, ExecRecord, LiveView, Report,
        meter::{Failed, MeterOptions, Reading},
    },
    record::{Counted, Input, Start},
};

/// Somebody who hands on what the agent sees: metrics, segments, alerts. It runs between two looks into the ring, so nothing
/// of it may wait for anybody: what takes time belongs on a thread of its own, behind a queue with an end.
pub trait Exporter {
    /// For logs and `ctl status`: one word.
    fn name(&self) -> &'static str;

    /// What has to be metered for it; nothing for most.
    fn meter(&self) -> Option<MeterOptions> {
        None
    }

    /// The trace begins like this.
    ///
    /// # Errors
    ///
    /// When it can't do what the configuration wants of it: the agent does not start then.
    fn begin(&mut self, _start: &Start) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    /// An input of the trace, before the model has taken it, redacted if that is asked for. `event` is what a record or a
    /// look was decoded to.
    fn input(&mut self, _input: &Input<'_>, _event: Option<&Event>) {}

    /// An exec record is complete: its image has ended.
    fn exec(&mut self, _record: &ExecRecord) {}

    /// Descriptors could not be made, where that is metered one by one.
    fn failed(&mut self, _failed: &Failed) {}

    /// So many more failures were told than there was room for.
    fn failed_unheard(&mut self, _count: u64) {}

    /// About once a second: how things are now.
    fn tick(&mut self, _now: &Now<'_>) {}

    /// The configuration was read again. Sentences on what can't change before a restart, for the log.
    fn reload(&mut self, _config: &Config) -> Vec<String> {
        Vec::new()
    }

    /// What `ctl status` shows of it; null for nothing.
    fn status(&self) -> Value {
        Value::Null
    }

    /// The trace has ended, and this is what it came to. What waits is handed on from now on, until that moment at most; others
    /// have the same time for it, so nobody is waited for here.
    fn finish(&mut self, _report: &Report, _until: Instant) {}

    /// After [`Exporter::finish`]: waits until it is done, or the moment has come.
    fn wait(&mut self) {}
}

/// How things are at a tick.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// Tables as they were looked at just now, and what happened last.
    pub live: &'a LiveView,
    /// What is metered, with the same looks.
    pub reading: Option<&'a Reading>,
    /// What the kernel program has counted so far.
    pub counted: &'a Counted,
    /// Records that could not be read so far.
    pub skipped: u64,
    /// What the agent itself uses; none where that can't be read.
    pub agent: Option<Agent>,
}
