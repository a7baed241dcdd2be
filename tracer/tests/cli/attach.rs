//! When `fdtide attach` ends, and with what.

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{
    self,
    fixture::Fixture,
    limits::kill,
    line::{list, number},
    poll,
    ran::fdtide,
};

/// A target that holds twenty descriptors and stands still.
fn target() -> (Fixture, Value) {
    let mut fixture = Fixture::start("fd-holder", &["--count", "20"]);
    fixture.go();
    fixture.next().expect("the line `base`");
    fixture.go();
    let line = fixture.next().expect("the line `holding`");
    (fixture, line)
}

/// The tool, attached to it.
fn attached(fixture: &Fixture, options: &[&str]) -> Child {
    let mut command = fdtide(&["attach", "--format", "json", "-p", &fixture.pid().to_string()]);
    let child = command.args(options).stderr(Stdio::inherit()).spawn().expect("it starts");
    // The signals are blocked first and read last of all: from then on it is attached.
    let folder = format!("/proc/{}/fd", child.id());
    poll(20, "it listens to signals", || {
        let links =
            std::fs::read_dir(&folder).ok()?.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
        links.into_iter().any(|link| link.to_string_lossy().contains("signalfd")).then_some(())
    });
    child
}

/// Its report, which must have come within two seconds, and its code, which must be 0.
fn report(child: Child, since: Instant) -> Value {
    let output = child.wait_with_output().expect("its end");
    let took = since.elapsed();
    assert!(output.status.success(), "{}", output.status);
    assert!(took < Duration::from_secs(2), "{took:?}");
    serde_json::from_slice(&output.stdout).expect("a full report")
}

#[test]
fn it_ends_on_interrupt_and_terminate_with_a_full_report() {
    let Some(_kernel) = support::kernel() else { return };
    let (fixture, line) = target();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let child = attached(&fixture, &[]);
        let since = Instant::now();
        kill(child.id(), signal);
        let report = report(child, since);
        let row = &list(&report, "tables")[0];
        assert_eq!((number(row, "live"), &row["state"]), (number(&line, "live"), &Value::from("alive")));
    }
}

#[test]
fn it_ends_with_the_last_process_of_the_tree() {
    let Some(_kernel) = support::kernel() else { return };
    let (mut fixture, line) = target();
    let child = attached(&fixture, &[]);
    fixture.go();
    kill(fixture.pid(), libc::SIGTERM);
    assert_eq!(fixture.next().expect("a line")["step"], "end");
    let since = Instant::now();
    fixture.go();
    fixture.wait();
    let report = report(child, since);
    let row = &list(&report, "tables")[0];
    assert_eq!((number(row, "live"), &row["state"]), (0, &Value::from("ended")));
    assert_eq!(number(row, "high_water"), number(&line, "live"));
    assert_eq!(number(row, "closes"), 20);
}

#[test]
fn it_ends_after_its_duration() {
    let Some(_kernel) = support::kernel() else { return };
    let (fixture, line) = target();
    let child = attached(&fixture, &["--duration", "300ms"]);
    let report = report(child, Instant::now());
    assert_eq!(number(&list(&report, "tables")[0], "live"), number(&line, "live"));
    assert!(number(&report, "duration_ns") >= 300_000_000, "{}", report["duration_ns"]);
}

#[test]
fn a_tree_that_was_there_before_is_followed_whole() {
    let Some(_kernel) = support::kernel() else { return };
    // A shell with a child and a grandchild that each hold something of their own.
    let script = "exec 7</; (exec 8</; (exec 9</; echo '{}'; read line) <&0) <&0; exit 0";
    let mut shell = std::process::Command::new("bash");
    let mut fixture = Fixture::spawn(shell.args(["-c", script]));
    fixture.next().expect("the grandchild is there");
    let child = attached(&fixture, &[]);
    let since = Instant::now();
    fixture.go();
    fixture.wait();
    let report = report(child, since);
    let mut highs: Vec<u64> = list(&report, "tables").iter().map(|row| number(row, "high_water")).collect();
    highs.sort_unstable();
    assert!(highs.len() == 3 && highs[0] >= 4 && highs[1] > highs[0] && highs[2] > highs[1], "{highs:?}");
    assert!(list(&report, "tables").iter().all(|row| row["state"] == "ended"));
}
