//! Which records are of targets: where the kernel could not tell, it traced first, and this is where the answer is given.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use crate::{
    event::{Event, Exec, ProcId, Process, Reason, TableId, decode},
    probe::Verdict,
};

/// What is known of a process that the kernel was not sure of.
#[derive(Clone, Copy, Debug)]
struct Standing {
    /// The group that it belongs to; none if it is not meant.
    group: Option<u32>,
}

/// Keeps the records of targets and drops those of processes that turn out not to be meant.
#[derive(Debug, Default)]
pub(super) struct Sift {
    procs: HashMap<ProcId, Standing>,
    groups: HashMap<u32, Standing>,
    /// Tables of processes that are not meant.
    tables: HashSet<TableId>,
    /// Those among them that have gone: a record of a look that was under way may still come.
    gone: Vec<TableId>,
    gone_before: Vec<TableId>,
    /// Verdicts that the kernel has not been told yet.
    waiting: Vec<(u32, Verdict)>,
    /// Targets among them.
    accepted: Vec<ProcId>,
    /// Groups whose verdicts it has been told: no record after the next ones names them.
    told: Vec<u32>,
}

/// What the kernel is to be told.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub verdicts: Vec<(u32, Verdict)>,
    pub accepted: Vec<ProcId>,
}

impl Sift {
    /// What is left of one record: itself, what may be told of it, or nothing. `fits` answers for an exec.
    pub(super) fn sift<'a>(
        &mut self,
        bytes: &'a [u8],
        event: &Event,
        mut fits: impl FnMut(&Process, Option<&Exec>) -> bool,
    ) -> Option<Cow<'a, [u8]>> {
        let kept = match event {
            Event::Exec(exec) if exec.process.group.unsure => return self.exec(bytes, exec, fits),
            Event::Proc(event) => self.process(&event.process, &mut fits),
            Event::Move(event) => {
                let kept = self.process(&event.process, &mut fits);
                if !kept {
                    self.tables.insert(event.to);
                }
                kept
            }
            Event::Exit(event) => self.gone(&event.process, event.table.as_ref().is_some_and(|head| head.users == 0)),
            Event::Removed(event) => {
                self.gone(&event.process, event.table.as_ref().is_some_and(|head| head.users == 0))
            }
            Event::Table(event) => {
                let dropped = self.tables.contains(&event.table.id);
                if dropped && matches!(event.reason, Reason::Left | Reason::Replaced) {
                    self.gone.push(event.table.id);
                }
                !dropped
            }
            Event::Census(event) => !self.tables.contains(&event.table),
            Event::Descriptor(event) => !self.tables.contains(&event.table),
            Event::Slot(event) => !self.tables.contains(&event.table),
            Event::Exec(_) | Event::Stack(_) | Event::Place(_) => true,
        };
        kept.then_some(Cow::Borrowed(bytes))
    }

    /// Every exec of a process that is not a target's yet is a question of its own.
    fn exec<'a>(
        &mut self,
        bytes: &'a [u8],
        exec: &Exec,
        mut fits: impl FnMut(&Process, Option<&Exec>) -> bool,
    ) -> Option<Cow<'a, [u8]>> {
        let process = &exec.process;
        let before = self.procs.get(&process.id).and_then(|standing| standing.group);
        if let Some(group) = before {
            self.stand(process, Some(group));
            return Some(Cow::Borrowed(bytes));
        }
        if !fits(process, Some(exec)) {
            self.stand(process, None);
            return None;
        }
        self.stand(process, Some(process.group.id));
        self.accepted.push(process.id);
        let alone = process.caught && !exec.again && !process.spawner.known;
        if alone { Some(Cow::Borrowed(bytes)) } else { decode::without_spawner(bytes).map(Cow::Owned) }
    }

    /// Whether records of this process are kept.
    fn process(&mut self, process: &Process, fits: &mut impl FnMut(&Process, Option<&Exec>) -> bool) -> bool {
        if !process.group.unsure {
            return true;
        }
        let known = self.procs.get(&process.id).or_else(|| self.groups.get(&process.group.id));
        let spawner = process.spawner.known.then_some(process.spawner.id);
        let known = known.or_else(|| self.procs.get(&spawner?)).copied();
        let standing = match known {
            Some(standing) => standing,
            // The exec that the answer was for did not come through.
            None => {
                let group = fits(process, None).then_some(process.group.id);
                self.stand(process, group);
                if group.is_some() {
                    self.accepted.push(process.id);
                }
                return group.is_some();
            }
        };
        self.procs.insert(process.id, standing);
        // Forked while the answer was on its way: it has to be given once more.
        if self.told.contains(&process.group.id) {
            let verdict = standing.group.map_or(Verdict::Leaves, Verdict::Stays);
            self.waiting.push((process.group.id, verdict));
        }
        match standing.group {
            Some(_) => true,
            None => {
                self.tables.extend(process.table);
                false
            }
        }
    }

    /// A process and its group stand like this from now on; the kernel is told.
    fn stand(&mut self, process: &Process, group: Option<u32>) {
        let verdict = group.map_or(Verdict::Leaves, Verdict::Stays);
        self.waiting.push((process.group.id, verdict));
        self.procs.insert(process.id, Standing { group });
        self.groups.insert(process.group.id, Standing { group });
        match (process.table, group) {
            (Some(table), None) => drop(self.tables.insert(table)),
            (Some(table), Some(_)) => drop(self.tables.remove(&table)),
            (None, _) => {}
        }
    }

    /// A process has ended, or is traced no longer. Whether it was a target's.
    fn gone(&mut self, process: &Process, last: bool) -> bool {
        let standing = self.procs.remove(&process.id);
        let standing = standing.or_else(|| {
            let unsure = process.group.unsure;
            unsure.then(|| self.groups.get(&process.group.id).copied()).flatten()
        });
        let kept = match standing {
            Some(standing) => standing.group.is_some(),
            // Of one that was never heard of nothing is told at its end.
            None => !process.group.unsure,
        };
        if let Some(table) = process.table.filter(|table| last && self.tables.contains(table)) {
            self.gone.push(table);
        }
        kept
    }

    /// What the kernel is to be told. Only after every record that waited has been sifted.
    pub(super) fn answers(&mut self) -> Answers {
        for group in std::mem::take(&mut self.told) {
            self.groups.remove(&group);
        }
        for table in std::mem::replace(&mut self.gone_before, std::mem::take(&mut self.gone)) {
            self.tables.remove(&table);
        }
        self.told = self.waiting.iter().map(|(group, _)| *group).collect();
        Answers { verdicts: std::mem::take(&mut self.waiting), accepted: std::mem::take(&mut self.accepted) }
    }

    /// Whether a table is a target's.
    pub(super) fn shows(&self, table: TableId) -> bool {
        !self.tables.contains(&table)
    }

    /// Whether there is nothing to tell, nor to forget.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.told.is_empty() && self.gone.is_empty() && self.gone_before.is_empty()
    }
}

#[cfg(test)]
#[path = "sift_tests.rs"]
mod tests;
