//! Processes that end: what their children and their spawners learn from it, and who outlives whom.

use std::cmp::Reverse;

use crate::event::{Ended, Exit, Head, Name, ProcId, Process};
use crate::model::Model;
use crate::model::process::Proc;
use crate::model::report::{Orphan, Outlived, RootRow};

/// Ends of roots told.
const ROOTS: usize = 1024;
/// Orphans kept that have ended: those that lived longest; with `Options::stream` the same.
const ORPHANS: usize = 4096;
/// SIGKILL.
const KILL: u8 = 9;

/// Who left a process behind.
#[derive(Clone, Debug)]
pub struct Left {
    /// When it ended.
    pub at_ns: u64,
    /// Its name.
    pub comm: Name,
    /// How it ended.
    pub exit: Exit,
}

/// The processes that the user named, and what became of them.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    ended: Vec<RootRow>,
    /// When the last one ended.
    gone_ns: Option<u64>,
    oom_kills: Option<(u64, bool)>,
}

impl Roots {
    /// A root has come: whoever lives from now on does not live without one.
    pub fn came(&mut self) {
        self.gone_ns = None;
    }

    /// None is left, and there was one.
    pub fn are_gone(&self) -> bool {
        self.gone_ns.is_some()
    }

    /// How the roots ended.
    pub fn into_rows(self) -> Vec<RootRow> {
        let oom = |exit: Exit| match (exit, self.oom_kills) {
            (Exit::Signal { signal: KILL, .. }, None) => None,
            (Exit::Signal { signal: KILL, .. }, Some((0, _))) => Some(false),
            // Somebody was killed somewhere: that says nothing of this one.
            (Exit::Signal { signal: KILL, .. }, Some((_, true))) => None,
            (Exit::Signal { signal: KILL, .. }, Some((_, false))) => Some(true),
            _ => Some(false),
        };
        self.ended.into_iter().map(|row| RootRow { oom_killed: oom(row.exit), ..row }).collect()
    }
}

impl Model {
    /// The OOM killer has killed so many processes during the trace, in the cgroup of the root or in the whole system.
    pub fn oom_kills(&mut self, count: u64, whole_system: bool) {
        self.roots.oom_kills = Some((count, whole_system));
    }

    /// A child has ended without an exec: its copy of the table tells what its spawner held at the fork.
    pub(super) fn forked_only(&mut self, proc: &Proc, event: &Ended) {
        let (Some(from), Some(head), None) = (proc.forked_from, &event.table, &proc.open) else { return };
        if proc.table == Some(from) || head.shared || head.installs + head.closes > 0 {
            return;
        }
        let spawner = &event.process.spawner;
        if let Some(table) = self.tables.get_mut(&from) {
            table.forks().push(proc.forked_live, &self.kinds.get(&head.kinds), Some(head.soft));
            table.forks().spawned(spawner.id.pid, &self.names.get(&spawner.comm));
        }
    }

    /// Children of an ended process are orphans from now on; the process itself may have been one, or a root.
    pub(super) fn part_family(&mut self, process: &Process, proc: &Proc, event: &Ended) {
        let left = Left { at_ns: event.at_ns, comm: self.names.get(&process.comm), exit: event.exit };
        for child in proc.children() {
            if let Some(child) = self.procs.get_mut(child) {
                child.left = Some(Box::new(left.clone()));
            }
        }
        if let Some(spawner) = proc.spawner
            && let Some(spawner) = self.procs.get_mut(&spawner)
        {
            spawner.part(process.id);
        }
        if let Some(mut orphan) = self.orphan(process.id, proc, event.table.as_ref()) {
            orphan.comm = left.comm.clone();
            orphan.end_ns = Some(event.at_ns);
            orphan.exit = Some(event.exit);
            self.orphans.push(orphan);
            self.prune_orphans();
            if let Some(meter) = &mut self.meter {
                meter.orphan_ended(proc.table, event.at_ns);
            }
        }
        if process.target || proc.target {
            self.root_ended(process, left);
        }
    }

    fn root_ended(&mut self, process: &Process, left: Left) {
        if self.roots.ended.len() < ROOTS {
            let Left { at_ns: end_ns, comm, exit } = left;
            self.roots.ended.push(RootRow {
                pid: process.id.pid,
                ns_pid: process.ns_pid,
                container: self.places.of(process.id).cloned(),
                comm,
                end_ns,
                exit,
                oom_killed: None,
            });
        }
        if !self.procs.values().any(|proc| proc.target) {
            self.roots.gone_ns = Some(left.at_ns);
        }
    }

    /// The row of a process that has outlived its spawner, or all roots.
    pub(super) fn orphan(&self, id: ProcId, proc: &Proc, head: Option<&Head>) -> Option<Orphan> {
        let root_ns = self.roots.gone_ns.filter(|_| !proc.target);
        let since_ns = proc.left.as_ref().map(|left| left.at_ns).or(root_ns)?;
        Some(Orphan {
            pid: id.pid,
            comm: proc.comm.clone(),
            outlived: if proc.left.is_some() { Outlived::Spawner } else { Outlived::Root },
            spawner: proc.spawner.map_or(0, |spawner| spawner.pid),
            spawner_comm: proc.left.as_ref().map(|left| left.comm.clone()),
            spawner_exit: proc.left.as_ref().map(|left| left.exit),
            since_ns,
            root_since_ns: root_ns,
            end_ns: None,
            exit: None,
            live: head.map(|head| head.live),
            kinds: head.map(|head| head.kinds.clone()),
        })
    }

    /// Keeps the ended orphans that lived longest, once there are far too many.
    fn prune_orphans(&mut self) {
        if self.orphans.len() >= 2 * ORPHANS {
            let age = |orphan: &Orphan| orphan.end_ns.unwrap_or(u64::MAX).saturating_sub(orphan.since_ns);
            self.orphans.sort_by_key(|orphan| (Reverse(age(orphan)), orphan.since_ns, orphan.pid));
            self.orphans.truncate(ORPHANS);
        }
    }
}
