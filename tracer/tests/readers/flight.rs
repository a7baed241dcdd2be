//! The flight recorder: what it keeps, and when it writes it down.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    replay::report,
    support::{
        self,
        fixture::bin,
        limits::kill,
        line::{list, number},
        poll,
        ran::fdtide,
    },
};

/// Dumps in a folder whose names end like this.
fn dumps(folder: &Path, why: &str) -> Vec<PathBuf> {
    let end = format!("-{why}.fdtide");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().ends_with(&end)).collect()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&report(path, &["--format", "json"])).expect("JSON")
}

#[test]
fn what_is_kept_is_bounded_and_each_dump_is_a_recording() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let mut agent = fdtide(&["record", "--keep", "1s", "--max-bytes", "1M", "-o"])
        .arg(folder.path())
        .arg("--")
        .arg(bin("exec-loop"))
        .args(["--hold", "20", "--execs", "100000"])
        .spawn()
        .expect("fdtide starts");
    let segments = folder.path().join(format!("fdtide-{}.segments", agent.id()));
    // The folder is there a moment before its first segment.
    let oldest_has_gone = || {
        let later = fs::read_dir(&segments).ok()?.flatten().next().is_some();
        (later && !segments.join("000001.fdtide").exists()).then_some(())
    };
    poll(20, "the first segment goes", oldest_has_gone);
    kill(agent.id(), libc::SIGUSR1);
    let dump = poll(10, "a dump", || dumps(folder.path(), "asked").pop());
    let told = json(&dump);
    let execs = list(&told, "execs").iter().filter(|exec| exec["program"] == "true").count();
    assert!(execs > 0, "{}", told["coverage"]);
    let high = list(&told, "tables").iter().find(|row| row["comm"] == "exec-loop").expect("the spawner");
    assert!(number(high, "high_water") >= 20 && high["state"] == "alive", "{high}");
    assert!(told["coverage"].to_string().contains("begins"), "{}", told["coverage"]);
    let kept: u64 =
        fs::read_dir(&segments).expect("segments").flatten().map(|e| e.metadata().map_or(0, |m| m.len())).sum();
    assert!(kept < 1_300_000, "{kept} bytes");
    // The command gets the signal, and its end is the recorder's.
    kill(agent.id(), libc::SIGTERM);
    assert_eq!(agent.wait().expect("its end").code(), Some(128 + libc::SIGTERM));
    assert_eq!(dumps(folder.path(), "end").len(), 1);
    assert!(!segments.exists(), "segments are left");
}

#[test]
fn a_failure_triggers_a_dump_that_shows_it() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let script = "ulimit -n 32; for n in 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31; do \
                  eval \"exec $n</dev/null\"; done; true < /dev/null; sleep 4";
    let mut agent = fdtide(&["record", "--on", "failure", "-o"]);
    agent.arg(folder.path()).args(["--", "bash", "-c", script]);
    assert!(agent.output().expect("fdtide starts").status.success());
    let dump = dumps(folder.path(), "failure").pop().expect("a dump");
    let told = json(&dump);
    let failures = list(&told, "tables").iter().flat_map(|row| list(row, "failures")).count();
    assert!(failures > 0, "{told}");
}
