//! Tends a flight recorder while its trace runs: what `record` and `agent` share.

use std::{cell::RefCell, io, path::PathBuf, rc::Rc};

use super::trace::Trace;
use crate::{
    agent::control::Recorder,
    pipeline,
    probe::session::boot_ns,
    record::{Flight, Input, Keep, Shared},
};

/// A recorder, and when to write.
pub(super) struct Keeper(Shared);

impl Keeper {
    /// Of a recorder, which the pipeline gets too.
    pub(super) fn new(flight: Flight) -> Self {
        Self(Rc::new(RefCell::new(flight)))
    }

    /// For the pipeline.
    pub(super) fn shared(&self) -> Shared {
        Rc::clone(&self.0)
    }

    /// Keeps so much from now on.
    pub(super) fn set(&self, keep: Keep) {
        self.0.borrow_mut().set_caps(keep);
    }

    /// How it goes.
    pub(super) fn state(&self) -> Recorder {
        let flight = self.0.borrow();
        Recorder {
            recording: flight.paused().is_none(),
            bytes: flight.bytes(),
            dumps: flight.dumps().len() as u64,
            pauses: flight.pauses(),
        }
    }

    /// Why nothing is recorded now, if that is so.
    pub(super) fn paused(&self) -> Option<String> {
        self.0.borrow().paused()
    }

    /// Nothing worth keeping has happened.
    pub(super) fn discard(&self) {
        self.0.borrow_mut().discard();
    }

    /// Dumps so far.
    pub(super) fn dumps(&self) -> Vec<PathBuf> {
        self.0.borrow().dumps().to_vec()
    }

    /// A new segment if it is time; why a dump is due, if it is.
    pub(super) fn tend(&self, trace: &mut Trace) -> anyhow::Result<Option<&'static str>> {
        let now_ns = boot_ns();
        let due = self.0.borrow_mut().is_due(now_ns);
        if due.is_none() && self.0.borrow_mut().is_full(now_ns) {
            // What waits belongs before the state that the segment begins with.
            trace.take()?;
            let state = trace.state(true)?;
            self.0.borrow_mut().rotate(now_ns, &state);
            let over = self.0.borrow_mut().pause_over();
            if let Some(pause) = over {
                trace.pipeline().take(Input::Paused(pause));
            }
            trace.tell_places();
        }
        Ok(due)
    }

    /// Writes what is kept to a file. The inner error is the file's, and the recorder goes on.
    pub(super) fn dump(&self, trace: &mut Trace, why: &str) -> anyhow::Result<io::Result<PathBuf>> {
        trace.take()?;
        let tables = trace.state(false)?;
        let closing = pipeline::closing(&trace.session().coverage()?, None, None);
        Ok(self.0.borrow_mut().dump(why, &tables, &closing))
    }
}
