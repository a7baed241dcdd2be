//! The meter beside the report of the same events, and beside the simulated kernel's own history.

use proptest::prelude::*;

use crate::event::{Container, Errno, Event, Failure, Head, Kind, Name, Reason, Seen, Syscall};
use crate::model::meter::{Figures, MeterOptions, Reading, SetRow};
use crate::model::report::{Report, TableState};
use crate::model::testing::sim::{SETTLE_NS, Sim};
use crate::model::testing::{EMFILE, MS, head, sample, snapshot};
use crate::model::tests::{Step, random_run_with};
use crate::model::{Cause, Model, Options};

fn metered(options: MeterOptions) -> Model {
    let mut model = Model::new(Options { settle_ns: SETTLE_NS, stream: true });
    model.meter(options);
    model
}

/// The reading after these events, with the last look at every table, and the report of the same.
fn read(sim: &mut Sim) -> (Reading, Report) {
    sim.end();
    let mut model = metered(MeterOptions::default());
    sim.events.iter().for_each(|event| model.apply(event));
    let reading = model.reading(&[], sim.now).unwrap();
    (reading, sample::model(&sim.events).finish(sample::end(sim.now)))
}

fn is_look(event: &Event) -> Option<&Seen> {
    match event {
        Event::Table(seen) if seen.reason == Reason::Snapshot => Some(seen),
        _ => None,
    }
}

fn now(reading: &Reading) -> impl Iterator<Item = &crate::model::meter::Now> {
    reading.sets.iter().filter_map(|set| set.now.as_ref())
}

fn live(reading: &Reading) -> u64 {
    now(reading).map(|now| now.live()).sum()
}

/// What came, less what went.
fn balance(figures: &Figures) -> u64 {
    let (came, went) = (figures.installs, figures.closes);
    came.opened + came.inherited + came.found - went.closed - went.exec - went.exit - went.removed
}

#[track_caller]
fn assert_equals_the_report(reading: &Reading, report: &Report) {
    let total = reading.total();
    let sum = |of: fn(&crate::model::report::TableRow) -> Option<u64>| report.tables.iter().filter_map(of).sum::<u64>();
    assert_eq!(total.installs.opened, sum(|row| row.installs));
    assert_eq!(total.closes.closed + total.closes.exec, sum(|row| row.closes));
    assert_eq!(total.bad_closes, sum(|row| row.bad_closes));
    assert_eq!(total.crests, sum(|row| row.crests));
    assert_eq!(total.execs, report.execs.iter().filter(|record| record.seq > 0).count() as u64);
    assert_eq!(total.windows.count, report.histograms.iter().map(|row| row.window.count).sum::<u64>());
    let highs = |of: fn(&crate::model::ExecRecord) -> Option<u32>| {
        report.execs.iter().filter(|record| record.seq > 0).filter_map(of).map(u64::from).sum::<u64>()
    };
    assert_eq!(total.windows.sum, highs(|record| record.spawn_window.high_water));
    assert_eq!(total.children.sum, highs(|record| record.before_exec.high_water));
    let failures = report.tables.iter().flat_map(|row| &row.failures);
    for row in failures.clone() {
        let same = failures.clone().filter(|other| (&other.errno, other.cause) == (&row.errno, row.cause));
        let metered = total.failures.iter().find(|other| (&other.errno, other.cause) == (&row.errno, row.cause));
        assert_eq!(
            metered.map(|row| row.count),
            Some(same.map(|row| row.count).sum()),
            "{} {:?}",
            row.errno,
            row.cause
        );
    }
    assert_eq!(total.failures.iter().map(|row| row.count).sum::<u64>(), failures.map(|row| row.count).sum::<u64>());
    let alive = report.tables.iter().filter(|row| row.state == TableState::Alive);
    assert_eq!(live(reading), alive.clone().filter_map(|row| row.live).map(u64::from).sum::<u64>());
    assert_eq!(now(reading).map(|now| now.tables).sum::<u64>(), alive.count() as u64);
    assert_eq!(total.orphans + now(reading).map(|now| now.orphans).sum::<u64>(), report.orphans.len() as u64);
    assert_eq!(balance(&total), live(reading));
}

/// No counter of a set that is still there has fallen.
fn assert_only_grew(before: &SetRow, after: &SetRow) {
    let flat = |row: &SetRow| {
        let Figures { execs, installs, closes, bad_closes, crests, orphans, windows, children, .. } = &row.figures;
        let counts = [*execs, *bad_closes, *crests, *orphans, windows.count, windows.sum, children.count, children.sum];
        let moved = [
            installs.opened,
            installs.inherited,
            installs.found,
            closes.closed,
            closes.exec,
            closes.exit,
            closes.removed,
        ];
        counts.into_iter().chain(moved).collect::<Vec<u64>>()
    };
    for (old, new) in flat(before).into_iter().zip(flat(after)) {
        assert!(old <= new, "{:?}: {old} fell to {new}", before.labels);
    }
}

#[test]
fn a_server_and_its_children_have_their_own_sets() {
    let mut sim = Sim::new();
    let root = sim.seeded("server", &[(Kind::File, 3), (Kind::SocketTcp, 2)], 900 * MS);
    let table = sim.table_of(root);
    sim.tables.get_mut(&table).unwrap().seeded = true;
    for _ in 0..10 {
        sim.open(root, Kind::Pipe, 40);
        let child = sim.fork(root);
        sim.pass(MS);
        sim.close(root, Kind::Pipe, 40);
        sim.exec(child, "/bin/true", &[(Kind::Pipe, 40)]);
        sim.open(child, Kind::File, 1);
        sim.exit(child, 0);
    }
    sim.fail(root, 257, Errno::EMFILE, 4);
    let (reading, report) = read(&mut sim);
    assert_equals_the_report(&reading, &report);
    let server = reading.of("server").unwrap();
    let figures = &server.figures;
    assert_eq!((figures.execs, figures.installs.opened, figures.installs.found), (10, 400, 5));
    // Up to its exec a child bears its parent's name.
    assert_eq!((figures.installs.inherited, figures.closes.closed, figures.closes.exec), (450, 400, 400));
    assert_eq!((figures.windows.count, figures.windows.sum), (10, 450));
    let now = server.now.as_ref().unwrap();
    assert_eq!((now.high_water, now.live(), now.headroom, now.soft_limit), (45, 5, 1024 - 45, 1024));
    assert_eq!((now.kinds[&Kind::SocketTcp], now.processes, now.tables), (2, 1, 1));
    let failed = &figures.failures[0];
    assert_eq!((&*failed.errno, failed.cause, failed.count), ("EMFILE", Cause::AnotherQuota, 4));
    let child = reading.of("true").unwrap();
    assert_eq!((child.figures.installs.opened, child.figures.closes.exit), (10, 60));
    assert!(child.now.is_none() && child.recent.unwrap().high_water == 6, "{child:?}");
}

#[test]
fn the_run_command_begins_with_its_exec() {
    let mut sim = Sim::new();
    let root = sim.run("/bin/a", &[(Kind::File, 3)]);
    sim.open(root, Kind::File, 7);
    let (reading, report) = read(&mut sim);
    assert_equals_the_report(&reading, &report);
    assert_eq!(reading.sets.len(), 1, "{reading:?}");
    let figures = &reading.of("a").unwrap().figures;
    assert_eq!((figures.installs.inherited, figures.installs.opened, figures.execs), (3, 7, 0));
}

#[test]
fn a_kind_that_grows_is_told_while_it_is_there() {
    let mut sim = Sim::new();
    let root = sim.seeded("shim", &[(Kind::File, 3)], MS);
    for _ in 0..30 {
        sim.open(root, Kind::Eventfd, 1);
        sim.pass(60 * MS);
        let child = sim.fork(root);
        sim.exec(child, "/bin/true", &[]);
        sim.exit(child, 0);
    }
    let (reading, report) = read(&mut sim);
    let now = reading.of("shim").unwrap().now.as_ref().unwrap();
    assert_eq!(now.growth_per_exec, Some(report.growth[0].per_exec));
    assert_eq!(now.growing.iter().map(|(kind, n)| (kind.name(), *n)).collect::<Vec<_>>(), [("eventfd", 1)]);
    assert_eq!(&*report.growth[0].suspect[0].kind, "eventfd");
}

#[test]
fn containers_tell_processes_of_one_name_apart_and_children_are_in_their_spawners() {
    let mut sim = Sim::new();
    let container = |digit: &str, name: Option<&str>| Container {
        runtime: "docker".to_owned(),
        id: Name::from(digit.repeat(64).as_str()),
        name: name.map(Name::from),
    };
    let a = sim.inside("init", &[(Kind::File, 3)], 1, Some(container("3", Some("web"))));
    let b = sim.inside("init", &[(Kind::File, 5)], 1, Some(container("a", None)));
    let child = sim.fork(a);
    sim.end();
    let mut model = metered(MeterOptions::default());
    sim.events.iter().for_each(|event| model.apply(event));
    let reading = model.reading(&[], sim.now).unwrap();
    let rows: Vec<_> = reading
        .sets
        .iter()
        .map(|set| {
            let now = set.now.as_ref().unwrap();
            (set.labels.container.text(), now.live(), now.processes)
        })
        .collect();
    assert_eq!(rows, [("a".repeat(12), 5, 1), ("web".to_owned(), 6, 2)]);
    sim.events.clear();
    sim.exec(child, "/bin/true", &[]);
    sim.exit(child, 0);
    sim.remove(b);
    sim.events.iter().for_each(|event| model.apply(event));
    let reading = model.reading(&[], sim.now).unwrap();
    let of = |container: &str| reading.sets.iter().find(|set| set.labels.container.text() == container).unwrap();
    assert_eq!(of("web").figures.execs, 1);
    let removed = of(&"a".repeat(12));
    assert_eq!((removed.figures.closes.removed, removed.figures.closes.exit, &removed.now), (5, 0, &None));
    assert_eq!(balance(&reading.total()), live(&reading));
}

#[test]
fn failures_are_told_one_by_one_where_they_are_wanted_and_those_beyond_the_room_are_counted() {
    let mut sim = Sim::new();
    let root = sim.seeded("server", &[(Kind::File, 3)], MS);
    for n in 0..2000u16 {
        sim.fail(root, 257, Errno::EMFILE, 1 + u32::from(n % 2));
        sim.end();
    }
    let mut model = metered(MeterOptions { failed: true, ..MeterOptions::default() });
    sim.events.iter().for_each(|event| model.apply(event));
    let (failed, dropped) = model.drain_failed();
    assert_eq!((failed.len(), dropped), (1024, 2000 - 1024));
    let last = failed.last().unwrap();
    assert_eq!((last.pid, last.labels.comm.clone(), last.row.count), (root, Name::from("server"), 2));
    assert_eq!(model.reading(&[], sim.now).unwrap().total().failures[0].count, 3000);
    assert_eq!(model.drain_failed(), (Vec::new(), 0));
}

#[test]
fn processes_are_told_one_by_one_those_with_the_most_first() {
    let mut sim = Sim::new();
    for n in 1..=5 {
        let pid = sim.seeded("worker", &[(Kind::File, n)], MS);
        sim.open(pid, Kind::Pipe, 2);
    }
    sim.end();
    let mut model = metered(MeterOptions { processes: 2, ..MeterOptions::default() });
    sim.events.iter().for_each(|event| model.apply(event));
    let reading = model.reading(&[], sim.now).unwrap();
    assert_eq!(reading.processes.iter().map(|row| row.live).collect::<Vec<_>>(), [7, 6]);
    assert_eq!((reading.processes[0].headroom, reading.processes_left_out), (1017, 3));
}

#[test]
fn a_day_of_execs_leaves_nothing_behind() {
    let mut model = metered(MeterOptions { sets: 10, ..MeterOptions::default() });
    let mut sim = Sim::new();
    let root = sim.seeded("server", &[(Kind::File, 3)], MS);
    for n in 0..5000u32 {
        let child = sim.fork(root);
        sim.exec(child, &format!("/bin/job-{n}"), &[]);
        sim.exit(child, n % 2);
        sim.pass(1000 * MS);
        sim.events.drain(..).for_each(|event| model.apply(&event));
    }
    model.drain_completed();
    let meter = model.meter.as_ref().unwrap();
    assert_eq!(meter.tables.len(), 1);
    let reading = model.reading(&[], sim.now).unwrap();
    assert!(reading.sets.len() <= 11, "{}", reading.sets.len());
    assert_eq!((reading.total().execs, reading.total().closes.exit), (5000, 15_000));
    assert!(reading.overflowed + reading.given_up > 4900 && reading.given_up > 0, "{reading:?}");
}

proptest! {
    #[test]
    fn the_meter_tells_what_the_report_and_the_kernel_tell(
        steps in proptest::collection::vec(any::<Step>(), 0..120),
        sets in 1..6usize,
    ) {
        // A look at every table, now and then.
        let sim = random_run_with(&steps, |sim, n| if n % 7 == 0 { sim.end() });
        let last = sim.events.iter().rposition(|event| is_look(event).is_none()).map_or(0, |at| at + 1);
        let mut model = metered(MeterOptions { sets, ..MeterOptions::default() });
        let (mut looks, mut before): (Vec<Seen>, Option<Reading>) = (Vec::new(), None);
        let mut events = Vec::new();
        for (n, event) in sim.events.iter().enumerate() {
            if let Some(seen) = is_look(event).filter(|_| n < last) {
                looks.push(seen.clone());
                continue;
            }
            if !looks.is_empty() {
                let reading = model.reading(&looks, event.at_ns()).unwrap();
                prop_assert_eq!(balance(&reading.total()), live(&reading));
                let mut gone = 0;
                for set in before.iter().flat_map(|before| &before.sets) {
                    match reading.sets.iter().find(|after| after.labels == set.labels) {
                        Some(after) => assert_only_grew(set, after),
                        // The one for the rest is told only while there is something in it.
                        None => gone += u64::from(set.figures != Figures::default()),
                    }
                }
                // Those that are not told any more have given up their place; some came and went between two readings.
                let given_up = before.as_ref().map_or(0, |before| reading.given_up - before.given_up);
                prop_assert!(gone <= given_up, "{gone} sets are gone, {given_up} gave up their place");
                looks.clear();
                before = Some(reading);
            }
            model.apply(event);
            events.push(event.clone());
        }
        let reading = model.reading(&[], sim.now).unwrap();
        let report = sample::model(&events).finish(sample::end(sim.now));
        assert_equals_the_report(&reading, &report);

        // The kernel's own history; of the run command's table only since its exec.
        let mut opened = 0;
        for (table, truth) in &sim.truth {
            let since = report.tables.iter().find(|row| row.table == *table).map_or(0, |row| row.first_ns);
            let levels = truth.live.windows(2).filter(|pair| pair[1].0 > since);
            opened += levels.map(|pair| u64::from(pair[1].1.saturating_sub(pair[0].1))).sum::<u64>();
        }
        prop_assert_eq!(reading.total().installs.opened, opened);
    }

    #[test]
    fn missing_and_mixed_up_events_leave_the_meter_sound(
        steps in proptest::collection::vec(any::<Step>(), 0..80),
        keep in proptest::collection::vec(any::<(bool, u8)>(), 200),
    ) {
        let sim = random_run_with(&steps, |sim, n| if n % 7 == 0 { sim.end() });
        let mut events: Vec<(u8, &Event)> =
            sim.events.iter().zip(keep.iter().cycle()).filter(|(_, (keep, _))| *keep).map(|(event, (_, order))| (*order / 64, event)).collect();
        events.sort_by_key(|(order, _)| *order);
        let mut model = metered(MeterOptions { sets: 3, failed: true, processes: 2 });
        for (_, event) in events {
            model.apply(event);
            let _ = model.drain_failed();
        }
        let reading = model.reading(&[], sim.now).unwrap();
        prop_assert!(reading.sets.len() <= 4);
    }
}

#[test]
fn figures_that_no_kernel_has_stay_at_the_most() {
    let mut model = metered(MeterOptions::default());
    for id in 1..=2 {
        model.apply(&snapshot(MS, head(id, 8)));
        let failure = Failure {
            in_use: u32::MAX,
            live: u32::MAX,
            count: u32::MAX,
            syscall: Syscall { nr: 22, ..EMFILE.syscall },
            ..EMFILE
        };
        let (installs, closes) = (u64::MAX, u64::MAX);
        model.apply(&snapshot(2 * MS, Head { installs, closes, failures: vec![failure], ..head(id, 8) }));
    }
    let total = model.reading(&[], 3 * MS).unwrap().total();
    assert_eq!((total.installs.opened, total.closes.closed), (u64::MAX, u64::MAX));
    assert_eq!(total.failures.iter().map(|row| row.count).sum::<u64>(), 2 * u64::from(u32::MAX));
}
