//! An agent that is killed leaves a recording that lacks at most its last second.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    python, replay,
    support::{self, FDTIDE, limits::kill, line::number},
};

/// Boot time, nanoseconds.
fn boot_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[test]
fn all_but_the_last_second_is_there_after_a_kill() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(python) = python::interpreter() else { return };
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("trace.fdtide");
    // Opens one descriptor more every tenth of a second, and says so.
    let script = "for n in 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29; do \
                  eval \"exec $n</dev/null\"; echo $n; sleep 0.1; done; read line";
    let mut agent = Command::new(FDTIDE)
        .args(["run", "-o", "/dev/null", "--record"])
        .arg(&path)
        .args(["--", "bash", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("fdtide starts");
    let mut lines = BufReader::new(agent.stdout.take().expect("a pipe")).lines();
    lines.by_ref().take(20).for_each(|line| drop(line.expect("a line")));
    let opened_ns = boot_ns();
    std::thread::sleep(Duration::from_millis(900));
    kill(agent.id(), libc::SIGKILL);
    agent.wait().expect("its end");
    // The command itself goes on until it is told to end.
    let _ = agent.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));

    let rows = python::run(&python, "polars_rows.py", &[&path]);
    assert!(number(&rows, "last_ns") + 1_000_000_000 >= opened_ns, "{rows}");
    let report = replay::report(&path, &["--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    let coverage = report["coverage"].to_string();
    assert!(coverage.contains("breaks off"), "{coverage}");
    let bash = report["tables"].as_array().expect("tables").iter().max_by_key(|row| row["live"].as_u64());
    let bash = bash.expect("a table");
    // Nothing was execed or ended since the last descriptor was opened: only a look in passing can have told.
    assert!(number(bash, "live") >= 20 && bash["state"] == "alive", "{bash}");
}
