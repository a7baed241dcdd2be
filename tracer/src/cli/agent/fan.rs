//! One tap for everybody who is shown the inputs of the agent's trace.

use std::{cell::RefCell, rc::Rc};

use crate::{
    agent::{Exporter, alert::Alerts},
    event::Event,
    record::{Input, Shared, Tap},
};

/// Exporters, which the pipeline shows its inputs and the loop everything else.
pub(super) type Exporters = Rc<RefCell<Vec<Box<dyn Exporter>>>>;

/// Shows each input to all of them.
pub(super) struct Fan {
    pub flight: Option<Shared>,
    pub alerts: Rc<RefCell<Alerts>>,
    pub exporters: Exporters,
}

impl Tap for Fan {
    fn take(&mut self, input: &Input<'_>, event: Option<&Event>) {
        if let Some(flight) = &mut self.flight {
            flight.take(input, event);
        }
        match (input, event) {
            (Input::Note(note), _) => self.alerts.borrow_mut().mark(&note.text),
            (_, Some(event)) => self.alerts.borrow_mut().event(event),
            _ => {}
        }
        self.exporters.borrow_mut().iter_mut().for_each(|exporter| exporter.input(input, event));
    }

    fn tick(&mut self, now_ns: u64) {
        if let Some(flight) = &mut self.flight {
            flight.tick(now_ns);
        }
    }

    fn finish(&mut self) -> Option<String> {
        self.flight.as_mut().and_then(Tap::finish)
    }
}
