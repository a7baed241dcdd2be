//! Processes that end: what their children and their spawners learn from it.

use crate::event::{Ended, Process};
use crate::model::process::Proc;
use crate::model::{Model, report};

impl Model {
    /// A child has ended without an exec: its copy of the table tells what its spawner held at the fork.
    pub(super) fn forked_only(&mut self, proc: &Proc, event: &Ended) {
        let (Some(from), Some(head), None) = (proc.forked_from, &event.table, &proc.open) else { return };
        if proc.table == Some(from) || head.shared || head.installs + head.closes > 0 {
            return;
        }
        let spawner = &event.process.spawner;
        if let Some(table) = self.tables.get_mut(&from) {
            table.forks.push(proc.forked_live, &self.kinds.get(&head.kinds), Some(head.soft));
            table.forks.spawned(spawner.id.pid, &self.names.get(&spawner.comm));
        }
    }

    /// Children of an ended process are orphans from now on; the process itself may have been one.
    pub(super) fn part_family(&mut self, process: &Process, proc: &Proc, event: &Ended) {
        for child in &proc.children {
            if let Some(child) = self.procs.get_mut(child) {
                child.orphan_since = Some(event.at_ns);
            }
        }
        if let Some(spawner) = proc.spawner
            && let Some(spawner) = self.procs.get_mut(&spawner)
        {
            spawner.children.remove(&process.id);
        }
        if let Some(since_ns) = proc.orphan_since
            && !self.options.stream
        {
            self.orphans.push(report::Orphan {
                pid: process.id.pid,
                comm: self.names.get(&process.comm),
                spawner: process.spawner.id.pid,
                since_ns,
                end_ns: Some(event.at_ns),
                live: event.table.as_ref().map(|head| head.live),
                kinds: event.table.as_ref().map(|head| self.kinds.get(&head.kinds)),
            });
        }
    }
}
