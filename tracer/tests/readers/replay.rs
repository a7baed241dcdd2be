//! A report of a recording is the one that was given live.

use std::{fs, path::Path, time::Instant};

use tempfile::TempDir;

use crate::support::{self, fixture::bin, ran::fdtide};

/// Runs a fixture under record, in this format; its output and its recording are then in the folder.
pub fn recorded(folder: &Path, options: &[&str], program: &str, args: &[&str]) {
    let output = fdtide(&["run", "-o"])
        .arg(folder.join("live"))
        .arg("--record")
        .arg(folder.join("trace.fdtide"))
        .args(options)
        .arg("--")
        .arg(bin(program))
        .args(args)
        .output()
        .expect("fdtide starts");
    assert!(folder.join("trace.fdtide").exists(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What `fdtide report` says of a recording.
pub fn report(path: &Path, options: &[&str]) -> Vec<u8> {
    let output = fdtide(&["report"]).args(options).arg(path).output().expect("fdtide starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Whether live and replayed are the same, byte for byte.
fn is_the_same(format: &str, program: &str, args: &[&str]) {
    let folder = TempDir::new().expect("a folder");
    recorded(folder.path(), &["--format", format], program, args);
    let live = fs::read(folder.path().join("live")).expect("a report");
    let again = report(&folder.path().join("trace.fdtide"), &["--format", format]);
    assert!(!live.is_empty() && live == again, "{program} {args:?} in {format} is not what it was live");
}

#[test]
fn every_format_of_every_load_is_the_same_as_live() {
    let Some(_kernel) = support::kernel() else { return };
    for format in ["text", "json", "jsonl"] {
        is_the_same(format, "exec-loop", &["--execs", "60", "--hold", "20"]);
    }
    if support::landlock() {
        is_the_same("json", "landlock-burst", &["--mode", "eager", "--execs", "6", "--parallel", "2"]);
        is_the_same("text", "landlock-burst", &["--mode", "eager", "--nofile", "512"]);
    }
}

#[test]
fn a_recording_of_10000_execs_is_small_and_read_within_a_second() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    recorded(folder.path(), &["--format", "json"], "exec-loop", &["--execs", "10000", "--hold", "20"]);
    let path = folder.path().join("trace.fdtide");
    let size = path.metadata().expect("a recording").len();
    assert!(size <= 4_000_000, "{size} bytes");
    let start = Instant::now();
    report(&path, &[]);
    let took = start.elapsed().as_secs_f64();
    // An unoptimised build gets more time.
    let allowed = if cfg!(debug_assertions) { 4.0 } else { 1.0 };
    println!("10,000 execs: {size} bytes, report in {took:.2} s");
    assert!(took <= allowed, "{took} s");
    assert!(fs::read(folder.path().join("live")).expect("a report") == report(&path, &["--format", "json"]));
}

#[test]
fn a_place_that_cannot_be_written_ends_the_run_before_it_begins_and_a_full_disk_does_not() {
    let Some(_kernel) = support::kernel() else { return };
    let refused = fdtide(&["run", "--record", "/proc/none", "--", "true"]).output().expect("fdtide starts");
    assert_eq!(refused.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("/proc/none"));
    let full = fdtide(&["run", "--record", "/dev/full", "--", "sh", "-c", "exit 7"]).output().expect("fdtide starts");
    assert_eq!(full.status.code(), Some(7), "the command ran to its end");
    let text = String::from_utf8_lossy(&full.stdout).into_owned();
    assert!(text.contains("could not be kept"), "{text}");
}

/// OOM kills of the whole system so far.
fn oom_kills() -> Option<String> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find(|line| line.starts_with("oom_kill ")).map(str::to_owned)
}

#[test]
fn a_sigkill_that_no_oom_killer_counts_is_told_as_not_its_and_replayed_as_that() {
    let Some(_kernel) = support::kernel() else { return };
    let before = oom_kills();
    for (format, words) in [("text", "was ended by SIGKILL"), ("json", "\"oom_killed\": false")] {
        let folder = TempDir::new().expect("a folder");
        let (live, recording) = (folder.path().join("live"), folder.path().join("trace.fdtide"));
        let mut run = fdtide(&["run", "--format", format, "-o"]);
        run.arg(&live).arg("--record").arg(&recording).args(["--", "sh", "-c", "kill -9 $$"]);
        assert_eq!(run.status().expect("fdtide starts").code(), Some(128 + 9));
        let live = fs::read(live).expect("a report");
        assert!(live == report(&recording, &["--format", format]), "replayed as it was live");
        if before.is_none() || oom_kills() != before {
            return support::skip("the system does not count OOM kills, or there was one meanwhile");
        }
        let text = String::from_utf8_lossy(&live).into_owned();
        assert!(text.contains(words), "{text}");
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(format == "json" || plain.contains("not by the OOM killer"), "{text}");
    }
}
