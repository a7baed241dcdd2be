//! What of the events is worth an alert.

use std::{collections::HashMap, sync::Arc};

use super::{Alert, Cause, SCHEMA};
use crate::{
    agent::config::Headroom,
    event::{Container, Event, Head, Name, ProcId, Process, Reason, TableId},
    model::{Anchor, rfc3339},
};

/// Tables that are followed.
#[derive(Debug)]
pub(super) struct Watch {
    host: String,
    anchor: Anchor,
    /// How near to its limit a table may come.
    pub headroom: Option<Headroom>,
    /// The last mark.
    pub mark: Option<String>,
    tables: HashMap<TableId, Known>,
    /// Processes in containers.
    containers: HashMap<ProcId, Arc<Container>>,
}

#[derive(Debug, Default)]
struct Known {
    pid: u32,
    ns_pid: Option<u32>,
    comm: Name,
    container: Option<Arc<Container>>,
    failures: u64,
    near: bool,
}

impl Watch {
    pub fn new(host: String, anchor: Anchor, headroom: Option<Headroom>) -> Watch {
        Watch { host, anchor, headroom, mark: None, tables: HashMap::new(), containers: HashMap::new() }
    }

    /// What is to be told after this event.
    pub fn event(&mut self, event: &Event) -> Vec<Alert> {
        match event {
            Event::Place(place) => {
                self.containers.insert(place.process, Arc::new(place.container.clone()));
                Vec::new()
            }
            Event::Proc(proc) => {
                self.inherit(&proc.process);
                self.uses(&proc.process, proc.process.table);
                Vec::new()
            }
            Event::Move(moved) => {
                self.uses(&moved.process, Some(moved.to));
                Vec::new()
            }
            Event::Exec(exec) => {
                let alerts = exec.before.iter().chain(&exec.spawner).flat_map(|head| self.head(head, exec.at_ns));
                let alerts = alerts.collect();
                self.uses(&exec.process, exec.process.table);
                alerts
            }
            Event::Exit(ended) => {
                self.containers.remove(&ended.process.id);
                let Some(head) = &ended.table else { return Vec::new() };
                let alerts = self.head(head, ended.at_ns);
                if head.users == 0 {
                    self.tables.remove(&head.id);
                }
                alerts
            }
            Event::Table(seen) => {
                let alerts = self.head(&seen.table, seen.at_ns);
                if matches!(seen.reason, Reason::Left | Reason::Replaced) {
                    self.tables.remove(&seen.table.id);
                }
                alerts
            }
            Event::Removed(removed) => {
                self.containers.remove(&removed.process.id);
                let Some(head) = &removed.table else { return Vec::new() };
                let alerts = self.head(head, removed.at_ns);
                if head.users == 0 {
                    self.tables.remove(&head.id);
                }
                alerts
            }
            Event::Census(_) | Event::Descriptor(_) | Event::Slot(_) | Event::Stack(_) => Vec::new(),
        }
    }

    /// What was forked is where its spawner is, unless its own place was told before it.
    fn inherit(&mut self, process: &Process) {
        if !self.containers.contains_key(&process.id)
            && let Some(container) = self.containers.get(&process.spawner.id).cloned()
        {
            self.containers.insert(process.id, container);
        }
    }

    /// A process is the one that a table is told by: the first one, under its last name.
    fn uses(&mut self, process: &Process, table: Option<TableId>) {
        let Some(table) = table else { return };
        let known = self.tables.entry(table).or_default();
        if known.pid == 0 || known.pid == process.id.pid {
            (known.pid, known.ns_pid) = (process.id.pid, Some(process.ns_pid));
            (known.comm, known.container) = (process.comm.clone(), self.containers.get(&process.id).cloned());
        }
    }

    fn head(&mut self, head: &Head, at_ns: u64) -> Vec<Alert> {
        let known = self.tables.entry(head.id).or_default();
        if known.pid == 0 {
            known.pid = head.owner;
        }
        let mut alerts = Vec::new();
        let failures = head.failures.iter().map(|failure| u64::from(failure.count)).sum::<u64>();
        let failures = failures + u64::from(head.failures_other);
        if failures > known.failures {
            known.failures = failures;
            alerts.push(Cause::Failure);
        }
        // The crest may have been between two looks.
        let top = head.crest.live.max(head.live);
        let left = head.soft.saturating_sub(top);
        let near = self.headroom.is_some_and(|headroom| headroom.is_near(left, head.soft));
        if near && !known.near {
            alerts.push(Cause::Headroom);
        }
        known.near = near;
        alerts.into_iter().map(|cause| self.alert(cause, head, at_ns, failures)).collect()
    }

    fn alert(&self, cause: Cause, head: &Head, at_ns: u64, failures: u64) -> Alert {
        let known = self.tables.get(&head.id);
        let (pid, comm) = known.map_or((head.owner, Name::default()), |known| (known.pid, known.comm.clone()));
        let container = known.and_then(|known| known.container.as_deref().cloned());
        // The one that failed last; what came beyond the kinds that are kept apart has no name.
        let failure = head.failures.iter().max_by_key(|failure| failure.last_ns).filter(|_| cause == Cause::Failure);
        let (errno, syscall) = match failure {
            Some(failure) => (Some(failure.errno.name().into_owned()), Some(failure.syscall.name().into_owned())),
            None => (None, None),
        };
        let top = head.crest.live.max(head.live);
        let text = match (&errno, &syscall) {
            (Some(errno), Some(syscall)) => {
                format!(
                    "{comm}[{pid}] was refused a descriptor: {errno} on {syscall}, {} of {} live",
                    head.live, head.soft
                )
            }
            _ if cause == Cause::Failure => format!("{comm}[{pid}] was refused a descriptor"),
            _ => format!("{comm}[{pid}] comes near its limit: {top} of {} live", head.soft),
        };
        Alert {
            schema: SCHEMA,
            cause,
            host: self.host.clone(),
            at: rfc3339(self.anchor.wall_unix_ns + at_ns.saturating_sub(self.anchor.boot_ns)),
            at_ns,
            pid,
            ns_pid: known.and_then(|known| known.ns_pid),
            container,
            comm,
            table: head.id.0,
            live: head.live,
            high_water: head.life.live.max(top),
            soft_limit: head.soft,
            errno,
            syscall,
            failures,
            mark: self.mark.clone(),
            suppressed: 0,
            text,
        }
    }
}
