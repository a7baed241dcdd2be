//! `fdtide::testing`: a command and a closure under trace, from a process of many threads.

use std::{
    fs::File,
    process::{Command, Stdio},
    time::Duration,
};

use fdtide::testing::{self, Error, Options};

use crate::support::{self, fixture::bin};

fn quiet(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

#[test]
fn a_command_is_traced_to_its_end() {
    let Some(_kernel) = support::kernel() else { return };
    let zero = bin("zero-spend");
    let command = quiet(&zero.to_string_lossy(), &["--attempt", "4", "--brief"]);
    let traced = testing::command(command, &Options::default()).expect("a report");
    assert_eq!(traced.exit.map(|exit| exit.to_string()).as_deref(), Some("exit 0"));
    assert_eq!((traced.high_water(), traced.leaked()), (Some(524), Some(0)));
    assert!(traced.rests.iter().any(|rest| rest.level == 24 && rest.identities.is_some()), "{:?}", traced.rests);
    assert_eq!((traced.report.loss.lost, traced.report.loss.missed), (0, 0));
}

#[test]
fn what_a_command_leaves_open_is_counted() {
    let Some(_kernel) = support::kernel() else { return };
    let zero = bin("zero-spend");
    let command = quiet(&zero.to_string_lossy(), &["--attempt", "2", "--leak", "3", "--brief"]);
    let traced = testing::command(command, &Options::default()).expect("a report");
    assert_eq!(traced.leaked(), Some(3));
}

#[test]
fn a_closure_is_traced_in_a_copy_of_this_process() {
    let Some(_kernel) = support::kernel() else { return };
    let act = || {
        let files: Vec<_> = (0..100).filter_map(|_| File::open("/dev/null").ok()).collect();
        assert_eq!(files.len(), 100);
    };
    let traced = testing::closure(act, &Options::default()).expect("a report");
    let root = traced.root().expect("its table");
    let (installs, closes) = (root.installs.expect("a count"), root.closes.expect("a count"));
    assert!(installs >= 100 && closes >= 100, "{installs} {closes}");
    assert_eq!(traced.exit.map(|exit| exit.to_string()).as_deref(), Some("exit 0"));
    let settled = root.high_water.expect("a mark") - 100;
    assert!(settled < 100, "what the copy began with: {settled}");
}

#[test]
fn a_panic_in_a_closure_is_its_exit_code() {
    let Some(_kernel) = support::kernel() else { return };
    let traced = testing::closure(|| std::panic::resume_unwind(Box::new("no")), &Options::default());
    assert_eq!(traced.expect("a report").exit.map(|exit| exit.to_string()).as_deref(), Some("exit 101"));
}

#[test]
fn a_command_that_hangs_is_killed_and_one_that_is_missing_is_named() {
    let Some(_kernel) = support::kernel() else { return };
    let options = Options { timeout: Some(Duration::from_millis(300)), ..Options::default() };
    let traced = testing::command(quiet("sleep", &["60"]), &options).expect("a report");
    assert!(traced.timed_out && traced.exit.map(|exit| exit.to_string()).as_deref() == Some("SIGKILL"));
    let error = testing::command(quiet("no-such-program", &[]), &options).expect_err("no program");
    assert!(matches!(&error, Error::Start { program, .. } if program == "no-such-program"), "{error}");
    assert!(!error.needs_rights());
}
