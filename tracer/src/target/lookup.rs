//! Containers of traced processes, asked of /proc when a process comes or execs.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    event::{Container, Event, Place, ProcId, Process},
    procfs::{self, Names, Stat},
};

/// Tells where processes are, each time that this is news.
#[derive(Debug)]
pub(super) struct Lookup {
    root: PathBuf,
    names: Names,
    known: HashMap<ProcId, Arc<Container>>,
}

impl Lookup {
    pub(super) fn new(root: &Path) -> Lookup {
        Lookup { root: root.to_owned(), names: Names::new(root), known: HashMap::new() }
    }

    /// Where the process of this event is, if that is news: to be told before the event.
    pub(super) fn look(&mut self, event: &Event) -> Option<Place> {
        match event {
            Event::Proc(event) => {
                let process = &event.process;
                self.inherit(process);
                // What was forked under trace is where its spawner is, until it execs.
                if process.spawner.known { None } else { self.place(process, event.at_ns) }
            }
            Event::Exec(event) => {
                self.inherit(&event.process);
                self.place(&event.process, event.at_ns)
            }
            Event::Exit(event) => self.forget(event.process.id),
            Event::Removed(event) => self.forget(event.process.id),
            _ => None,
        }
    }

    fn forget(&mut self, process: ProcId) -> Option<Place> {
        self.known.remove(&process);
        None
    }

    fn inherit(&mut self, process: &Process) {
        if !self.known.contains_key(&process.id)
            && process.spawner.known
            && let Some(container) = self.known.get(&process.spawner.id).cloned()
        {
            self.known.insert(process.id, container);
        }
    }

    fn place(&mut self, process: &Process, at_ns: u64) -> Option<Place> {
        let ProcId { pid, start_ns } = process.id;
        let container = procfs::container_in(&procfs::cgroups_of(&self.root, pid))?;
        if self.known.get(&process.id).is_some_and(|known| known.id == container.id) {
            return None;
        }
        // Another process with the same id may have been looked at.
        if !Stat::of(&self.root, pid).is_some_and(|stat| stat.started_at(start_ns)) {
            return None;
        }
        let container = self.names.fill(container);
        self.known.insert(process.id, Arc::new(container.clone()));
        Some(Place { at_ns, process: process.id, container })
    }

    /// Where every process is, at this moment: for a recording that begins here.
    pub(super) fn all(&self, at_ns: u64) -> Vec<Place> {
        let place = |(process, container): (&ProcId, &Arc<Container>)| Place {
            at_ns,
            process: *process,
            container: Container::clone(container),
        };
        let mut all: Vec<Place> = self.known.iter().map(place).collect();
        all.sort_by_key(|place| place.process);
        all
    }
}
