//! What goes into a trace: from the kernel, from the agent, or from a recording of either.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Event, Place, Stack};
use crate::model::{Agent, Gap, Loss, LossCounter, Pause, RootEnd};

/// One thing that goes into a trace. The same inputs in the same order give the same report.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// A record of the ring, as the kernel program wrote it.
    Record(&'a [u8]),
    /// A table that has changed, as the agent saw it in passing: a table record. Only recordings need it, for what a trace
    /// that was cut off would have told in the end.
    Look(&'a [u8]),
    /// A user stack that the agent has resolved.
    Stack(Box<Stack>),
    /// A process is in a container, as the agent saw it in /proc.
    Place(Box<Place>),
    /// The hooks were checked, and runs had been missed.
    Checked(Gap),
    /// What the kernel program has counted so far.
    Counted(Counted),
    /// A flight recorder wrote nothing for a while, and what came before this stands in its recording only in part.
    Paused(Pause),
    /// A person's remark.
    Note(Note),
    /// The trace has ended.
    End(Box<Closing>),
}

/// A person's remark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// What they said.
    pub text: String,
}

/// What the kernel program counted: everything that costs a part of the picture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counted {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// Records that found no room in the ring.
    pub lost: u64,
    /// Runs of hooks that were skipped, by program.
    pub missed: BTreeMap<String, u64>,
    /// All counters.
    pub counters: Vec<LossCounter>,
}

/// What is known at the end of a trace and not before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Closing {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// What was counted in all.
    pub counted: Counted,
    /// What the agent itself used.
    pub agent: Option<Agent>,
    /// How the run command ended.
    pub root: Option<RootEnd>,
    /// OOM kills during the trace, where they were counted.
    pub oom: Option<OomKills>,
}

/// OOM kills during a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OomKills {
    /// How many.
    pub count: u64,
    /// They were counted in the whole system, not in the root's own cgroup.
    pub whole_system: bool,
}

impl Counted {
    /// As a report has it, without what only the reader of the records knows.
    #[must_use]
    pub fn loss(self) -> Loss {
        Loss {
            lost: self.lost,
            missed: self.missed.values().sum(),
            skipped: 0,
            gaps: Vec::new(),
            counters: self.counters,
        }
    }
}

/// Somebody who is shown every input of a trace before it is applied.
pub trait Tap {
    /// Takes one; `event` is what a record or a look was decoded to, if it could be.
    fn take(&mut self, input: &Input<'_>, event: Option<&Event>);

    /// Boot time has come to this. What waits to be written is written when it is time.
    fn tick(&mut self, now_ns: u64);

    /// Nothing more comes. What went wrong, if anything did: what is missing, and what to do.
    fn finish(&mut self) -> Option<String>;
}
