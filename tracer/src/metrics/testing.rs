//! A scrape of a scripted run, and what the report says of the same.

use super::Scrape;
use crate::{
    event::{Container, Errno, Kind, Name},
    model::{
        Agent, Model, Options,
        meter::{Failed, MeterOptions},
        report::Report,
        testing::{MS, sample, sim::Sim},
    },
};

/// Everything of one run.
pub struct Run {
    pub scrape: Scrape,
    pub report: Report,
    pub failed: Vec<Failed>,
}

/// A server in a container with children, failures and a leak; a shell with a hostile name beside it.
pub fn run() -> Run {
    let mut sim = Sim::new();
    let container = Container {
        runtime: "docker".to_owned(),
        id: Name::from("3".repeat(64).as_str()),
        name: Some(Name::from("web-1")),
    };
    let server = sim.inside("server", &[(Kind::File, 3), (Kind::SocketTcp, 2)], 1, Some(container));
    let shell = sim.seeded("a\"b\\c\n{d=\"e\"}", &[(Kind::Tty, 3)], MS);
    for table in [server, shell].map(|pid| sim.table_of(pid)) {
        sim.tables.get_mut(&table).unwrap().seeded = true;
    }
    for n in 0..20 {
        sim.open(server, Kind::Eventfd, 1);
        sim.open(server, Kind::OPath, 10 * n);
        sim.pass(60 * MS);
        sim.close(server, Kind::OPath, 10 * n);
        let child = sim.fork(server);
        sim.open(child, Kind::File, n);
        sim.exec(child, "/bin/true", &[(Kind::File, n)]);
        sim.exit(child, 0);
    }
    sim.fail(server, 257, Errno::EMFILE, 4);
    sim.fail(server, 41, Errno::ENFILE, 2);
    sim.bad_closes(server, 17);
    sim.end();
    let mut model = Model::new(Options { settle_ns: 50 * MS, stream: true });
    model.meter(MeterOptions { processes: 5, failed: true, ..MeterOptions::default() });
    sim.events.iter().for_each(|event| model.apply(event));
    let report = sample::model(&sim.events).finish(sample::end(sim.now));
    let reading = model.reading(&[], sim.now).unwrap();
    let wall = |boot_ns: u64| report.anchor.wall_unix_ns + boot_ns - report.anchor.boot_ns;
    let scrape = Scrape {
        at_unix_ns: wall(sim.now),
        since_unix_ns: report.anchor.wall_unix_ns,
        reading,
        lost: 1,
        missed: 2,
        skipped: 3,
        counters: vec![("ring_full".to_owned(), 1), ("lock_busy".to_owned(), 0)],
        agent: Agent { pid: 4000, descriptors: 31, rss_bytes: 12 << 20, cpu_ms: 1_041 },
        backend: "syscall".to_owned(),
        kernel: "6.1.0".to_owned(),
        more: Vec::new(),
    };
    Run { scrape, report, failed: model.drain_failed().0 }
}
