//! Real records through the meter and through a whole report, side by side: the sums are the same.

use std::time::{Duration, Instant};

use fdtide::{
    event::{Event, Seen, decode},
    model::{
        Options, Report,
        meter::{Figures, MeterOptions, Reading},
        report::{TableRow, TableState},
    },
    pipeline::{self, Pipeline},
    probe::{Choice, LoadOptions, Session, session::boot_ns},
    record::{Depth, Input},
};

use crate::support::{fixture::Fixture, kernel};

/// A trace that a meter and a report are made of.
struct Both {
    session: Session,
    whole: Pipeline,
    metered: Pipeline,
    readings: u64,
}

impl Both {
    fn start(pid: u32) -> Both {
        let mut session = Session::open(Choice::from_env(), &LoadOptions::default()).expect("a session");
        let start = pipeline::start(&session, Vec::new(), Options::default(), Depth::Records);
        let (whole, mut metered) = (Pipeline::new(start.clone(), false), Pipeline::new(start, true));
        metered.meter(MeterOptions { sets: 4, failed: true, ..MeterOptions::default() });
        session.add_target(pid).expect("the process is traced");
        Both { session, whole, metered, readings: 0 }
    }

    fn take(&mut self) {
        let Both { session, whole, metered, .. } = self;
        session.heal().expect("a walk");
        session.drain(|bytes| {
            whole.take(Input::Record(bytes));
            metered.take(Input::Record(bytes));
        });
    }

    /// As the agent reads its meter: looks first, then the records that came before them.
    fn read(&mut self) -> Reading {
        let mut looks: Vec<Seen> = Vec::new();
        let look = |bytes: &[u8]| {
            if let Ok(Event::Table(seen)) = decode(bytes) {
                looks.push(*seen);
            }
        };
        self.session.glance(look).expect("a look");
        self.take();
        self.readings += 1;
        self.metered.reading(&looks, boot_ns()).expect("a meter")
    }

    fn end(mut self) -> (Reading, Report) {
        self.take();
        let Both { session, mut whole, mut metered, .. } = self;
        let stopped = session.stop(|bytes| {
            whole.take(Input::Record(bytes));
            metered.take(Input::Record(bytes));
        });
        let reading = metered.reading(&[], boot_ns()).expect("a meter");
        whole.take(Input::End(Box::new(pipeline::closing(&stopped.expect("counters"), None, None))));
        (reading, whole.finish())
    }
}

fn counters(figures: &Figures) -> [u64; 12] {
    let Figures { execs, windows, children, installs, closes, bad_closes, crests, .. } = figures;
    let moved = [installs.opened, installs.inherited, installs.found, closes.closed, closes.exec, closes.exit];
    let [opened, inherited, found, closed, exec, exit] = moved;
    [
        *execs,
        windows.count,
        windows.sum,
        children.sum,
        *bad_closes,
        *crests,
        opened,
        inherited,
        found,
        closed,
        exec,
        exit,
    ]
}

fn assert_same(reading: &Reading, report: &Report) {
    let total = reading.total();
    let sum = |of: fn(&TableRow) -> Option<u64>| report.tables.iter().filter_map(of).sum::<u64>();
    let execs = || report.execs.iter().filter(|record| record.seq > 0);
    assert_eq!(total.execs, execs().count() as u64);
    let highs: u64 = execs().filter_map(|record| record.spawn_window.high_water).map(u64::from).sum();
    assert_eq!(total.windows.sum, highs);
    assert_eq!(total.installs.opened, sum(|row| row.installs), "installs");
    assert_eq!(total.closes.closed + total.closes.exec, sum(|row| row.closes), "closes");
    assert_eq!(total.bad_closes, sum(|row| row.bad_closes), "bad closes");
    assert_eq!(total.crests, sum(|row| row.crests), "crests");
    let failures: u64 = report.tables.iter().flat_map(|row| &row.failures).map(|row| row.count).sum();
    assert_eq!(total.failures.iter().map(|row| row.count).sum::<u64>(), failures, "failures");
    let now = || reading.sets.iter().filter_map(|set| set.now.as_ref());
    let alive = || report.tables.iter().filter(|row| row.state == TableState::Alive);
    let live: u64 = now().map(|now| now.live()).sum();
    assert_eq!(live, alive().filter_map(|row| row.live).map(u64::from).sum::<u64>(), "live");
    assert_eq!(now().map(|now| now.tables).sum::<u64>(), alive().count() as u64, "tables");
    let (came, went) = (total.installs, total.closes);
    assert_eq!(
        came.opened + came.inherited + came.found,
        went.closed + went.exec + went.exit + went.removed + live,
        "what came, less what went, is what is there"
    );
    let orphans = total.orphans + now().map(|now| now.orphans).sum::<u64>();
    assert_eq!(orphans, report.orphans.len() as u64, "orphans");
}

/// Steps through a fixture with a reading at each step, and compares in the middle and at the end.
fn compare(name: &str, args: &[&str]) {
    let mut fixture = Fixture::start(name, args);
    fixture.wait_until_it_reads();
    let mut both = Both::start(fixture.pid());
    let mut before = [0; 12];
    loop {
        fixture.go();
        let Some(_line) = fixture.next() else { break };
        let after = counters(&both.read().total());
        for (before, after) in before.iter().zip(after) {
            assert!(*before <= after, "{name}: a counter fell from {before} to {after}");
        }
        before = after;
    }
    fixture.wait();
    // The last ends are told a moment later.
    let begun = Instant::now();
    while !both.session.is_deserted() && begun.elapsed() < Duration::from_secs(10) {
        both.take();
    }
    let readings = both.readings;
    let (reading, report) = both.end();
    assert_eq!((report.loss.lost, report.loss.skipped), (0, 0), "{:?}", report.loss);
    assert!(readings >= 2 && reading.total().installs.opened > 0, "{name} did nothing");
    assert_same(&reading, &report);
}

#[test]
fn the_meter_and_the_report_agree_on_a_run_of_execs() {
    let Some(_guard) = kernel() else { return };
    compare("exec-loop", &["--execs", "60", "--hold", "50"]);
}

#[test]
fn the_meter_and_the_report_agree_on_random_sequences_of_everything() {
    let Some(_guard) = kernel() else { return };
    for seed in ["11", "12", "13"] {
        compare("fd-torture", &["--seed", seed, "--ops", "800"]);
    }
    compare("fd-torture", &["--seed", "14", "--ops", "400", "--processes", "3"]);
}
