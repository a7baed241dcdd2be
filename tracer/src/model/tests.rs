//! The model on scripted and on random runs.

use proptest::prelude::*;

use crate::event::{Errno, Event, Exit, Kind, Kinds, Move, Name, Reason, Seen, TableId};
use crate::model::report::{EndedBy, ExecRecord, GrowthPer, Outlived, Report, SettledFrom, TableState};
use crate::model::testing::sim::{Expected, SETTLE_NS, Sim};
use crate::model::testing::{self, MS, sample};
use crate::model::{Cause, CrestEnd, Model, Options};

fn finish(sim: &mut Sim) -> Report {
    sim.end();
    sample::model(&sim.events).finish(sample::end(sim.now))
}

fn window(record: &ExecRecord) -> (u32, u32) {
    (record.spawn_window.high_water.unwrap(), record.spawn_window.settled.unwrap())
}

#[test]
fn a_burst_stands_in_every_record() {
    let report = sample::landlock();
    assert_eq!(report.execs.len(), 101);
    let root = &report.execs[0];
    assert_eq!((root.seq, root.spawn_window.high_water), (0, None));
    for record in report.execs.iter().skip(1) {
        let failing = matches!(record.seq, 41 | 57);
        assert_eq!(window(record), (if failing { 1024 } else { 1006 }, 16), "#{}", record.seq);
        assert_eq!(record.spawn_window.failures.as_ref().unwrap().len(), if failing { 2 } else { 0 });
        assert_eq!((record.inherited, record.image.high_water, record.image.at_exit), (16, Some(17), Some(16)));
        assert_eq!((record.image.installs, record.image.closes), (Some(1), Some(1)));
        assert_eq!(record.image.exit, Some(Exit::Code(0)));
        assert_eq!(record.spawn_window.kinds.as_ref().unwrap().get(Kind::OPath), if failing { 1008 } else { 989 });
    }
    let histogram = &report.histograms[0];
    assert_eq!((histogram.window.count, histogram.window.p50, histogram.window.max), (100, 1006, 1024));
    assert_eq!(report.tables.len(), 101);
    assert!(report.growth[0].suspect.is_empty());
    let highest = &report.crests[0];
    assert_eq!((highest.floor, highest.high_water, highest.ended_by), (16, 1024, CrestEnd::Fall));
    assert_eq!((highest.execs.clone(), highest.execs_total), (vec![41], 1));
    assert_eq!((report.crests.len(), report.tables[0].crests), (5, Some(102)), "two failed bursts had two each");
    assert!(report.coverage.is_empty(), "{:?}", report.coverage);
}

#[test]
fn a_childs_crest_ends_with_its_exec() {
    let report = sample::child_burst();
    assert_eq!(report.crests.len(), 10);
    let first = &report.crests[0];
    assert_eq!((first.floor, first.height, first.ended_by), (3, 987, CrestEnd::Exec));
    assert_eq!((first.rise_ns, first.fall_ns), (MS, Some(2 * MS)));
    assert!(first.execs.is_empty(), "no window of its own table");
}

#[test]
fn the_live_view_follows_the_events() {
    let mut sim = Sim::new();
    let root = sim.run("/a", &[(Kind::File, 3)]);
    sim.open(root, Kind::OPath, 100);
    let child = sim.fork(root);
    sim.exec(child, "/bin/true", &[]);
    let view = sample::model(&sim.events).live(&[]);
    assert_eq!((view.tables.len(), view.processes, view.execs_total), (2, 2, 1));
    assert_eq!((view.tables[0].live, view.tables[0].high_water, view.tables[0].settled), (103, 103, None));
    assert_eq!((view.execs.len(), view.execs[1].high_water, view.crests.len()), (2, Some(103), 0));
    sim.close(root, Kind::OPath, 100);
    sim.fail(root, 257, Errno::EMFILE, 30);
    sim.exit(child, 0);
    sim.end();
    let view = sample::model(&sim.events).live(&[]);
    assert_eq!((view.tables.len(), view.tables[0].live, view.crests[0].height), (1, 3, 100));
    assert_eq!((view.failures.len(), view.failures[0].row.count, view.tables[0].failures), (1, 30, 30));
}

#[test]
fn only_the_high_water_tells_eager_from_lazy() {
    let (eager, lazy) = (sample::landlock(), sample::lazy());
    let churn = |report: &Report| report.execs[5].spawn_window.installs;
    assert_eq!(churn(&eager), churn(&lazy));
    assert_eq!((window(&eager.execs[5]).0, window(&lazy.execs[5]).0), (1006, 22));
}

#[test]
fn what_the_child_of_fdtide_held_is_not_the_programs() {
    let report = sample::one_exec();
    let root = &report.tables[0];
    assert_eq!((root.high_water, root.highest_number), (Some(9), Some(8)));
    assert_eq!((root.installs, root.closes), (Some(6), Some(6)));
    assert_eq!((root.state, root.live, root.seeded), (TableState::Ended, Some(0), false));
    assert_eq!(report.execs[0].image.high_water, Some(9));
    assert_eq!((report.execs[0].image.installs, report.execs[0].image.closes), (Some(6), Some(6)));
}

#[test]
fn a_leak_is_suspected_by_kind() {
    let report = sample::leak();
    let row = &report.growth[0];
    assert_eq!((row.windows, row.first, row.last, row.grew), (200, 24, 223, 199));
    assert_eq!((&*row.suspect[0].kind, row.suspect[0].growth, row.suspect.len()), ("eventfd", 199, 1));
    assert!((row.per_exec - 1.0).abs() < 1e-9);
}

#[test]
fn a_leak_per_child_is_suspected_without_any_exec() {
    let report = sample::fork_leak();
    let row = &report.growth[0];
    assert_eq!((row.per, row.windows, row.first, row.last), (GrowthPer::Fork, 300, 3, 302));
    assert_eq!((&*row.suspect[0].kind, row.suspect[0].growth, row.slope), ("pidfd", 299, 1.0));
    assert_eq!(report.growth.len(), 1, "the children are not to blame");
}

#[test]
fn failures_are_told_by_their_cause() {
    let report = sample::listener();
    let causes: Vec<_> = report.tables[0].failures.iter().map(|row| (row.cause, row.count, row.hidden)).collect();
    let full = Cause::TableFull;
    assert_eq!(causes, [(full, 1, false), (full, 3995, false), (full, 1, true), (Cause::BeyondLimit, 1, false)]);
    assert_eq!(report.tables[0].failures[1].per_second, Some(3994.0 * 20.0));
    assert_eq!(report.tables[0].bad_closes, Some(19_700));
    let lost = &report.lost_listeners[0];
    assert_eq!((lost.settled_before, lost.settled_after, lost.syscall.as_str()), (16, 15, "accept4"));
    assert_eq!((lost.listening_before, lost.listening_after), (Some(1), Some(0)));
}

#[test]
fn a_census_says_what_and_who_and_through_which_function() {
    let report = sample::census();
    let reasons: Vec<_> =
        report.censuses.iter().map(|census| (&*census.reason, census.live, census.complete)).collect();
    assert_eq!(reasons, [("failure", 939, true), ("crest", 945, true), ("end", 45, true)]);
    let crest = &report.censuses[1];
    assert_eq!(crest.descriptors.len(), 945);
    let first = &crest.groups[0];
    assert_eq!((first.count, &*first.kind, first.under.text()), (900, "o_path", "/tmp/x".to_owned()));
    let thread = first.opener.thread.as_ref().unwrap();
    assert_eq!((thread.tid, thread.comm.clone(), first.oldest_ns), (4299, Name::from("worker"), Some(MS)));
    assert_eq!(first.function.as_deref(), Some("landlock_burst::prepare::eager"));
    let sockets = crest.groups.iter().filter_map(|group| Some((group.count, &*group.socket.as_ref()?.state)));
    assert_eq!(sockets.collect::<Vec<_>>(), [(20, "unconnected"), (10, "connected")]);
    let stacks: Vec<_> = report.stacks.iter().map(|row| (&*row.reason, row.count, row.ids.clone())).collect();
    assert_eq!(stacks, [("failure", 900, vec![0, 1]), ("crest", 900, vec![0, 1])]);
    let suspect = &report.growth[0].suspect[0];
    assert_eq!((&*suspect.kind, suspect.opened_by.len(), suspect.opened_by[0].count), ("eventfd", 1, 12));
}

#[test]
fn what_is_released_late_is_no_leak() {
    let report = sample::late_release();
    let row = &report.growth[0];
    assert_eq!((row.grew, row.suspect.len(), &*row.late[0].kind), (59, 0, "fifo"));
    assert_eq!((report.tables[0].high_water, report.tables[0].settled), (Some(189), Some(3)));
}

#[test]
fn windows_of_concurrent_children_overlap() {
    let mut sim = Sim::new();
    let root = sim.run("/a", &[(Kind::File, 3)]);
    sim.pass(MS);
    let first = sim.fork(root);
    sim.pass(MS);
    sim.open(root, Kind::OPath, 100);
    sim.pass(MS);
    sim.close(root, Kind::OPath, 100);
    let second = sim.fork(root);
    sim.pass(MS);
    sim.exec(second, "/bin/second", &[]);
    sim.pass(MS);
    sim.open(root, Kind::Pipe, 2);
    sim.pass(MS);
    sim.exec(first, "/bin/first", &[]);
    let report = finish(&mut sim);
    let [_, second, first] = report.execs.as_slice() else { panic!("{}", report.execs.len()) };
    assert_eq!((window(second).0, second.spawn_window.overlapping), (103, Some(0)));
    assert_eq!((window(first).0, first.spawn_window.overlapping), (103, Some(1)));
    assert_eq!((first.spawn_window.installs, second.spawn_window.installs), (Some(102), Some(100)));
    assert_eq!(second.image.ended_by, EndedBy::Running);
}

#[test]
fn a_child_that_execs_after_its_spawner_has_the_window_up_to_there() {
    let mut sim = Sim::new();
    let root = sim.run("/a", &[(Kind::File, 3)]);
    sim.open(root, Kind::Pipe, 50);
    sim.close(root, Kind::Pipe, 50);
    let child = sim.fork(root);
    sim.pass(MS);
    sim.exit(root, 0);
    sim.pass(MS);
    sim.exec(child, "/bin/late", &[]);
    sim.exit(child, 0);
    let report = finish(&mut sim);
    assert_eq!((window(&report.execs[1]).0, report.execs[1].spawn_window.spawner_ended), (53, Some(true)));
    assert_eq!(report.coverage[0].code, "spawner_gone");
    assert_eq!(report.tables.len(), 2);
    assert_eq!(report.orphans[0].pid, child);
}

#[test]
fn who_outlives_the_root_is_told_with_how_that_ended() {
    let mut sim = Sim::new();
    let root = sim.run("/a", &[(Kind::File, 3)]);
    let middle = sim.fork(root);
    let daemon = sim.fork(middle);
    let helper = sim.fork(daemon);
    sim.exit(middle, 1 << 8);
    sim.open(daemon, Kind::Pipe, 2);
    sim.pass(MS);
    sim.exit(root, 9);
    sim.pass(500 * MS);
    sim.exit(helper, 0);
    sim.end();
    let mut model = sample::model(&sim.events);
    let report = model.clone().finish(sample::end(sim.now));
    assert_eq!((report.roots[0].exit, report.roots[0].oom_killed), (Exit::from_wait(9), None));
    let [first, second] = report.orphans.as_slice() else { panic!("{:?}", report.orphans) };
    assert_eq!((first.pid, first.outlived, first.spawner_exit), (daemon, Outlived::Spawner, Some(Exit::Code(1))));
    assert_eq!((first.live, first.end_ns), (Some(5), None));
    assert!(first.root_since_ns > Some(first.since_ns));
    assert_eq!((second.pid, second.outlived, second.exit), (helper, Outlived::Root, Some(Exit::Code(0))));
    let killed = |model: Model| model.finish(sample::end(sim.now)).roots[0].oom_killed;
    for (count, whole_system, expected) in [(0, true, Some(false)), (1, true, None), (1, false, Some(true))] {
        model.oom_kills(count, whole_system);
        assert_eq!(killed(model.clone()), expected);
    }
}

#[test]
fn a_process_that_execs_again_is_its_own_spawner() {
    let mut sim = Sim::new();
    let root = sim.run("/usr/bin/env", &[(Kind::File, 3)]);
    sim.open(root, Kind::LandlockRuleset, 1);
    sim.pass(MS);
    sim.exec(root, "/usr/bin/true", &[(Kind::LandlockRuleset, 1)]);
    sim.exit(root, 0);
    let report = finish(&mut sim);
    let (env, again) = (&report.execs[0], &report.execs[1]);
    assert_eq!((env.seq, env.image.ended_by, env.image.exit), (0, EndedBy::Exec, None));
    assert_eq!((env.image.high_water, env.image.at_exit), (Some(4), None));
    assert_eq!((again.seq, again.again, again.spawner.pid), (1, true, root));
    assert_eq!((again.spawner.comm.clone(), again.program.clone()), (Name::from("env"), Name::from("true")));
    assert_eq!(again.before_exec.kinds.as_ref().unwrap().get(Kind::LandlockRuleset), 1);
    assert_eq!((window(again).0, again.inherited), (4, 3));
}

#[test]
fn a_table_settles_when_it_was_still() {
    let mut sim = Sim::new();
    let root = sim.seeded("server", &[(Kind::File, 5)], MS);
    sim.pass(60 * MS);
    sim.open(root, Kind::File, 9);
    let row = |sim: &Sim| {
        let mut events = sim.events.clone();
        events.push(testing::snapshot(sim.now, sim.tables[&sim.table_of(root)].clone()));
        sample::model(&events).finish(sample::end(sim.now)).tables.remove(0)
    };
    let early = row(&sim);
    assert_eq!((early.settled, early.settled_from, early.live), (Some(5), Some(SettledFrom::Still), Some(14)));
    sim.pass(60 * MS);
    let late = row(&sim);
    assert_eq!((late.settled, late.settled_from), (Some(14), Some(SettledFrom::Still)));
}

#[test]
fn a_table_that_was_left_still_counts_for_the_image() {
    let process = testing::process(7, 1, "a");
    let left = testing::head(1, 500).unused();
    let mut moved = process.clone();
    moved.table = Some(TableId(2));
    let exec = testing::exec(1, &process, "/bin/a", 3, testing::head(1, 3), None);
    let change = Move { at_ns: 2, process: moved.clone(), from: TableId(1), to: TableId(2), tid: 7, live: 4 };
    let events = [
        testing::proc(0, &process, 3),
        testing::exec_event(exec),
        Event::Move(Box::new(change)),
        Event::Table(Box::new(Seen { at_ns: 3, reason: Reason::Left, table: left })),
        testing::exit(4, &moved, 0, testing::head(2, 4).unused()),
    ];
    let report = sample::model(&events).finish(sample::end(5));
    let image = &report.execs[0].image;
    assert_eq!((image.high_water, image.at_exit), (Some(500), Some(4)));
    assert_eq!(report.tables.iter().map(|row| row.pids.clone()).collect::<Vec<_>>(), [vec![7], vec![7]]);
}

#[test]
fn a_reused_pid_is_another_process() {
    let mut sim = Sim::new();
    let root = sim.run("/a", &[(Kind::File, 3)]);
    for _ in 0..2 {
        let child = sim.fork(root);
        sim.pass(MS);
        sim.exec(child, "/bin/true", &[]);
        sim.exit(child, 0);
    }
    let mut events = sim.events.clone();
    let (first, second) = (4244, 4246);
    for event in &mut events {
        let process = match event {
            Event::Proc(event) => &mut event.process,
            Event::Exec(event) => &mut event.process,
            Event::Exit(event) => &mut event.process,
            _ => continue,
        };
        if process.id.pid == second {
            process.id.pid = first;
        }
    }
    let report = sample::model(&events).finish(sample::end(sim.now));
    assert_eq!(report.execs.iter().map(|record| record.pid).collect::<Vec<_>>(), [root, first, first]);
    assert_eq!(report.execs[2].image.exit, Some(Exit::Code(0)));
}

#[test]
fn a_root_that_comes_later_ends_the_time_without_one() {
    let mut sim = Sim::new();
    let first = sim.seeded("first", &[(Kind::File, 3)], MS);
    let child = sim.fork(first);
    let grandchild = sim.fork(child);
    sim.exit(first, 0);
    sim.pass(MS);
    sim.seeded("second", &[(Kind::File, 3)], MS);
    sim.exit(grandchild, 0);
    let report = finish(&mut sim);
    let orphans: Vec<_> = report.orphans.iter().map(|row| (row.pid, row.outlived)).collect();
    assert_eq!(orphans, [(child, Outlived::Spawner)], "the grandchild's spawner lives, and so does a root");
}

#[test]
fn a_stream_gives_each_record_once_and_keeps_the_highest_tables_only() {
    const EXECS: u64 = 400;
    let mut sim = Sim::new();
    let root = sim.run("/a", &[(Kind::File, 3)]);
    for n in 0..EXECS {
        let child = sim.fork(root);
        sim.pass(MS);
        sim.exec(child, "/bin/true", &[]);
        sim.open(child, Kind::File, if n == 7 { 30 } else { n as u32 % 20 });
        if n == 9 {
            sim.fail(child, 257, Errno::EMFILE, 1);
        }
        sim.exit(child, 0);
    }
    sim.end();
    let mut model = Model::new(Options { settle_ns: SETTLE_NS, stream: true });
    let mut drained = Vec::new();
    for event in &sim.events {
        model.apply(event);
        drained.extend(model.drain_completed());
    }
    assert_eq!(drained.iter().map(|record| record.seq).collect::<Vec<_>>(), (1..=EXECS).collect::<Vec<u64>>());
    let report = model.finish(sample::end(sim.now));
    assert_eq!(report.execs.iter().map(|record| record.seq).collect::<Vec<_>>(), [0]);
    assert_eq!((report.tables.len() as u64, report.histograms[0].window.count), (1 + 128, EXECS));
    // The one that failed is low, and is there; the highest is there, the lowest are not.
    assert!(report.tables.iter().any(|row| !row.failures.is_empty()));
    let whole = sample::model(&sim.events).finish(sample::end(sim.now));
    let highs = |report: &Report| {
        let mut highs: Vec<_> = report.tables.iter().filter_map(|row| row.high_water).collect();
        highs.sort_unstable_by(|a, b| b.cmp(a));
        highs
    };
    assert_eq!(highs(&report)[..100], highs(&whole)[..100]);
    let note = report.coverage.iter().find(|note| note.code == "tables_let_go").unwrap();
    assert!(note.text.starts_with("272 tables"), "{}", note.text);
    let mut whole = sample::model(&sim.events);
    assert!(whole.drain_completed().is_empty());
}

#[test]
fn thousands_of_execs_take_little_memory() {
    let report = sample::leak();
    assert!(size_of::<ExecRecord>() <= 1024, "{}", size_of::<ExecRecord>());
    let kinds: Vec<&Kinds> = report.execs.iter().map(|record| &record.inherited_kinds).collect();
    assert_eq!(kinds.len(), 201);
}

/// One step of a random run: which process, what, how many.
pub(in crate::model) type Step = (u8, u8, u8);

pub(in crate::model) fn random_run(steps: &[Step]) -> Sim {
    random_run_with(steps, |_, _| {})
}

/// As [`random_run`]; `each` is called after every step.
pub(in crate::model) fn random_run_with(steps: &[Step], each: impl Fn(&mut Sim, usize)) -> Sim {
    let mut sim = Sim::new();
    sim.run("/bin/root", &[(Kind::File, 3)]);
    for (n, (who, what, count)) in steps.iter().enumerate() {
        let pids: Vec<u32> = sim.tasks.keys().copied().collect();
        let Some(pid) = pids.get(usize::from(*who) % pids.len().max(1)).copied() else { break };
        let kind = [Kind::File, Kind::Pipe, Kind::OPath][usize::from(*count) % 3];
        let held = |sim: &Sim, kind| sim.tables[&sim.table_of(pid)].kinds.get(kind);
        sim.pass(if count % 16 == 0 { 60 * MS } else { u64::from(*count) * 1000 + 1 });
        match what % 8 {
            0 | 1 => sim.open(pid, kind, u32::from(*count)),
            2 | 3 => {
                let most = held(&sim, kind);
                sim.close(pid, kind, u32::from(*count).min(most));
            }
            4 | 5 => drop(sim.fork(pid)),
            6 => {
                let lost = held(&sim, Kind::OPath);
                sim.exec(pid, "/bin/next", &[(Kind::OPath, lost)]);
            }
            _ => sim.exit(pid, u32::from(*count)),
        }
        each(&mut sim, n);
    }
    sim.pass(MS);
    sim.end();
    sim
}

fn assert_sums(live: Option<u32>, kinds: Option<&Kinds>) {
    assert_eq!(live.map(u64::from), kinds.map(Kinds::total));
}

proptest! {
    #[test]
    fn figures_hold_together(steps in proptest::collection::vec(any::<Step>(), 0..120)) {
        let sim = random_run(&steps);
        let report = sample::model(&sim.events).finish(sample::end(sim.now));
        prop_assert_eq!(report.tables.len(), sim.truth.len());
        for row in &report.tables {
            let truth = &sim.truth[&row.table];
            let since = truth.live.iter().filter(|(at, _)| *at >= row.first_ns);
            prop_assert_eq!(row.high_water, since.map(|(_, live)| *live).max(), "table {}", row.table);
            prop_assert!(row.high_water >= row.live && row.high_water >= row.settled);
            let last = truth.live.last().map(|(_, live)| *live);
            prop_assert_eq!(row.live, if row.state == TableState::Ended { Some(0) } else { last });
            assert_sums(row.high_water, row.high_water_kinds.as_ref());
            assert_sums(last, row.last_kinds.as_ref());
        }
        for record in &report.execs {
            let (window, before, image) = (&record.spawn_window, &record.before_exec, &record.image);
            assert_sums(window.high_water, window.kinds.as_ref());
            assert_sums(window.at_exec, window.at_exec_kinds.as_ref());
            assert_sums(before.high_water, before.kinds.as_ref());
            assert_sums(image.high_water, image.high_water_kinds.as_ref());
            assert_sums(image.at_exit, image.at_exit_kinds.as_ref());
            prop_assert_eq!(u64::from(record.inherited), record.inherited_kinds.total());
            prop_assert!(window.high_water >= window.at_exec && window.floor <= window.at_exec);
            prop_assert!(window.high_water >= window.settled && window.settled >= window.floor);
            prop_assert!(before.high_water >= Some(record.inherited));
            prop_assert!(image.high_water >= Some(record.inherited) && image.high_water >= image.at_exit);
        }
    }

    #[test]
    fn crests_are_rises_of_the_plain_history(steps in proptest::collection::vec(any::<Step>(), 0..120)) {
        let sim = random_run(&steps);
        let report = sample::model(&sim.events).finish(sample::end(sim.now));
        let mut kept: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::new();
        for crest in &report.crests {
            *kept.entry(crest.table).or_default() += 1;
            assert_sums(Some(crest.high_water), Some(&crest.kinds));
            prop_assert!(crest.height >= 16 && crest.high_water - crest.height == crest.floor);
            prop_assert!(crest.from_ns <= crest.top_ns && crest.end_ns.is_none_or(|end| crest.top_ns <= end));
            let truth = &sim.truth[&crest.table].live;
            let end = crest.end_ns.unwrap_or(sim.now);
            let during = truth.iter().filter(|(at, _)| (crest.from_ns..=end).contains(at));
            prop_assert!(during.clone().any(|(at, live)| (*at, *live) == (crest.top_ns, crest.high_water)));
            if crest.ended_by == CrestEnd::Fall {
                let half = crest.floor + crest.height / 2;
                prop_assert!(truth.iter().any(|(at, live)| *at == end && *live <= half), "{crest:?}");
            }
        }
        for row in &report.tables {
            let told = kept.get(&row.table).copied().unwrap_or(0);
            let open = report.crests.iter().filter(|crest| crest.table == row.table && crest.end_ns.is_none()).count();
            prop_assert_eq!(told, (row.crests.unwrap_or(0) + open as u64).min(5), "table {}", row.table);
        }
    }

    #[test]
    fn windows_are_those_of_the_plain_history(steps in proptest::collection::vec(any::<Step>(), 0..120)) {
        let sim = random_run(&steps);
        let report = sample::model(&sim.events).finish(sample::end(sim.now));
        for expected in &sim.windows {
            let record = report.execs.iter().find(|r| r.pid == expected.pid && r.at_ns == expected.at_ns).unwrap();
            let window = &record.spawn_window;
            let found = Expected {
                pid: record.pid,
                at_ns: record.at_ns,
                high_water: window.high_water.unwrap(),
                floor: window.floor.unwrap(),
            };
            prop_assert_eq!(&found, expected);
        }
    }

    #[test]
    fn missing_and_mixed_up_events_do_no_harm(
        steps in proptest::collection::vec(any::<Step>(), 0..80),
        keep in proptest::collection::vec(any::<(bool, u8)>(), 200),
    ) {
        let sim = random_run(&steps);
        let mut events: Vec<(u8, Event)> = Vec::new();
        for (event, (keep, order)) in sim.events.iter().zip(keep.iter().cycle()) {
            if *keep {
                events.push((*order, event.clone()));
            }
        }
        events.sort_by_key(|(order, _)| order / 64);
        let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
        let report = sample::model(&events).finish(sample::end(sim.now));
        let mut ids: Vec<u64> = report.tables.iter().map(|row| row.table).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), report.tables.len());
        let mut out = Vec::new();
        crate::sink::text::write(&report, &mut out).unwrap();
        crate::sink::json::write(&report, &mut out).unwrap();
    }
}
