use super::series::Rng;
use super::*;
use crate::model::testing::sample;

const COMPARISONS: usize = 200;
const RATE: f64 = 0.01;

fn options() -> Options {
    Options { error_rate: RATE, tolerance: Tolerance { number: 0.0, percent: false } }
}

/// A report whose windows have these marks.
fn with_marks(report: &Report, marks: &[u32]) -> Report {
    let mut report = report.clone();
    let mut left = marks.iter();
    report.execs.retain_mut(|record| {
        if record.seq == 0 {
            return true;
        }
        record.before_exec.high_water = None;
        record.spawn_window.high_water = left.next().copied();
        record.spawn_window.high_water.is_some()
    });
    report
}

/// Counts as programs make them.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Always the same.
    Constant,
    /// Two values.
    Coin,
    /// Few values, small differences.
    Ties,
    /// Mostly low, seldom a burst.
    Bursts,
    /// Wanders: each value is near the one before.
    Wanders(f64),
    /// Stays where it is for some execs, then moves.
    Held(usize),
}

fn uniform(rng: &mut Rng) -> f64 {
    rng.below(1 << 30) as f64 / f64::from(1 << 30)
}

fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0
}

fn marks(work: Work, count: usize, rng: &mut Rng) -> Vec<u32> {
    // It begins somewhere in its way, as a process that has run for a while.
    let mut state = normal(rng);
    let mut level = 0;
    (0..count)
        .map(|at| match work {
            Work::Constant => 27,
            Work::Coin => 27 + rng.below(2) as u32,
            Work::Ties => 27 + (normal(rng) * 1.2).abs() as u32,
            Work::Bursts => {
                if rng.below(20) == 0 {
                    400 + rng.below(600) as u32
                } else {
                    27
                }
            }
            Work::Wanders(by) => {
                state = by * state + (1.0 - by * by).sqrt() * normal(rng);
                (100.0 + 10.0 * state).max(0.0) as u32
            }
            Work::Held(length) => {
                if at % length == 0 {
                    level = rng.below(50) as u32;
                }
                50 + level
            }
        })
        .collect()
}

fn series(work: Work, count: usize, rng: &mut Rng) -> Vec<f64> {
    marks(work, count, rng).into_iter().map(f64::from).collect()
}

/// Whether any of so many rows, each the same work against itself, is said to differ.
fn alarm(work: Work, count: usize, rows: usize, rng: &mut Rng) -> bool {
    let key = (Name::from("spawner"), Name::from("program"));
    let row = |_| row_of_values(&key, "window", series(work, count, rng), series(work, count, rng));
    let mut rows: Vec<Row> = (0..rows).map(row).collect();
    test::run(&mut rows, &options());
    assert!(rows.iter().all(|row| row.test.p_adjusted >= row.test.p));
    rows.iter().any(|row| !matches!(row.change, Change::None | Change::Untold))
}

fn alarms(work: Work, count: usize, seed: u64) -> usize {
    let mut rng = Rng(seed);
    (0..COMPARISONS).filter(|_| alarm(work, count, 1, &mut rng)).count()
}

#[test]
fn the_same_workload_against_itself_alarms_no_more_often_than_stated() {
    let most = (COMPARISONS as f64 * RATE) as usize;
    let mut told = Vec::new();
    for (work, count) in [
        (Work::Constant, 100),
        (Work::Coin, 100),
        (Work::Ties, 40),
        (Work::Ties, 100),
        (Work::Bursts, 100),
        (Work::Wanders(0.3), 100),
        (Work::Wanders(0.6), 100),
        (Work::Wanders(0.9), 100),
        (Work::Wanders(0.97), 100),
        (Work::Held(10), 100),
        (Work::Held(30), 100),
    ] {
        told.push((work, count, alarms(work, count, 99)));
    }
    println!("{told:?}");
    assert!(told.iter().all(|(.., alarms)| *alarms <= most), "more than {most} of {COMPARISONS}: {told:?}");
}

#[test]
fn a_burst_against_the_fixed_program_is_an_alarm_with_the_right_figures() {
    let (base, new) = (sample::lazy(), sample::landlock());
    let found = compare(&base, &new, &options());
    let row = &found.rows[0];
    assert_eq!((row.life, row.change), ("window", Change::Higher));
    assert_eq!((row.new.p50, row.new.p99, row.new.max), (1006.0, 1024.0, 1024.0));
    assert_eq!(row.difference.max, row.new.max - row.base.max);
    assert_eq!(row.test.distance, 1.0);
    let back = compare(&new, &base, &options());
    assert_eq!(back.rows[0].change, Change::Lower);
    let same = compare(&new, &new, &options());
    assert!(same.rows.iter().all(|row| row.change == Change::None && row.test.p == 1.0));
}

#[test]
fn tolerance_hides_small_shifts_and_no_great_ones() {
    let report = sample::lazy();
    let (base, new) = (with_marks(&report, &[27; 90]), with_marks(&report, &[28; 90]));
    assert_eq!(compare(&base, &new, &options()).rows[0].change, Change::Higher);
    for (number, percent, change) in
        [(1.0, false, Change::None), (0.5, false, Change::Higher), (5.0, true, Change::None)]
    {
        let options = Options { tolerance: Tolerance { number, percent }, ..options() };
        assert_eq!(compare(&base, &new, &options).rows[0].change, change);
    }
}

#[test]
fn what_the_order_of_concurrent_execs_does_is_no_change_and_more_is() {
    let report = sample::lazy();
    let concurrent = |marks: &[u32]| {
        let mut report = with_marks(&report, marks);
        report.execs.iter_mut().for_each(|record| record.spawner.tid = record.seq as u32 % 4);
        report
    };
    let change = |base: &[u32], new: &[u32]| compare(&concurrent(base), &concurrent(new), &options()).rows[0].change;
    let burst: Vec<u32> = (0..100).map(|at| if at % 3 == 0 { 200 } else { 14 }).collect();
    assert_eq!(change(&[14; 100], &burst), Change::None, "a third has moved");
    assert_eq!(change(&[7; 100], &[8; 100]), Change::None, "all, but by one");
    // Two runs of `landlock-burst --mode lazy --parallel 4`, the second beside a compiler.
    let marks = |counts: &[(u32, usize)]| -> Vec<u32> {
        counts.iter().flat_map(|(mark, count)| std::iter::repeat_n(*mark, *count)).collect()
    };
    let alone = marks(&[(12, 1), (13, 1), (14, 44), (15, 7), (16, 1), (17, 5), (24, 1)]);
    let beside = marks(&[(12, 1), (13, 2), (14, 16), (15, 8), (16, 3), (17, 19), (18, 7), (19, 1), (20, 1), (21, 2)]);
    assert_eq!(change(&alone, &beside), Change::None, "what was rare is usual");
    assert_eq!(change(&[14; 100], &[200; 100]), Change::Higher);
}

#[test]
fn too_few_execs_are_told_as_too_few() {
    let report = sample::lazy();
    let (base, new) = (with_marks(&report, &[27; 3]), with_marks(&report, &[900; 3]));
    assert_eq!(compare(&base, &new, &options()).rows[0].change, Change::Untold);
    assert_eq!(compare(&base, &base, &options()).rows[0].change, Change::None);
}

#[test]
fn a_change_in_the_tail_only_is_found() {
    let report = sample::lazy();
    let tail: Vec<u32> = (0..100).map(|at| if at % 5 == 0 { 900 } else { 27 }).collect();
    let row = compare(&with_marks(&report, &[27; 100]), &with_marks(&report, &tail), &options()).rows.remove(0);
    assert_eq!((row.change, row.difference.p50, row.difference.p90), (Change::Higher, 0.0, 873.0));
}

#[test]
fn what_is_new_and_what_has_gone_is_told() {
    let (base, new) = (sample::lazy(), sample::many_spawners());
    let found = compare(&base, &new, &options());
    assert!(found.rows.is_empty());
    assert_eq!(found.gone.len(), 1);
    assert_eq!((found.gone[0].execs, &found.gone[0].program), (100, &Name::from("true")));
    assert!(!found.added.is_empty());
    assert!(compare(&base, &sample::attach(), &options()).incomplete.iter().all(|note| note.starts_with("new: ")));
    let mut report = sample::lazy();
    let extra = sample::landlock().execs[41].spawn_window.kinds.clone();
    report.execs[1].spawn_window.kinds = extra;
    assert!(compare(&sample::one_exec(), &report, &options()).rows.is_empty());
}

#[test]
fn many_rows_are_corrected_together() {
    let mut rng = Rng(3);
    let alarms = (0..40).filter(|_| alarm(Work::Ties, 30, 20, &mut rng)).count();
    assert!(alarms <= 1, "{alarms} of 40 comparisons of 20 rows each");
}
