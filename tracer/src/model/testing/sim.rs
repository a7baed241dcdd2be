//! A kernel in miniature: tables that are opened and closed in, processes that fork, exec and end, and the events for it.
//!
//! It keeps heads as the kernel program does, and beside them a plain history of every table's `live` as the truth to
//! compare with.

use std::collections::BTreeMap;

use super::{MS, census, child, descriptor, exec, exec_event, exit, head, proc, process, snapshot};
use crate::event::{
    CensusReason, Container, Errno, Event, Failure, Frame, Head, Held, Kind, Kinds, Mark, Name, Opener, Place, Process,
    Reason, Removed, Seen, Slot, Socket, SocketState, Stack, Syscall, TableId,
};

/// Settle time of the simulated kernel.
pub const SETTLE_NS: u64 = 50 * MS;

fn tcp(state: SocketState) -> Socket {
    let end = Some(([127, 0, 0, 1].into(), 8080));
    let connected = state == SocketState::Connected;
    let (local, remote) = (end.filter(|_| connected), end.filter(|_| connected));
    Socket { family: 2, socket_type: 1, protocol: 6, state, local, remote }
}

pub struct Task {
    pub process: Process,
    pub execed: bool,
    pub forked_ns: u64,
}

/// The truth about one table.
#[derive(Default)]
pub struct Truth {
    /// Time and `live` after each change, the first one at first sight.
    pub live: Vec<(u64, u32)>,
    /// Times at which its spawn window was cut.
    pub cuts: Vec<u64>,
}

/// What an exec record must say about its spawn window.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    pub pid: u32,
    pub at_ns: u64,
    pub high_water: u32,
    pub floor: u32,
}

pub struct Sim {
    pub now: u64,
    pub tasks: BTreeMap<u32, Task>,
    pub tables: BTreeMap<u64, Head>,
    pub truth: BTreeMap<u64, Truth>,
    pub windows: Vec<Expected>,
    pub events: Vec<Event>,
    held: BTreeMap<(u64, u32), u32>,
    ids: u32,
}

impl Sim {
    /// Begins at two seconds of boot time.
    pub fn new() -> Sim {
        Sim {
            now: 2000 * MS,
            tasks: BTreeMap::new(),
            tables: BTreeMap::new(),
            truth: BTreeMap::new(),
            windows: Vec::new(),
            events: Vec::new(),
            held: BTreeMap::new(),
            ids: 4241,
        }
    }

    fn id(&mut self) -> u32 {
        self.ids += 1;
        self.ids
    }

    pub fn pass(&mut self, ns: u64) {
        self.now += ns;
    }

    fn table(&mut self, kinds: &[(Kind, u32)]) -> u64 {
        let id = u64::from(self.id()) - 4200;
        let kinds: Kinds = kinds.iter().copied().collect();
        let live = kinds.total() as u32;
        let mut table = head(id, live);
        table.kinds = kinds;
        table.first_ns = self.now;
        table.last_change_ns = self.now;
        table.window_start_ns = self.now;
        let mark = table.now(self.now);
        table.crest = mark.clone();
        table.crest_from_ns = self.now;
        self.tables.insert(id, table.crest(&mark));
        self.truth.insert(id, Truth { live: vec![(self.now, live)], cuts: Vec::new() });
        id
    }

    /// A process that is there at attach, `age` after its start.
    pub fn seeded(&mut self, comm: &str, kinds: &[(Kind, u32)], age: u64) -> u32 {
        let pid = self.id();
        let table = self.table(kinds);
        let mut process = process(pid, table, comm);
        process.id.start_ns = self.now - age;
        process.target = true;
        process.seeded = true;
        self.begin(process, pid, true)
    }

    /// The run command: fdtide's child, and its exec.
    pub fn run(&mut self, path: &str, kinds: &[(Kind, u32)]) -> u32 {
        let pid = self.id();
        let table = self.table(kinds);
        // What fdtide's child holds before the exec is not the program's.
        self.open_as(table, 1, Kind::Pipe, 40);
        self.pass(MS);
        let mut process = process(pid, table, "fdtide");
        process.target = true;
        process.seeded = true;
        process.spawner.id.pid = 4000;
        self.begin(process, pid, false);
        self.exec(pid, path, &[(Kind::Pipe, 40)]);
        pid
    }

    fn begin(&mut self, process: Process, pid: u32, execed: bool) -> u32 {
        let live = self.tables[&process.table.unwrap().0].live;
        self.events.push(proc(self.now, &process, live));
        self.tasks.insert(pid, Task { process, execed, forked_ns: self.now });
        pid
    }

    pub fn fork(&mut self, parent: u32) -> u32 {
        let spawner = self.tasks[&parent].process.clone();
        let from = self.tables[&spawner.table.unwrap().0].clone();
        let pairs: Vec<(Kind, u32)> = from.kinds.iter().collect();
        let pid = self.id();
        let table = self.table(&pairs);
        let mut process = child(pid, table, &spawner.comm.text(), &spawner);
        process.id.start_ns = self.now;
        self.begin(process, pid, false)
    }

    pub fn table_of(&self, pid: u32) -> u64 {
        self.tasks[&pid].process.table.unwrap().0
    }

    /// The process's first thread opens.
    pub fn open(&mut self, pid: u32, kind: Kind, count: u32) {
        self.open_as(self.table_of(pid), pid, kind, count);
    }

    pub fn open_as(&mut self, table: u64, tid: u32, kind: Kind, count: u32) {
        let held = self.held.entry((table, tid)).or_default();
        *held += count;
        let held = *held;
        self.change(table, kind, i64::from(count));
        let head = self.tables.get_mut(&table).unwrap();
        if held > head.thread_high {
            (head.thread_high, head.thread_tid) = (held, tid);
            head.thread_comm = Name::from("worker");
        }
        match head.threads.iter_mut().find(|thread| thread.tid == tid) {
            Some(thread) => (thread.held, thread.high) = (held, thread.high.max(held)),
            None => head.threads.push(Held { tid, comm: Name::from("worker"), high: held, held }),
        }
        head.threads.sort_by_key(|thread| std::cmp::Reverse(thread.high));
    }

    pub fn close(&mut self, pid: u32, kind: Kind, count: u32) {
        self.close_as(self.table_of(pid), pid, kind, count);
    }

    pub fn close_as(&mut self, table: u64, tid: u32, kind: Kind, count: u32) {
        let held = self.held.entry((table, tid)).or_default();
        *held = held.saturating_sub(count);
        self.change(table, kind, -i64::from(count));
    }

    fn change(&mut self, id: u64, kind: Kind, by: i64) {
        let now = self.now;
        let head = self.tables.get_mut(&id).unwrap();
        if now - head.last_change_ns >= SETTLE_NS {
            head.settled = Some(head.live);
            head.window_settled = Some(head.live);
        }
        let of_kind = u32::try_from(i64::from(head.kinds.get(kind)) + by).unwrap();
        head.kinds = head.kinds.iter().filter(|(k, _)| *k != kind).chain([(kind, of_kind)]).collect();
        head.live = head.kinds.total() as u32;
        head.highest = head.live.checked_sub(1);
        head.last_change_ns = now;
        head.window_floor = head.window_floor.min(head.live);
        if by > 0 {
            head.installs += by as u64
        } else {
            head.closes += by.unsigned_abs()
        }
        let mark = head.now(now);
        for scope in [&mut head.life, &mut head.image, &mut head.window, &mut head.crest] {
            if mark.live > scope.live {
                *scope = mark.clone();
            }
        }
        let live = head.live;
        self.truth.get_mut(&id).unwrap().live.push((now, live));
        self.crest(id);
    }

    /// As the kernel program does it.
    fn crest(&mut self, id: u64) {
        let now = self.now;
        let head = self.tables.get_mut(&id).unwrap();
        let (live, floor) = (head.live, head.crest_floor);
        if live > floor && live >= head.crest.live {
            return;
        }
        let height = head.crest.live - floor;
        let fallen = height >= 16 && live <= floor + height / 2;
        if fallen {
            head.crests += 1;
            let seen = Seen { at_ns: now, reason: Reason::Crest, table: head.clone() };
            self.events.push(Event::Table(Box::new(seen)));
        }
        if fallen || (height < 16 && live <= floor) {
            head.crest = head.now(now);
            (head.crest_floor, head.crest_from_ns) = (live, now);
        }
    }

    /// The process could not open something.
    pub fn fail(&mut self, pid: u32, nr: u16, errno: Errno, count: u32) {
        self.failed(pid, Syscall { nr, compat: false, hidden: false }, errno, count);
    }

    /// It got fewer than were sent.
    pub fn fail_hidden(&mut self, pid: u32, nr: u16, errno: Errno) {
        self.failed(pid, Syscall { nr, compat: false, hidden: true }, errno, 1);
    }

    /// It closed what was not open.
    pub fn bad_closes(&mut self, pid: u32, count: u32) {
        let id = self.table_of(pid);
        self.tables.get_mut(&id).unwrap().bad_closes += count;
    }

    fn failed(&mut self, pid: u32, syscall: Syscall, errno: Errno, count: u32) {
        let (now, id) = (self.now, self.table_of(pid));
        let head = self.tables.get_mut(&id).unwrap();
        if let Some(known) = head.failures.iter_mut().find(|f| f.syscall == syscall && f.errno == errno) {
            known.count += count;
            known.last_ns = now;
            return;
        }
        let (live, soft) = (head.live, head.soft);
        let lowest_free = (live < soft).then_some(live);
        head.failures.push(Failure {
            first_ns: now,
            last_ns: now,
            count,
            live,
            soft,
            lowest_free,
            in_use: live,
            syscall,
            errno,
        });
    }

    /// The process execs and loses what is close-on-exec.
    pub fn exec(&mut self, pid: u32, path: &str, cloexec: &[(Kind, u32)]) {
        let now = self.now;
        let own = self.table_of(pid);
        let before = self.tables[&own].clone();
        let task = &self.tasks[&pid];
        let (again, forked_ns) = (task.execed, task.forked_ns);
        let spawner = task.process.spawner.table.filter(|_| !again).map(|id| id.0);
        let spawner_head = spawner.and_then(|id| self.tables.get(&id)).cloned();
        let cut = if again { Some(own) } else { spawner.filter(|_| spawner_head.is_some()) };
        if let Some(table) = cut {
            let since = if again { now } else { forked_ns };
            self.expect(pid, table, since);
        }
        if cut != Some(own) {
            self.truth.get_mut(&own).unwrap().cuts.push(now);
        }
        for (kind, count) in cloexec {
            self.change(own, *kind, -i64::from(*count));
        }
        for id in cut.into_iter().chain([own]) {
            let head = self.tables.get_mut(&id).unwrap();
            (head.window_start_ns, head.window_floor, head.window_settled) = (now, head.live, None);
            (head.thread_high, head.window_installs, head.window_closes) = (0, head.installs, head.closes);
            head.threads.clear();
            head.window = head.now(now);
        }
        let head = self.tables.get_mut(&own).unwrap();
        head.image = head.now(now);
        let head = head.clone();

        let task = self.tasks.get_mut(&pid).unwrap();
        let old_comm = task.process.comm.clone();
        task.process.comm = Name::from_c(&path.as_bytes()[path.rfind('/').map_or(0, |at| at + 1)..]);
        task.execed = true;
        if again {
            task.process.spawner.comm = old_comm.clone();
            task.process.spawner.thread = old_comm.clone();
            (task.process.spawner.id, task.process.spawner.tid) = (task.process.id, pid);
            task.process.spawner.known = true;
        }
        let mut event = exec(now, &task.process, path, head.live, before, spawner_head);
        (event.kinds, event.again, event.old_comm) = (head.kinds, again, old_comm);
        self.events.push(exec_event(event));
    }

    /// What the window of an exec now must be, from the plain history.
    fn expect(&mut self, pid: u32, table: u64, forked_ns: u64) {
        let now = self.now;
        let truth = self.truth.get_mut(&table).unwrap();
        let start = if forked_ns == now {
            truth.cuts.last().copied().unwrap_or(0)
        } else {
            truth.cuts.iter().copied().filter(|cut| *cut <= forked_ns).max().unwrap_or(0)
        };
        // The level when the window began counts too.
        let level = truth.live.iter().take_while(|(at, _)| *at <= start).last().map(|(_, live)| *live);
        let later = truth.live.iter().filter(|(at, _)| *at > start).map(|(_, live)| *live);
        let levels: Vec<u32> = level.into_iter().chain(later).collect();
        truth.cuts.push(now);
        let (high_water, floor) = (*levels.iter().max().unwrap(), *levels.iter().min().unwrap());
        self.windows.push(Expected { pid, at_ns: now, high_water, floor });
    }

    pub fn exit(&mut self, pid: u32, status: u32) {
        let task = self.tasks.remove(&pid).unwrap();
        let table = self.tables.remove(&task.process.table.unwrap().0).unwrap().unused();
        self.events.push(exit(self.now, &task.process, status, table));
    }

    /// A census of the process's table: thread 4299 has opened what is O_PATH, in two functions; thread `pid` the rest;
    /// files were there before.
    pub fn census(&mut self, pid: u32, reason: CensusReason) {
        let head = self.tables[&self.table_of(pid)].clone();
        let id = self.id();
        let kinds = head.kinds.iter().flat_map(|(kind, count)| (0..count).map(move |n| (kind, n)));
        for (number, (kind, n)) in (0..).zip(kinds) {
            let mut row = descriptor(head.id.0, id, number);
            (row.at_ns, row.kind, row.opened_ns) = (self.now, kind, Some(self.now - MS));
            match kind {
                Kind::File => (row.opener, row.opened_ns) = (Opener::Before, None),
                Kind::OPath => {
                    (row.opener, row.stack) = (Opener::Thread(4299), Some(n % 2));
                    (row.file_flags, row.name) = (0o10_000_000, Name::from(format!("/tmp/x/{n}").as_str()));
                }
                _ => (row.opener, row.name) = (Opener::Thread(pid), Name::default()),
            }
            row.socket = match kind {
                Kind::SocketTcp if n % 3 == 0 => Some(tcp(SocketState::Connected)),
                Kind::SocketTcp if n == 1 && head.live < 64 => Some(tcp(SocketState::Listening)),
                Kind::SocketTcp => Some(tcp(SocketState::Unconnected)),
                _ => None,
            };
            self.events.push(Event::Descriptor(Box::new(row)));
        }
        let mut census = census(head.id.0, id, reason, head.live);
        (census.at_ns, census.process, census.tid) = (self.now, self.tasks[&pid].process.id, pid);
        self.events.push(Event::Census(census));
    }

    /// One descriptor came or went, where every one is told.
    pub fn slot(&mut self, pid: u32, number: u32, before: Option<Kind>, now: Option<Kind>) {
        let (at_ns, table, syscall) =
            (self.now, TableId(self.table_of(pid)), Syscall { nr: 3, compat: false, hidden: false });
        let live = self.tables[&table.0].live;
        let slot =
            Slot { at_ns, table, number, now, before, live, pid, tid: pid, opener: Opener::Thread(pid), syscall };
        self.events.push(Event::Slot(slot));
    }

    /// The stacks that a census names: the same functions, twice.
    pub fn stacks(&mut self) {
        for id in 0..2u32 {
            let frame = |symbol: &str, module: &str, offset: u64| Frame {
                module: Name::from(module),
                build_id: "5f3a".to_owned(),
                offset,
                symbol: Some(symbol.to_owned()),
                source: Some("prepare.rs:40".to_owned()),
            };
            let frames = vec![
                frame("openat64", "/usr/lib/libc.so.6", 99),
                frame("landlock_burst::prepare::eager", "/usr/local/bin/landlock-burst", 640 + u64::from(id)),
                frame("landlock_burst::launch::run", "/usr/local/bin/landlock-burst", 800),
            ];
            self.events.push(Event::Stack(Box::new(Stack { at_ns: self.now, id, frames })));
        }
    }

    /// Looks at every table that is still there.
    pub fn end(&mut self) {
        for table in self.tables.values() {
            self.events.push(snapshot(self.now, table.clone()));
        }
    }

    pub fn comm(&mut self, pid: u32, comm: &[u8]) {
        self.tasks.get_mut(&pid).unwrap().process.comm = Name::from_c(comm);
    }

    /// A process that is there at attach, with this id in its own PID namespace, and perhaps in a container.
    pub fn inside(&mut self, comm: &str, kinds: &[(Kind, u32)], ns_pid: u32, container: Option<Container>) -> u32 {
        let pid = self.id();
        let table = self.table(kinds);
        let mut process = process(pid, table, comm);
        process.ns_pid = ns_pid;
        (process.target, process.seeded) = (true, true);
        let (at_ns, id) = (self.now, process.id);
        let place = container.map(|container| Event::Place(Box::new(Place { at_ns, process: id, container })));
        self.events.extend(place);
        self.begin(process, pid, true)
    }

    /// It is traced no longer.
    pub fn remove(&mut self, pid: u32) {
        let process = self.tasks.remove(&pid).unwrap().process;
        let table = process.table.map(|id| self.tables.remove(&id.0).unwrap().unused());
        self.events.push(Event::Removed(Box::new(Removed { at_ns: self.now, process, table })));
    }

    pub fn limit(&mut self, pid: u32, soft: u32) {
        let id = TableId(self.table_of(pid));
        let head = self.tables.get_mut(&id.0).unwrap();
        head.soft = soft;
        let marks: [&mut Mark; 4] = [&mut head.life, &mut head.image, &mut head.window, &mut head.crest];
        marks.into_iter().for_each(|mark| mark.soft = soft);
    }
}
