//! Long random sequences against the tool: at every checkpoint each process's own bookkeeping is what the kernel program has.
//!
//! `FDTIDE_TORTURE_SEEDS` is how many seeds each mode gets, or a range of them as `20..40`; `FDTIDE_TORTURE_OPS` how many
//! operations each thread does; `FDTIDE_BACKEND` what tells of changes.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say what they did")]

mod children;
mod follow;
mod run;
mod setup;
mod shrink;
#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

use crate::{run::Done, setup::Setup};

/// Runs a mode for every seed; fails with all that went wrong, and the shortest way to see the first of it again.
fn torture(mode: Setup) {
    let Some(_kernel) = support::kernel() else { return };
    let (mut sum, mut seeds, mut failed) = (Done::default(), 0, Vec::new());
    for seed in setup::seeds(mode.default_seeds) {
        let setup = Setup { seed, ops: setup::ops(mode.ops), ..mode.clone() };
        match run::guarded(&setup) {
            Ok(done) => sum += done,
            Err(failure) => {
                println!("{}\n  {failure}", setup.command());
                failed.push((setup, failure));
            }
        }
        seeds += 1;
    }
    println!("{seeds} seeds, {} failed: {sum}", failed.len());
    if let Some((setup, failure)) = failed.first() {
        shrink::report(setup, failure);
    }
}

#[test]
fn one_thread_of_one_process_agrees_exactly() {
    torture(Setup { ops: 1500, default_seeds: 4, ..Setup::default() });
}

#[test]
fn four_threads_agree_when_they_stand_still() {
    torture(Setup { threads: 4, ops: 300, default_seeds: 3, ..Setup::default() });
}

#[test]
fn eight_threads_that_close_each_others_numbers_agree_when_they_stand_still() {
    torture(Setup { threads: 8, chaos: true, ops: 300, default_seeds: 3, ..Setup::default() });
}

#[test]
fn three_processes_agree_exactly() {
    torture(Setup { processes: 3, ops: 500, default_seeds: 3, ..Setup::default() });
}

#[test]
fn attached_in_the_middle_it_agrees_from_the_next_checkpoint_on() {
    torture(Setup { attach_at: 3, ops: 800, default_seeds: 3, ..Setup::default() });
}

#[test]
fn attached_in_the_middle_of_several_threads_and_processes_it_agrees_too() {
    torture(Setup { attach_at: 2, threads: 3, processes: 2, ops: 300, default_seeds: 2, ..Setup::default() });
}

#[test]
#[ignore = "sees one failure again: wants FDTIDE_TORTURE_REPLAY"]
fn replay() {
    let Some(_kernel) = support::kernel() else { return };
    let setup = Setup::replay();
    match run::guarded(&setup) {
        Ok(done) => println!("no mismatch: {done}"),
        Err(failure) => panic!("{}\n  {failure}", setup.words().join(" ")),
    }
}
