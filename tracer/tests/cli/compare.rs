//! `fdtide compare` and `fdtide init-ci`: exit codes, figures, and what is written where.

use std::{fs, process::Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{self, fixture, ran::fdtide};

fn output(args: &[&str]) -> Output {
    fdtide(args).output().expect("fdtide starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A report of a burst of so many execs in a file of its own.
fn report(folder: &TempDir, name: &str, mode: &str, execs: &str) -> String {
    concurrent(folder, name, mode, execs, "1")
}

/// The same by so many threads.
fn concurrent(folder: &TempDir, name: &str, mode: &str, execs: &str, threads: &str) -> String {
    let path = folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let mut command = fdtide(&["run", "--format", "json", "-o", &path, "--"]);
    command.arg(fixture::bin("landlock-burst"));
    command.args(["--mode", mode, "--parallel", threads, "--entries", "64", "--execs", execs]);
    let run = command.output().expect("fdtide starts");
    assert!(run.status.success(), "{}", stderr(&run));
    path
}

#[test]
fn an_eager_burst_against_a_lazy_one_is_an_alarm_and_the_same_twice_is_none() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let lazy = report(&folder, "lazy", "lazy", "20");
    let again = report(&folder, "again", "lazy", "25");
    let eager = report(&folder, "eager", "eager", "20");
    for (base, new, rule, code) in [
        (&lazy, &eager, "higher", 1),
        (&lazy, &eager, "change", 1),
        (&eager, &lazy, "higher", 0),
        (&eager, &lazy, "change", 1),
        (&lazy, &again, "change", 0),
        (&lazy, &eager, "added", 0),
        (&lazy, &eager, "kinds", 1),
    ] {
        let compare = output(&["compare", base, new, "--fail-on", rule]);
        let told = String::from_utf8_lossy(&compare.stdout).into_owned();
        assert_eq!(compare.status.code(), Some(code), "{rule}: {told}{}", stderr(&compare));
    }
    let compare = output(&["compare", &lazy, &eager, "--format", "json"]);
    assert_eq!(compare.status.code(), Some(0), "nothing was to fail on");
    let found: Value = serde_json::from_slice(&compare.stdout).expect("JSON");
    let row = &found["rows"][0];
    let max = |path: &str| -> u64 {
        let report: Value = serde_json::from_slice(&fs::read(path).expect("a report")).expect("JSON");
        report["histograms"][0]["max"].as_u64().expect("a mark")
    };
    assert_eq!((row["change"].as_str(), row["life"].as_str()), (Some("higher"), Some("window")));
    assert_eq!(row["base"]["max"].as_f64(), Some(max(&lazy) as f64));
    assert_eq!(row["new"]["max"].as_f64(), Some(max(&eager) as f64));
    let rise = max(&eager) - max(&lazy);
    assert!(rise >= 60, "64 entries at once lift the table by about that: {rise}");
    let tolerated = output(&["compare", &lazy, &eager, "--fail-on", "higher", "--tolerance", &rise.to_string()]);
    assert_eq!(tolerated.status.code(), Some(0));
}

#[test]
fn runs_of_the_same_concurrent_program_do_not_alarm_and_lazy_against_eager_does() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let runs: Vec<String> = (0..5).map(|n| concurrent(&folder, &n.to_string(), "lazy", "60", "4")).collect();
    for (at, base) in runs.iter().enumerate() {
        for new in &runs[at + 1..] {
            let compare = output(&["compare", base, new, "--fail-on", "change"]);
            assert_ne!(compare.status.code(), Some(1), "{}", String::from_utf8_lossy(&compare.stdout));
        }
    }
    let eager = concurrent(&folder, "eager", "eager", "60", "4");
    let compare = output(&["compare", &runs[0], &eager, "--fail-on", "higher"]);
    assert_eq!(compare.status.code(), Some(1), "{}", String::from_utf8_lossy(&compare.stdout));
}

#[test]
fn what_can_not_be_told_gives_3_and_bad_usage_2() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let lazy = report(&folder, "lazy", "lazy", "2");
    let eager = report(&folder, "eager", "eager", "2");
    let compare = output(&["compare", &lazy, &eager, "--fail-on", "higher"]);
    let told = String::from_utf8_lossy(&compare.stdout).into_owned();
    assert_eq!(compare.status.code(), Some(3), "{told}");
    assert!(told.contains("too few execs"), "{told}");
    for args in [
        &["compare", &lazy][..],
        &["compare", &lazy, "/no/such/report"],
        &["compare", &lazy, &eager, "--fail-on", "weather"],
        &["compare", &lazy, &eager, "--tolerance", "-1"],
        &["compare", &lazy, &eager, "--error-rate", "0"],
        &["init-ci", "/no/such/report", "-o", "-"],
    ] {
        assert_eq!(output(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn init_ci_writes_budgets_that_hold_and_does_not_overwrite_any() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let (lazy, eager) = (report(&folder, "lazy", "lazy", "12"), report(&folder, "eager", "eager", "12"));
    let there = |args: &[&str]| fdtide(args).current_dir(folder.path()).output().expect("it starts");
    let init = there(&["init-ci", &lazy]);
    assert_eq!(init.status.code(), Some(0), "{}", stderr(&init));
    let path = folder.path().join("fdtide.toml");
    let text = fs::read_to_string(&path).expect("budgets");
    assert!(text.contains("# measured p50 "), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with('"')).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.contains("# measured ")), "{text}");
    for (report, code) in [(&lazy, 0), (&eager, 1)] {
        let check = there(&["check", report]);
        assert_eq!(check.status.code(), Some(code), "{}", String::from_utf8_lossy(&check.stdout));
    }
    let again = there(&["init-ci", &eager]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(&path).expect("budgets"), text, "it is as it was");
    assert_eq!(there(&["init-ci", &eager, "--force"]).status.code(), Some(0));
    assert_ne!(fs::read_to_string(&path).expect("budgets"), text);
}
