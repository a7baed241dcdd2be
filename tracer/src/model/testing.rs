//! Scripted events for tests: single ones here, whole runs from a small simulated kernel in [`sim`].

pub mod sample;
pub mod sim;

use crate::event::{
    Census, CensusReason, Descriptor, Ended, Errno, Event, Exec, Exit, Failure, Head, Kind, Kinds, Mark, Name, Opener,
    Proc, ProcId, Process, Reason, Seen, Spawner, Syscall, TableId,
};

/// One millisecond, nanoseconds.
pub const MS: u64 = 1_000_000;

/// Only files.
pub fn files(count: u32) -> Kinds {
    [(Kind::File, count)].into_iter().collect()
}

/// A mark of files only.
pub fn mark(at_ns: u64, live: u32) -> Mark {
    Mark { at_ns, live, highest: live.checked_sub(1), soft: 1024, kinds: files(live) }
}

/// One refused `openat` in a table that is full.
pub const EMFILE: Failure = Failure {
    first_ns: 1,
    last_ns: 1,
    count: 1,
    live: 64,
    soft: 64,
    lowest_free: None,
    in_use: 64,
    syscall: Syscall { nr: 257, compat: false, hidden: false },
    errno: Errno::EMFILE,
};

/// A table that has always held `live` files.
pub fn head(id: u64, live: u32) -> Head {
    Head {
        id: TableId(id),
        first_ns: 0,
        last_change_ns: 0,
        window_start_ns: 0,
        installs: 0,
        closes: 0,
        window_installs: 0,
        window_closes: 0,
        seeded: false,
        shared: false,
        users: 1,
        owner: id as u32,
        live,
        highest: live.checked_sub(1),
        soft: 1024,
        settled: None,
        window_settled: None,
        window_floor: live,
        thread_high: 0,
        thread_tid: 0,
        thread_comm: Name::default(),
        kinds: files(live),
        life: mark(0, live),
        image: mark(0, live),
        window: mark(0, live),
        crest: mark(0, live),
        crest_floor: live,
        crest_from_ns: 0,
        crests: 0,
        threads: Vec::new(),
        bad_closes: 0,
        failures: Vec::new(),
        failures_other: 0,
    }
}

impl Head {
    /// Its life, image and window have been at this mark.
    pub fn crest(mut self, mark: &Mark) -> Head {
        self.life = mark.clone();
        self.image = mark.clone();
        self.window = mark.clone();
        self
    }

    /// It last changed then.
    pub fn changed(mut self, at_ns: u64) -> Head {
        self.last_change_ns = at_ns;
        self
    }

    /// Nobody uses it any more.
    pub fn unused(mut self) -> Head {
        self.users = 0;
        self
    }
}

/// A process with a table, forked by nobody who is known.
pub fn process(pid: u32, table: u64, comm: &str) -> Process {
    Process {
        id: ProcId { start_ns: u64::from(pid), pid },
        ns_pid: pid,
        table: (table != 0).then_some(TableId(table)),
        comm: Name::from(comm),
        target: false,
        seeded: false,
        caught: false,
        group: crate::event::Group::default(),
        spawner: Spawner {
            id: ProcId { start_ns: 0, pid: 0 },
            tid: 0,
            table: None,
            comm: Name::default(),
            thread: Name::default(),
            known: false,
        },
    }
}

/// A process that another one forked.
pub fn child(pid: u32, table: u64, comm: &str, spawner: &Process) -> Process {
    let spawner = Spawner {
        id: spawner.id,
        tid: spawner.id.pid + 1,
        table: spawner.table,
        comm: spawner.comm.clone(),
        thread: Name::from("launcher"),
        known: true,
    };
    Process { spawner, ..process(pid, table, comm) }
}

/// The process is followed from now on.
pub fn proc(at_ns: u64, process: &Process, live: u32) -> Event {
    Event::Proc(Box::new(Proc { at_ns, process: process.clone(), live, soft: 1024 }))
}

/// The process has gone through an exec that leaves it `live` files.
pub fn exec(at_ns: u64, process: &Process, path: &str, live: u32, before: Head, spawner: Option<Head>) -> Exec {
    Exec {
        at_ns,
        process: process.clone(),
        again: false,
        new_table: false,
        old_tid: process.id.pid,
        old_comm: Name::from("old"),
        path: Name::from(path),
        live,
        highest: live.checked_sub(1),
        soft: 1024,
        kinds: files(live),
        before: Some(before),
        spawner,
    }
}

/// As an event.
pub fn exec_event(exec: Exec) -> Event {
    Event::Exec(Box::new(exec))
}

/// The process has ended.
pub fn exit(at_ns: u64, process: &Process, status: u32, table: Head) -> Event {
    let exit = Exit::from_wait(status);
    Event::Exit(Box::new(Ended { at_ns, process: process.clone(), exit, table: Some(table) }))
}

/// A census of `live` descriptors.
pub fn census(table: u64, census: u32, reason: CensusReason, live: u32) -> Census {
    let process = ProcId { start_ns: 1, pid: table as u32 };
    let (table, at_ns) = (TableId(table), 5 * MS);
    Census { at_ns, table, census, reason, process, tid: 7, live, soft: 1024, rows: live, lost: 0, took_ns: 40_000 }
}

/// One row of it: a file that thread 7 has opened.
pub fn descriptor(table: u64, census: u32, number: u32) -> Descriptor {
    Descriptor {
        at_ns: 5 * MS,
        table: TableId(table),
        census,
        number,
        kind: Kind::File,
        cloexec: true,
        file_flags: 0o100_000,
        opener: Opener::Thread(7),
        opened_ns: Some(2 * MS),
        name: Name::from(format!("/srv/data/{number}").as_str()),
        unlinked: false,
        inode: 100 + u64::from(number),
        device: 8 << 20 | 1,
        socket: None,
        stack: None,
    }
}

/// The table is there at the end of the trace.
pub fn snapshot(at_ns: u64, table: Head) -> Event {
    Event::Table(Box::new(Seen { at_ns, reason: Reason::Snapshot, table }))
}
