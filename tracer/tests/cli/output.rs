//! Where results go, and when.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::Stdio,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    self, poll,
    ran::{fdtide, report_path},
};

#[test]
fn a_report_file_appears_when_it_is_complete_and_not_before() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let path = report_path(&folder);
    let mut command = fdtide(&["run", "--format", "json", "-o"]);
    let mut child = command.arg(&path).args(["--", "cat"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut echo = String::new();
    stdin.write_all(b"through\n").expect("it reads");
    stdout.read_line(&mut echo).expect("it answers");
    assert!(!path.exists(), "the command still runs");
    drop(stdin);
    stdout.read_to_string(&mut echo).expect("the rest");
    assert!(child.wait().expect("its end").success());
    assert_eq!(echo, "through\n", "nothing but the command's own output");
    let report: Value = serde_json::from_slice(&fs::read(&path).expect("a report")).expect("JSON");
    assert_eq!(report["command"], serde_json::json!(["cat"]));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing else is left");
}

#[test]
fn exec_records_come_while_the_command_still_runs() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("lines");
    let mut command = fdtide(&["run", "--format", "jsonl", "-o"]);
    command.arg(&path).args(["--", "sh", "-c", "true; /bin/true; /bin/echo; read line"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    let lines = || fs::read_to_string(&path).unwrap_or_default();
    poll(20, "the line of `echo`", || lines().contains(r#""program":"echo""#).then_some(()));
    assert!(child.try_wait().expect("it can be asked").is_none(), "the shell still reads");
    let text = lines();
    assert!(text.ends_with('\n'), "whole lines only");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(records.iter().filter(|record| record["program"] == "true").count(), 1);
    drop(child.stdin.take());
    child.wait().expect("its end");
    let all = lines();
    assert!(all.starts_with(&text) && all.contains(r#""program":"sh""#), "the shell's own record comes last");
}

#[test]
fn a_reader_that_goes_away_does_not_change_the_exit_code() {
    let Some(_kernel) = support::kernel() else { return };
    for format in ["json", "jsonl"] {
        let mut command = fdtide(&["run", "--format", format, "--", "sh", "-c"]);
        command.arg("/bin/true; /bin/true; read line; /bin/true; exit 3");
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        drop(child.stdin.take());
        let output = child.wait_with_output().expect("its end");
        assert_eq!(output.status.code(), Some(3), "{format}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{format}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_report_to_stdout_follows_what_the_command_wrote_there() {
    let Some(_kernel) = support::kernel() else { return };
    let output = fdtide(&["run", "--format", "json", "--", "echo", "first"]).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let report = text.strip_prefix("first\n").expect("the command's output comes first");
    assert_eq!(serde_json::from_str::<Value>(report).expect("JSON")["schema"], "fdtide.report/1");
    let text = fdtide(&["run", "--", "echo", "first"]).output().expect("it starts").stdout;
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(text.contains("0 lost") && text.lines().count() < 40, "a screen at most: {text}");
}
