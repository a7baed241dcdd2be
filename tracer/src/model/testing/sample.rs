//! Whole reports of scripted runs.

use super::MS;
use super::sim::{SETTLE_NS, Sim};
use crate::event::{CensusReason, Container, Errno, Event, Exit, Kind, Name};
use crate::model::report::{Agent, Gap, Loss, LossCounter, Plan, Refused, Report, RootEnd};
use crate::model::{Anchor, End, Model, Options};

const OPENAT: u16 = 257;
const PIPE2: u16 = 293;

pub fn model(events: &[Event]) -> Model {
    let mut model = Model::new(Options { settle_ns: SETTLE_NS, stream: false });
    events.iter().for_each(|event| model.apply(event));
    model
}

pub fn end(at_ns: u64) -> End {
    let plan = Plan { backend: "syscall".into(), ..Plan::default() };
    let anchor = Anchor { boot_ns: 2000 * MS, wall_unix_ns: 1_785_585_600_000_000_000 };
    End { at_ns, anchor, plan, ..End::default() }
}

fn report(sim: &mut Sim) -> Report {
    sim.end();
    model(&sim.events).finish(end(sim.now))
}

fn spawn(sim: &mut Sim, parent: u32, path: &str) {
    sim.open(parent, Kind::Pipe, 6);
    let child = sim.fork(parent);
    sim.pass(MS / 2);
    sim.exec(child, path, &[(Kind::Pipe, 6)]);
    sim.pass(MS / 2);
    sim.close(parent, Kind::Pipe, 6);
    sim.open(child, Kind::File, 1);
    sim.pass(MS);
    sim.close(child, Kind::File, 1);
    sim.exit(child, 0);
}

fn prepare(sim: &mut Sim, table: u64, held: u32) {
    sim.open_as(table, 4299, Kind::LandlockRuleset, 1);
    for _ in 0..989 / held {
        sim.open_as(table, 4299, Kind::OPath, held);
        sim.pass(2 * MS / u64::from(989 / held));
        sim.close_as(table, 4299, Kind::OPath, held);
    }
    sim.close_as(table, 4299, Kind::LandlockRuleset, 1);
}

fn launcher(held: u32, failing: u32) -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/usr/local/bin/landlock-burst", &[(Kind::File, 3)]);
    sim.open(root, Kind::SocketUnix, 12);
    sim.open(root, Kind::Epoll, 1);
    sim.pass(60 * MS);
    for n in 0..100 {
        let table = sim.table_of(root);
        prepare(&mut sim, table, held);
        if failing > 0 && (n == 40 || n == 56) {
            sim.open(root, Kind::OPath, failing / 2);
            sim.pass(MS);
            sim.open(root, Kind::OPath, failing - failing / 2);
            sim.fail(root, PIPE2, Errno::EMFILE, 12);
            sim.fail(root, 53, Errno::EMFILE, 7);
            sim.pass(MS / 5);
            sim.close(root, Kind::OPath, failing);
        }
        spawn(&mut sim, root, "/usr/bin/true");
    }
    sim.pass(60 * MS);
    sim.exit(root, 0);
    let mut report = report(&mut sim);
    report.root = Some(RootEnd { pid: root, exit: Some(Exit::Code(0)) });
    report.command = vec!["landlock-burst".into(), "--mode".into(), "eager".into()];
    report.agent = Some(Agent { pid: 4000, descriptors: 31, rss_bytes: 12 << 20, cpu_ms: 41 });
    report
}

pub fn landlock() -> Report {
    launcher(989, 1008)
}

pub fn lazy() -> Report {
    launcher(1, 0)
}

/// Case 05: one eventfd is left behind per exec.
pub fn leak() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/opt/shim", &[(Kind::File, 3), (Kind::Pipe, 21)]);
    for _ in 0..200 {
        sim.open(root, Kind::Eventfd, 1);
        spawn(&mut sim, root, "/usr/bin/true");
    }
    sim.exit(root, 0);
    report(&mut sim)
}

/// A broker whose sockets are mostly unconnected, a burst with stacks, and a leak; a census of each.
pub fn census() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/usr/local/bin/landlock-burst", &[(Kind::File, 3)]);
    sim.open(root, Kind::SocketTcp, 30);
    for n in 0..12 {
        sim.open(root, Kind::Eventfd, 1);
        let table = sim.table_of(root);
        sim.open_as(table, 4299, Kind::OPath, 900);
        sim.pass(2 * MS);
        sim.census(root, CensusReason::Crest);
        if n == 5 {
            sim.fail(root, OPENAT, Errno::EMFILE, 1);
            sim.census(root, CensusReason::Failure);
        }
        sim.close_as(table, 4299, Kind::OPath, 900);
        spawn(&mut sim, root, "/usr/bin/true");
    }
    sim.stacks();
    sim.end();
    sim.census(root, CensusReason::End);
    report(&mut sim)
}

/// Case 29: an accept fails, and the listener goes; cases 08, 11 and 28 beside it: a failure in a success, closes of
/// nothing, a storm.
pub fn listener() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/opt/server", &[(Kind::File, 14)]);
    sim.open(root, Kind::SocketTcp, 2);
    sim.pass(60 * MS);
    spawn(&mut sim, root, "/usr/bin/true");
    sim.limit(root, 32);
    sim.open(root, Kind::Chr, 16);
    sim.fail(root, 288, Errno::EMFILE, 1);
    sim.census(root, CensusReason::Failure);
    sim.fail(root, OPENAT, Errno::EMFILE, 1);
    sim.pass(50 * MS);
    sim.fail(root, OPENAT, Errno::EMFILE, 3994);
    sim.fail_hidden(root, 47, Errno::EMFILE);
    sim.fail(root, 33, Errno::EBADF, 1);
    sim.close(root, Kind::Chr, 16);
    sim.close(root, Kind::SocketTcp, 1);
    sim.bad_closes(root, 19_700);
    sim.pass(60 * MS);
    spawn(&mut sim, root, "/usr/bin/true");
    sim.end();
    sim.census(root, CensusReason::End);
    sim.exit(root, 0);
    report(&mut sim)
}

/// Case 22 and incident 4: the root is killed, and what it started lives on.
pub fn outlived() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/opt/runner", &[(Kind::File, 3)]);
    let sandbox = sim.fork(root);
    sim.exec(sandbox, "/opt/sandbox", &[]);
    sim.open(sandbox, Kind::SocketUnix, 2);
    let worker = sim.fork(sandbox);
    let (other, quiet) = (sim.fork(root), sim.fork(root));
    sim.pass(300 * MS);
    sim.exit(root, 9);
    sim.pass(400 * MS);
    sim.exit(other, 15);
    sim.exit(quiet, 0);
    sim.pass(100 * MS);
    sim.open(worker, Kind::Pipe, 1);
    report(&mut sim)
}

/// Case 06: a pidfd is kept for every child, which execs nothing.
pub fn fork_leak() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/opt/supervisor", &[(Kind::File, 3)]);
    for _ in 0..300 {
        let child = sim.fork(root);
        sim.open(root, Kind::Pidfd, 1);
        sim.exit(child, 0);
    }
    sim.exit(root, 0);
    report(&mut sim)
}

/// Case 10: three FIFOs per exec, closed long after it.
pub fn late_release() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/opt/logger", &[(Kind::File, 3)]);
    for n in 0..60 {
        sim.open(root, Kind::Fifo, 3);
        (0..3).for_each(|number| sim.slot(root, 3 * n + number, None, Some(Kind::Fifo)));
        spawn(&mut sim, root, "/usr/bin/true");
    }
    sim.pass(10_000 * MS);
    sim.close(root, Kind::Fifo, 180);
    (0..180).for_each(|number| sim.slot(root, number, Some(Kind::Fifo), None));
    sim.pass(120 * MS);
    sim.exit(root, 0);
    report(&mut sim)
}

/// Case 01: the child opens, and execs.
pub fn child_burst() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/opt/forker", &[(Kind::File, 3)]);
    for _ in 0..10 {
        let child = sim.fork(root);
        sim.open(child, Kind::OPath, 500);
        sim.pass(MS);
        sim.open(child, Kind::OPath, 487);
        sim.fail(child, 41, Errno(13), 1);
        sim.pass(2 * MS);
        sim.exec(child, "/usr/bin/true", &[(Kind::OPath, 987)]);
        sim.fail(child, OPENAT, Errno(12), 1);
        sim.exit(child, 9);
    }
    sim.exit(root, 0);
    report(&mut sim)
}

pub fn one_exec() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/usr/bin/sh", &[(Kind::Tty, 3)]);
    spawn(&mut sim, root, "/usr/bin/true");
    sim.exit(root, 9);
    let mut report = report(&mut sim);
    report.root = Some(RootEnd { pid: root, exit: Some(Exit::from_wait(9)) });
    report
}

/// Case 26: a program that probes its own limit; no exec, a helper without one.
pub fn no_exec() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/usr/lib/postgresql/15/bin/postgres", &[(Kind::File, 3)]);
    sim.open(root, Kind::File, 1000);
    sim.fail(root, OPENAT, Errno::EMFILE, 3);
    sim.close(root, Kind::File, 1000);
    sim.open(root, Kind::SocketTcp, 2);
    let helper = sim.fork(root);
    sim.open(helper, Kind::Epoll, 1);
    sim.pass(80 * MS);
    let mut report = report(&mut sim);
    report.root = Some(RootEnd { pid: root, exit: None });
    report
}

/// Attached late, with losses; a daemon lives on; one exec came after its spawner's end.
pub fn attach() -> Report {
    let mut sim = Sim::new();
    let root = sim.seeded("server", &[(Kind::SocketTcp, 300), (Kind::File, 5)], 1900 * MS);
    sim.pass(60 * MS);
    let late = sim.fork(root);
    let middle = sim.fork(root);
    let daemon = sim.fork(middle);
    sim.pass(MS);
    sim.exec(daemon, "/usr/sbin/daemon", &[(Kind::SocketTcp, 300)]);
    sim.exit(middle, 0);
    sim.open(daemon, Kind::Pipe, 1);
    sim.exec(root, "/usr/sbin/server2", &[]);
    sim.open(root, Kind::Inotify, 3);
    sim.fail(root, 294, Errno::EMFILE, 4);
    sim.exit(root, 1 << 8);
    sim.pass(5 * MS);
    sim.exec(late, "/usr/bin/late", &[(Kind::SocketTcp, 300)]);
    sim.pass(200 * MS);
    sim.exit(late, 11 | 0x80);
    sim.end();
    let mut end = end(sim.now);
    end.loss = Loss {
        lost: 3,
        missed: 2,
        skipped: 1,
        gaps: vec![Gap { from_ns: sim.now - 20 * MS, to_ns: sim.now, missed: 2 }],
        counters: vec![LossCounter { name: "read_failed".into(), value: 4, help: "Reads that failed.".into() }],
    };
    end.plan.hooks = vec!["tp_btf/sys_exit".into()];
    end.plan.refused = vec![Refused { backend: "fentry".into(), reason: "refused at load (EPERM)".into() }];
    end.plan.self_test = Some("passed".into());
    let mut model = model(&sim.events);
    model.mark(2010 * MS, "deploy 1.4.2");
    model.finish(end)
}

pub fn many_spawners() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/usr/bin/make", &[(Kind::File, 3)]);
    for n in 0..60u32 {
        let shell = sim.fork(root);
        sim.exec(shell, &format!("/bin/tool-{}", n % 12), &[]);
        for path in ["/usr/bin/cc", "/usr/bin/as", "/usr/bin/ld", "/usr/bin/collect2"].iter().take(1 + n as usize % 4) {
            spawn(&mut sim, shell, path);
        }
        sim.exit(shell, 0);
    }
    let worker = sim.fork(root);
    sim.open(worker, Kind::File, 700);
    sim.exit(worker, 0);
    let worker = sim.fork(root);
    sim.exit(worker, 0);
    sim.exit(root, 0);
    report(&mut sim)
}

/// Case 24, and a limit without end.
pub fn hostile() -> Report {
    let mut sim = Sim::new();
    let root = sim.run("/tmp/a", &[(Kind::File, 3)]);
    sim.comm(root, b"\x1b[31m\n\xff\xfe x");
    sim.limit(root, u32::MAX);
    for _ in 0..3 {
        let child = sim.fork(root);
        sim.exec(child, "/tmp/\u{1b}]0;owned\u{7}\u{202e}txt", &[]);
        sim.open(child, Kind::SocketUnix, 100_000);
        sim.exit(child, 0);
    }
    report(&mut sim)
}

/// Incident 2: a broker that fills its table after its only exec, and refuses its child, whose own table has room.
pub fn broker() -> Report {
    const SOCKET: u16 = 41;
    let mut sim = Sim::new();
    let root = sim.run("/opt/broker", &[(Kind::File, 3)]);
    let workload = sim.fork(root);
    sim.exec(workload, "/opt/workload", &[]);
    sim.limit(root, 64);
    sim.open(root, Kind::SocketTcp, 61);
    sim.fail(root, SOCKET, Errno::EMFILE, 2);
    sim.census(root, CensusReason::Failure);
    sim.fail(workload, SOCKET, Errno::EMFILE, 2);
    sim.pass(60 * MS);
    sim.exit(workload, 0);
    sim.exit(root, 0);
    report(&mut sim)
}

/// Two containers whose processes have the same ids inside, a namespace without one, and a target that was removed.
pub fn containers() -> Report {
    let container = |digit: &str, name: Option<&str>| Container {
        runtime: "docker".to_owned(),
        id: Name::from(digit.repeat(64).as_str()),
        name: name.map(Name::from),
    };
    let mut sim = Sim::new();
    let web = sim.inside("openshell-sandb", &[(Kind::File, 12)], 1, Some(container("3", Some("web"))));
    let db = sim.inside("openshell-sandb", &[(Kind::SocketTcp, 40)], 1, Some(container("a", None)));
    let alone = sim.inside("sh", &[(Kind::File, 4)], 7, None);
    sim.pass(60 * MS);
    let child = sim.fork(web);
    sim.pass(MS);
    sim.exec(child, "/bin/true", &[]);
    sim.exit(child, 0);
    sim.open(db, Kind::SocketTcp, 9);
    sim.pass(60 * MS);
    sim.remove(db);
    sim.exit(alone, 0);
    report(&mut sim)
}

pub fn empty() -> Report {
    model(&[]).finish(end(2000 * MS))
}

pub fn all() -> Vec<Report> {
    vec![
        landlock(),
        lazy(),
        leak(),
        census(),
        listener(),
        outlived(),
        fork_leak(),
        late_release(),
        child_burst(),
        one_exec(),
        no_exec(),
        attach(),
        many_spawners(),
        broker(),
        hostile(),
        containers(),
        empty(),
    ]
}
