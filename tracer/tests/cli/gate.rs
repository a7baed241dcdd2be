//! Budgets: exit codes, what is said, and where it goes.

use std::{fs, path::Path, process::Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    self, fixture,
    ran::{fdtide, report_path},
};

fn output(args: &[&str]) -> Output {
    fdtide(args).output().expect("fdtide starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A small burst by the fixture: eager goes to 75 or so, lazy stays below 20.
fn burst(options: &[&str], mode: &str) -> Output {
    let program = fixture::bin("landlock-burst");
    let mut command = fdtide(&["run"]);
    command.args(options).arg("--").arg(program);
    command.args(["--mode", mode, "--parallel", "1", "--entries", "64", "--execs", "12"]);
    command.output().expect("fdtide starts")
}

/// The report of a burst, in a file.
fn report(folder: &TempDir, mode: &str) -> String {
    let path = report_path(folder).to_str().expect("UTF-8").to_owned();
    let run = burst(&["--format", "json", "-o", &path], mode);
    assert!(run.status.success(), "{}", stderr(&run));
    path
}

#[test]
fn run_gives_0_122_or_123_if_the_command_succeeds() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    for (mode, budget, code, says) in [
        ("lazy", "high_water <= 40", 0, "passed: high_water <= 40 for execs of true by landlock-burst"),
        ("eager", "high_water <= 40", 122, "budget exceeded: high_water <= 40 for execs of true by landlock-burst"),
        ("lazy", "program=false: high_water <= 40", 123, "inconclusive: high_water <= 40 for program=false"),
    ] {
        let run = burst(&["--budget", budget, "-o", "/dev/null"], mode);
        let stderr = stderr(&run);
        assert_eq!(run.status.code(), Some(code), "{budget}: {stderr}");
        assert!(stderr.contains(says) && stderr.ends_with(&format!("exit {code}\n")), "{budget}: {stderr}");
    }
}

#[test]
fn the_commands_own_code_comes_first() {
    let Some(_kernel) = support::kernel() else { return };
    for (script, code) in [("/bin/true; exit 7", 7), ("/bin/true; kill -9 $$", 137)] {
        let run = output(&["run", "--budget", "inherited <= 0", "-o", "/dev/null", "--", "sh", "-c", script]);
        assert_eq!(run.status.code(), Some(code), "{}", stderr(&run));
        assert!(stderr(&run).contains("budget exceeded: inherited <= 0"), "told all the same: {}", stderr(&run));
    }
    assert_eq!(output(&["run", "--budget", "failures == 0", "--", "no-such-program"]).status.code(), Some(127));
    let file = tempfile::NamedTempFile::new().expect("a file that is no program");
    let path = file.path().to_str().expect("UTF-8");
    assert_eq!(output(&["run", "--budget", "failures == 0", "--", path]).status.code(), Some(126));
}

#[test]
fn a_bad_budget_gives_125_before_the_command_runs_and_says_where_it_is_wrong() {
    let folder = TempDir::new().expect("a folder");
    let witness = folder.path().join("ran");
    let witness = witness.to_str().expect("UTF-8");
    for (args, says) in [
        (&["--budget", "high_watr <= 64"][..], "--budget:1:1"),
        (&["--budget", "high_water <= 64x"], "--budget:1:17"),
        (&["--config", "/no/such/fdtide.toml"], "there is no `/no/such/fdtide.toml`"),
        (&["--budget", "failures == 0", "--format", "jsonl"], "jsonl"),
        (&["--budget", "failures == 0", "--verdict", "junit=/no/such/folder/x"], "/no/such/folder/x"),
        (&["--verdict", "junit=x"], "there are no budgets"),
        (&["--budget", "failures == 0", "--base", "/no/such/base.json"], "/no/such/base.json"),
    ] {
        let run = output(&[&["run"], args, &["--", "touch", witness]].concat());
        assert_eq!(run.status.code(), Some(125), "{args:?}: {}", stderr(&run));
        assert!(stderr(&run).contains(says), "{args:?}: {}", stderr(&run));
        assert!(!Path::new(witness).exists(), "{args:?}: the command has run");
    }
}

#[test]
fn check_gives_0_1_or_3_by_the_worst_verdict() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let path = report(&folder, "eager");
    for (budgets, code) in [
        (&["high_water <= 100", "failures == 0"][..], 0),
        (&["high_water <= 100", "high_water >= 100"], 1),
        (&["high_water <= 100", "program=x: failures == 0"], 3),
        (&["program=x: failures == 0", "kinds.o_path <= 1"], 1),
    ] {
        let flags = budgets.iter().flat_map(|budget| ["--budget", budget]);
        let args: Vec<&str> = ["check", &path].into_iter().chain(flags).collect();
        let check = output(&args);
        let told = String::from_utf8_lossy(&check.stdout).into_owned();
        assert_eq!(check.status.code(), Some(code), "{budgets:?}: {told}{}", stderr(&check));
        assert!(told.ends_with(&format!("exit {code}\n")) && check.stderr.is_empty(), "{told}");
    }
}

#[test]
fn a_report_with_losses_can_fail_but_not_pass() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let path = report(&folder, "eager");
    let whole: Value = serde_json::from_slice(&fs::read(&path).expect("a report")).expect("JSON");
    for (change, says) in
        [("lost", "records lost: 3"), ("missed", "runs of a hook missed: 3"), ("skipped", "records not readable: 3")]
    {
        let mut lossy = whole.clone();
        lossy["loss"][change] = 3.into();
        fs::write(&path, lossy.to_string()).expect("a file");
        let check = output(&["check", &path, "--budget", "high_water <= 1000"]);
        let told = String::from_utf8_lossy(&check.stdout).into_owned();
        assert_eq!(check.status.code(), Some(3), "{told}");
        assert!(told.contains(says), "{told}");
        // A mark that was set while hooks were missed may be too high; one that was read is a fact.
        let code = if change == "missed" { 3 } else { 1 };
        assert_eq!(output(&["check", &path, "--budget", "high_water <= 10"]).status.code(), Some(code), "{change}");
    }
}

#[test]
fn check_reads_fdtide_toml_of_the_current_folder_if_nothing_else_is_named() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let path = report(&folder, "eager");
    let check = |args: &[&str]| fdtide(&[&["check", &path], args].concat()).current_dir(folder.path()).output();
    assert_eq!(check(&[]).expect("it starts").status.code(), Some(2), "there is none yet");
    fs::write(folder.path().join("fdtide.toml"), "[defaults]\nbudgets = ['high_water <= 64']\n").expect("a file");
    let found = check(&["--verdict", "github=notes", "--verdict", "junit=r.xml"]).expect("it starts");
    assert_eq!(found.status.code(), Some(1), "{}", stderr(&found));
    let notes = fs::read_to_string(folder.path().join("notes")).expect("annotations");
    assert!(notes.starts_with("::error ") && notes.contains("file=fdtide.toml,line=2,col=12"), "{notes}");
    assert!(fs::read_to_string(folder.path().join("r.xml")).expect("JUnit").contains("<testsuites "));
    let narrower = check(&["--gate", "--budget", "high_water <= 100"]).expect("it starts");
    assert_eq!(narrower.status.code(), Some(0), "the command line counts more: {}", stderr(&narrower));
    fs::write(folder.path().join("fdtide.toml"), "[defaults]\nbudgets = ['high_watr <= 64']\n").expect("a file");
    let wrong = check(&[]).expect("it starts");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("fdtide.toml:2:13"), "{}", stderr(&wrong));
}

#[test]
fn a_file_that_holds_no_report_gives_2_and_says_what_it_is() {
    let folder = TempDir::new().expect("a folder");
    for (text, says) in [
        ("", "empty"),
        ("{", "no JSON"),
        ("{}", "of no schema"),
        (r#"{"schema":"fdtide.report/2"}"#, "fdtide.report/2"),
        (r#"{"schema":"fdtide.report/1"}"#, "no whole report"),
        ("hello", "no JSON"),
        ("{\"seq\":1,\"spawn_window\":{}}\n{\"seq\":2}\n", "jsonl"),
    ] {
        let path = report_path(&folder);
        fs::write(&path, text).expect("a file");
        let check = output(&["check", path.to_str().expect("UTF-8"), "--budget", "failures == 0"]);
        assert_eq!(check.status.code(), Some(2), "{text}");
        assert!(stderr(&check).contains(says) && check.stdout.is_empty(), "{text}: {}", stderr(&check));
    }
    assert_eq!(output(&["check", "/no/such/file", "--budget", "failures == 0"]).status.code(), Some(2));
    assert_eq!(output(&["check"]).status.code(), Some(2));
}

#[test]
fn the_job_summary_is_added_to_what_others_wrote() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let summary = folder.path().join("summary.md");
    fs::write(&summary, "before\n").expect("a file");
    let args = ["run", "--budget", "failures == 0", "--verdict", "summary", "-o", "/dev/null", "--", "true"];
    let run = fdtide(&args).env("GITHUB_STEP_SUMMARY", &summary).output().expect("it starts");
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let text = fs::read_to_string(&summary).expect("a summary");
    assert!(text.starts_with("before\n### fdtide: 1 of 1 passed\n"), "{text}");
    let run = fdtide(&args).env_remove("GITHUB_STEP_SUMMARY").output().expect("it starts");
    assert_eq!(run.status.code(), Some(125), "{}", stderr(&run));
}
