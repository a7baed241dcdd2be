//! What the tool has seen of each process: its table, and the tables that it used before in the same image.

use std::collections::{HashMap, HashSet, VecDeque};

use fdtide::{
    event::{Event, Exec, Head, TableId, decode},
    kernel::preemption,
    probe::{Choice, LoadOptions, Session},
};

/// Snapshots at most until every table is in one.
const SNAPSHOTS: usize = 5;

/// Hooks attached to a process and its descendants.
pub struct Follow {
    session: Session,
    seen: Seen,
    missed: u64,
}

/// The record of a process that has come to its end.
#[derive(Debug)]
pub struct End {
    /// Its table before teardown.
    pub table: Option<Head>,
    /// The execs that it went through.
    pub execs: Vec<Exec>,
}

#[derive(Default)]
struct Seen {
    processes: HashMap<u32, Used>,
    /// Tables as they were when they were last seen.
    heads: HashMap<TableId, Head>,
    /// By process id, which may be given away again between two looks: first one first.
    ends: HashMap<u32, VecDeque<End>>,
}

#[derive(Default)]
struct Used {
    table: Option<TableId>,
    /// Tables that this image has left.
    left: Vec<TableId>,
    execs: Vec<Exec>,
}

impl Follow {
    /// Loads, attaches, and traces a process with its descendants.
    pub fn attach(pid: u32) -> Self {
        let mut session = Session::open(Choice::from_env(), &LoadOptions::default()).expect("a session");
        session.add_target(pid).expect("the process is traced");
        Self { session, seen: Seen::default(), missed: 0 }
    }

    /// Takes the records that wait, and a look at every table.
    pub fn look(&mut self) {
        let Self { session, seen, missed } = self;
        *missed += session.heal().expect("a walk");
        // A map that others change meanwhile may be walked past an entry: what was not there is looked for again.
        for _ in 0..SNAPSHOTS {
            session.drain(|bytes| seen.apply(decode(bytes).expect("a record of this version")));
            let mut found = HashSet::new();
            let look = |bytes: &[u8]| {
                let event = decode(bytes).expect("a record");
                if let Event::Table(table) = &event {
                    found.insert(table.table.id);
                }
                seen.apply(event);
            };
            session.snapshot(look).expect("a snapshot");
            if seen.processes.values().all(|used| used.table.is_none_or(|id| found.contains(&id))) {
                break;
            }
        }
    }

    /// The table of a process when it was last looked at.
    pub fn table(&self, pid: u32) -> Result<&Head, String> {
        let used = self.seen.processes.get(&pid).ok_or_else(|| format!("process {pid} is not traced"))?;
        let id = used.table.ok_or_else(|| format!("the table of process {pid} is not followed"))?;
        self.seen.heads.get(&id).ok_or_else(|| format!("the table {id:?} of process {pid} is not there"))
    }

    /// The greatest count that this image of a process has had, in all of its tables.
    pub fn high(&self, pid: u32) -> Option<u32> {
        let used = self.seen.processes.get(&pid)?;
        let heads = used.table.iter().chain(&used.left).filter_map(|id| self.seen.heads.get(id));
        heads.map(|head| head.image.live).max()
    }

    /// What is known of a process that has ended since the last time it was asked for.
    pub fn end(&mut self, pid: u32) -> Option<End> {
        self.seen.ends.get_mut(&pid).and_then(VecDeque::pop_front)
    }

    /// Runs of hooks that the kernel had missed when it was last looked.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Looks that did not wait for another one to end.
    pub fn busy(&self) -> u64 {
        let seen = self.session.coverage().expect("the counters");
        seen.counters.iter().filter(|(counter, _)| counter.name() == "lock_busy").map(|(_, count)| count).sum()
    }

    /// What the kernel program has counted so far, in words.
    pub fn counted(&self) -> String {
        let seen = self.session.coverage().expect("the counters");
        let missed: Vec<_> = seen.missed.iter().filter(|(_, count)| *count > 0).collect();
        let counters: Vec<_> = seen.counters.iter().filter(|(_, count)| *count > 0).collect();
        format!("{counters:?}, missed {missed:?}")
    }

    /// Detaches. What was not seen, in words; None if nothing escaped. Runs are missed only where the kernel preempts tasks inside of
    /// programs.
    pub fn stop(self) -> Option<String> {
        let stopped = self.session.stop(|_| {}).expect("it stops");
        let missed: Vec<_> = stopped.missed.iter().filter(|(_, count)| *count > 0).collect();
        let counters: Vec<_> = stopped.counters.iter().filter(|(_, count)| *count > 0).collect();
        let strange = !missed.is_empty() && !preemption::inside_of_programs();
        (stopped.lost() > 0 || strange).then(|| format!("missed {missed:?}, counted {counters:?}"))
    }
}

impl Seen {
    fn apply(&mut self, event: Event) {
        match event {
            Event::Proc(proc) => {
                let used = Used { table: proc.process.table, ..Used::default() };
                self.processes.insert(proc.process.id.pid, used);
            }
            Event::Exec(exec) => {
                let used = self.processes.entry(exec.process.id.pid).or_default();
                used.table = exec.process.table;
                used.left.clear();
                used.execs.push(*exec);
            }
            Event::Move(moved) => {
                let used = self.processes.entry(moved.process.id.pid).or_default();
                // A thread may have got a table of its own, while the process keeps its table.
                if used.table != moved.process.table {
                    used.left.extend(used.table);
                    used.table = moved.process.table;
                }
            }
            Event::Exit(ended) => {
                let used = self.processes.remove(&ended.process.id.pid).unwrap_or_default();
                if let Some(head) = &ended.table {
                    self.heads.insert(head.id, head.clone());
                }
                let end = End { table: ended.table, execs: used.execs };
                self.ends.entry(ended.process.id.pid).or_default().push_back(end);
            }
            Event::Table(seen) => {
                self.heads.insert(seen.table.id, seen.table);
            }
            Event::Census(_) | Event::Descriptor(_) | Event::Slot(_) | Event::Stack(_) => {}
            Event::Removed(_) | Event::Place(_) => {}
        }
    }
}
