//! Which container each process is in.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::event::{Container, Name, Place, ProcId};
use crate::model::report::ContainerRow;

/// Containers told.
const MOST: usize = 4096;

/// The containers of processes that are there, and all that were seen.
#[derive(Clone, Debug, Default)]
pub struct Places {
    of: HashMap<ProcId, Arc<Container>>,
    seen: BTreeMap<Name, (Arc<Container>, u64)>,
}

impl Places {
    /// A process was found to be in one.
    pub fn found(&mut self, place: &Place) {
        let id = &place.container.id;
        let known = self.seen.get(id).map(|(known, _)| Arc::clone(known));
        let container = known.unwrap_or_else(|| Arc::new(place.container.clone()));
        if self.seen.len() < MOST {
            self.seen.entry(id.clone()).or_insert_with(|| (Arc::clone(&container), 0));
        }
        self.enter(place.process, container);
    }

    /// A process is where its spawner is, unless it was found elsewhere before.
    pub fn forked(&mut self, process: ProcId, spawner: ProcId) {
        if !self.of.contains_key(&process)
            && let Some(container) = self.of.get(&spawner).map(Arc::clone)
        {
            self.enter(process, container);
        }
    }

    fn enter(&mut self, process: ProcId, container: Arc<Container>) {
        let id = container.id.clone();
        if self.of.insert(process, container).is_none_or(|before| before.id != id)
            && let Some((_, processes)) = self.seen.get_mut(&id)
        {
            *processes += 1;
        }
    }

    /// The id of a process's container.
    pub fn of(&self, process: ProcId) -> Option<&Name> {
        self.of.get(&process).map(|container| &container.id)
    }

    /// What its container is called beside other figures: its name, or its short id; empty for none.
    pub fn label(&self, process: ProcId) -> Name {
        let of = self.of.get(&process);
        of.map(|container| container.name.clone().unwrap_or_else(|| container.short())).unwrap_or_default()
    }

    /// A process is there no longer.
    pub fn gone(&mut self, process: ProcId) {
        self.of.remove(&process);
    }

    /// Every container that was seen, by id.
    pub fn into_rows(self) -> Vec<ContainerRow> {
        let row = |(container, processes): (Arc<Container>, u64)| {
            let Container { runtime, id, name } = Arc::unwrap_or_clone(container);
            ContainerRow { id, runtime, name, processes }
        };
        self.seen.into_values().map(row).collect()
    }
}
