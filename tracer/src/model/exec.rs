//! Exec records: made at an exec, completed when the image ends.

use crate::event::{Exec, Head, Name, ProcId, Process, TableId, decode::PATH_MAX};
use crate::model::Model;
use crate::model::failure::Tally;
use crate::model::image::{Base, ImageEnd, Open};
use crate::model::process::Proc;
use crate::model::report::{BeforeExec, ExecRecord, Image, SpawnWindow, SpawnerRow};
use crate::model::table::Origin;

impl Model {
    pub(super) fn apply_exec(&mut self, event: &Exec) {
        let process = &event.process;
        let id = process.id;
        let mut proc = self.procs.remove(&id).unwrap_or_else(|| Proc::new(process));
        let mut prior = Tally::default();
        if let Some(open) = proc.open.take() {
            prior = open.failures_at_start();
            self.close_image(*open, event.before.as_ref(), &proc.former, event.at_ns, ImageEnd::Exec);
        }
        if let Some(before) = &event.before {
            self.one_table(process, proc.table, before.id, event.at_ns);
        }
        for head in event.before.iter().chain(&event.spawner) {
            self.observe(head, event.at_ns);
        }

        let caught = process.caught && !event.again;
        let is_root = !process.spawner.known && !event.again && !caught && !self.root_seen;
        let seq = if is_root {
            self.root_seen = true;
            self.recent.start_over();
            self.seen.covered(id);
            0
        } else {
            self.seq += 1;
            self.seq
        };
        let window = self.window(event, is_root, proc.forked_ns);
        self.cut_own(event, is_root);
        self.end_window(event, seq, &window);
        self.forget_fork(id, &mut proc);

        let kept = event.before.as_ref().filter(|before| process.table == Some(before.id));
        if let (Some(meter), Some(before)) = (&mut self.meter, kept) {
            meter.exec_closed(before, event.live, event.at_ns);
        }
        if let Some(table) = process.table {
            self.use_table(table, process, event.at_ns);
            if is_root
                && let Some(before) = kept
                && let Some(table) = self.tables.get_mut(&table)
            {
                let origin = origin(event, before);
                if let Some(meter) = &mut self.meter {
                    meter.start_over(before.id, &origin, event.live);
                }
                table.start_over(origin);
                self.censuses.start_over(before.id);
                self.ages.start_over(before.id, event.at_ns);
            }
        } else {
            self.seen.not_followed += 1;
        }

        proc.comm = process.comm.clone();
        proc.target |= is_root;
        proc.table = process.table;
        proc.former.clear();
        let base = match (process.table, kept) {
            (Some(table), Some(before)) => {
                let Origin { installs, closes, tally, .. } = origin(event, before);
                Some(Base { table, installs, closes, tally, settled: before.settled })
            }
            (Some(table), None) if event.new_table || caught => {
                Some(Base { table, installs: 0, closes: 0, tally: Tally::default(), settled: None })
            }
            _ => None,
        };
        let record = Box::new(self.record(event, seq, window, &prior));
        if seq > 0 {
            self.count(&record, process.spawner.id);
        }
        self.recent.exec(&record, event);
        proc.open = Some(Box::new(Open::new(record, base)));
        self.procs.insert(id, proc);
    }

    /// The spawner's table from its previous exec, or the last one before the fork, to this exec.
    fn window(&mut self, event: &Exec, is_root: bool, forked_ns: Option<u64>) -> SpawnWindow {
        let settle_ns = self.options.settle_ns;
        let spawner = &event.process.spawner;
        if is_root {
            return SpawnWindow::default();
        }
        let head = if event.again { event.before.as_ref().or(event.spawner.as_ref()) } else { event.spawner.as_ref() };
        let since_ns = forked_ns.filter(|_| !event.again);
        if let Some(head) = head {
            let Some(table) = self.tables.get_mut(&head.id) else { return SpawnWindow::default() };
            table.cut(head, event.at_ns, settle_ns);
            let window = table.windows.since(since_ns).or_else(|| table.windows.since(None));
            table.windows.prune();
            return self.intern(window.map(|segment| segment.into_window(head.id.0, false)));
        }
        let table = spawner.table.and_then(|id| self.tables.get(&id)).filter(|table| table.is_over());
        let window = table.zip(since_ns).and_then(|(table, at)| table.windows.since(Some(at)));
        if window.is_some() {
            self.seen.spawner_gone += 1;
        } else if !event.process.caught {
            self.seen.spawner_unknown += 1;
        }
        let id = spawner.table.map_or(0, |id| id.0);
        self.intern(window.map(|segment| segment.into_window(id, true)))
    }

    /// The process's own table begins a new window too; children that it forked before still need the old one.
    fn cut_own(&mut self, event: &Exec, is_root: bool) {
        let settle_ns = self.options.settle_ns;
        if let Some(before) = event.before.as_ref().filter(|_| !is_root && !event.again)
            && event.spawner.as_ref().is_none_or(|spawner| spawner.id != before.id)
            && let Some(table) = self.tables.get_mut(&before.id)
        {
            table.cut(before, event.at_ns, settle_ns);
            table.windows.prune();
        }
    }

    /// The spawner's table is told what this window was; a crest of the process's own what ended it.
    fn end_window(&mut self, event: &Exec, seq: u64, window: &SpawnWindow) {
        if let Some(before) = &event.before
            && let Some(own) = self.tables.get_mut(&before.id)
        {
            own.crests().execed(event.at_ns);
        }
        if let (Some(table), Some(start_ns)) = (window.table, window.start_ns)
            && let Some(table) = self.tables.get_mut(&TableId(table))
        {
            table.crests().window(seq, start_ns, event.at_ns);
            if let (Some(level), Some(kinds)) = (window.settled, &window.at_exec_kinds) {
                let spawner = &event.process.spawner;
                table.listener().window(seq, level, kinds, window.failures.as_deref().unwrap_or_default());
                table.levels().push(level, kinds, window.soft_limit);
                table.levels().spawned(spawner.id.pid, &self.names.get(&spawner.comm));
            }
        }
    }

    fn intern(&mut self, window: Option<SpawnWindow>) -> SpawnWindow {
        let mut window = window.unwrap_or_default();
        window.kinds = window.kinds.map(|kinds| self.kinds.get(&kinds));
        window.at_exec_kinds = window.at_exec_kinds.map(|kinds| self.kinds.get(&kinds));
        if let Some(thread) = &mut window.thread {
            thread.comm = self.names.get(&thread.comm);
        }
        window
    }

    fn record(&mut self, event: &Exec, seq: u64, spawn_window: SpawnWindow, prior: &Tally) -> ExecRecord {
        let process = &event.process;
        let before = event.before.as_ref();
        let mark = before.map(|head| head.at_least_now(&head.image, event.at_ns));
        let kinds = &mut self.kinds;
        let before_exec = BeforeExec {
            high_water: mark.as_ref().map(|mark| mark.live),
            kinds: mark.as_ref().map(|mark| kinds.get(&mark.kinds)),
            live: before.map(|head| head.live),
            soft_limit: mark.as_ref().map(|mark| mark.soft),
            headroom: mark.as_ref().map(|mark| mark.soft.saturating_sub(mark.live)),
            failures: before.map(|head| prior.since(head)),
            shared: before.map(|head| head.shared),
        };
        let spawner = &process.spawner;
        ExecRecord {
            seq,
            at_ns: event.at_ns,
            spawner: SpawnerRow {
                pid: spawner.id.pid,
                tid: spawner.tid,
                comm: self.names.get(&spawner.comm),
                thread: self.names.get(&spawner.thread),
            },
            pid: process.id.pid,
            ns_pid: process.ns_pid,
            program: self.names.get(&program(&event.path, process)),
            path: self.names.get(&event.path),
            comm: self.names.get(&process.comm),
            again: event.again,
            container: self.places.of(process.id).cloned(),
            table: process.table.map(|id| id.0),
            mark: self.marks.before(event.at_ns),
            spawn_window,
            before_exec,
            inherited: event.live,
            inherited_kinds: self.kinds.get(&event.kinds),
            image: Image::running(),
        }
    }

    fn count(&mut self, record: &ExecRecord, spawner: ProcId) {
        let key = (record.spawner.comm.clone(), record.program.clone());
        self.values.entry(key).or_default().count(record);
        if let Some(meter) = &mut self.meter {
            meter.exec(record, self.places.label(spawner));
        }
    }
}

/// What was there before this exec, on a table that the exec keeps.
fn origin(event: &Exec, before: &Head) -> Origin {
    // What the exec itself closes is no close of the image.
    let closed = before.live.saturating_sub(event.live);
    Origin {
        at_ns: event.at_ns,
        installs: before.installs,
        closes: before.closes.saturating_add(closed.into()),
        tally: Tally::of(before),
        crests: before.crests,
        bad_closes: before.bad_closes,
    }
}

/// Base name of the program; the process's new name where the path is only a descriptor, or may have been cut.
fn program(path: &Name, process: &Process) -> Name {
    let base = path.basename();
    let parent = path.as_bytes().strip_suffix(base.as_bytes());
    let by_descriptor = matches!(parent, Some(b"/dev/fd/" | b"/proc/self/fd/"));
    if by_descriptor || base.is_empty() || path.as_bytes().len() >= PATH_MAX { process.comm.clone() } else { base }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    #[test]
    fn a_program_run_by_descriptor_has_its_process_name() {
        let process = testing::process(7, 1, "runc");
        assert_eq!(program(&Name::from("/usr/bin/true"), &process), Name::from("true"));
        assert_eq!(program(&Name::from("true"), &process), Name::from("true"));
        for path in ["/dev/fd/5", "/proc/self/fd/12", "", "dir/"] {
            assert_eq!(program(&Name::from(path), &process), Name::from("runc"), "{path}");
        }
        let long = format!("/{}", "x".repeat(PATH_MAX));
        assert_eq!(program(&Name::from(long.as_str()), &process), Name::from("runc"));
    }
}
