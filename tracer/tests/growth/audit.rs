//! `fdtide audit`: the seven attempts, a leak, failures in between, and commands that go wrong.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::support::{self, FDTIDE, fixture::bin};

fn audit(plan: &str, name: &str, args: &[&str]) -> Output {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    fs::write(&path, plan).expect("a plan");
    Command::new(FDTIDE).arg("audit").arg(&path).args(args).stdin(Stdio::null()).output().expect("it starts")
}

fn attempt(trigger: &str, more: &str, command: &[&str]) -> String {
    format!("[[attempt]]\ntrigger = \"{trigger}\"\n{more}\ncommand = {command:?}\n")
}

fn zero(trigger: &str, more: &str, args: &[&str]) -> String {
    let program = bin("zero-spend").to_string_lossy().into_owned();
    attempt(trigger, more, &[&[program.as_str(), "--brief"], args].concat())
}

fn rows(output: &Output) -> Vec<Value> {
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    value["attempts"].as_array().expect("attempts").clone()
}

#[test]
fn what_was_held_stands_between_24_and_24() {
    let Some(_kernel) = support::kernel() else { return };
    let plan = ["2", "3", "4", "6"].map(|n| zero("spend", "", &["--attempt", n])).concat();
    let output = audit(&plan, "spend", &["--format", "csv", "--workers", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let held: Vec<_> = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()).collect();
    assert_eq!(held.iter().map(|fields| fields[6]).collect::<Vec<_>>(), ["174", "74", "524", "224"], "{text}");
    for fields in held {
        assert_eq!((fields[3], fields[4], fields[5], fields[7]), ("24", "24", "false", "24"), "{text}");
    }
    assert!(output.stderr.is_empty(), "no bar where stderr is no terminal");
}

#[test]
fn a_leak_fails_and_failures_in_between_are_told_as_what_they_are() {
    let Some(_kernel) = support::kernel() else { return };
    let plan = zero("exhaust", "nofile = 1024", &["--attempt", "7"]);
    let output = audit(&plan, "exhaust", &["--format", "json"]);
    let row = &rows(&output)[0];
    assert_eq!((&row["before"], &row["delayed"], &row["leak"]), (&24.into(), &24.into(), &false.into()), "{row}");
    assert_eq!((row["verdict"].as_str(), output.status.code()), (Some("failures"), Some(0)));
    let sentence = row["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("24 before and 24 after prove nothing") && sentence.contains("EMFILE"), "{sentence}");
    assert!(row["failures"].as_u64().expect("a count") > 250);
    let output = audit(&format!("failures = \"fail\"\n{plan}"), "exhaust-fails", &[]);
    assert_eq!(output.status.code(), Some(1));

    let output = audit(&zero("leaky", "", &["--attempt", "2", "--leak", "3"]), "leaky", &["--format", "json"]);
    let row = &rows(&output)[0];
    assert_eq!((row["verdict"].as_str(), output.status.code()), (Some("leak"), Some(1)), "{row}");
    assert_eq!((&row["before"], &row["delayed"]), (&24.into(), &27.into()));
    let left = row["left"].as_array().expect("a list");
    assert!(left.len() == 3 && left.iter().all(|one| one.to_string().contains("socket:[")), "{left:?}");
}

#[test]
fn a_command_that_goes_wrong_does_not_end_the_others() {
    let Some(_kernel) = support::kernel() else { return };
    let plan = [
        attempt("missing", "", &["no-such-program"]),
        attempt("failing", "", &["sh", "-c", "echo oh no >&2; exit 3"]),
        attempt("hanging", "timeout = \"300ms\"", &["sleep", "60"]),
        attempt("orphans", "linger = \"5s\"", &["sh", "-c", "sleep 0.5 & exit 0"]),
        attempt("fine", "threads = [1, 2]", &["sh", "-c", "exit $((1 - {threads} / {threads}))"]),
    ];
    let output = audit(&plan.concat(), "wrong", &["--format", "json", "--workers", "3"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = rows(&output);
    let verdicts: Vec<_> = rows.iter().filter_map(|row| row["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["broken", "broken", "broken", "failures", "clean", "clean"], "{rows:#?}");
    for (row, word) in rows.iter().zip(["`no-such-program`", "exit 3: `oh no`", "killed after 300ms", "outlived"]) {
        assert!(row["sentence"].as_str().expect("a sentence").contains(word), "{row}");
    }
    assert_eq!((&rows[5]["attempt"], &rows[5]["threads"]), (&6.into(), &2.into()));
}

#[test]
fn a_bad_plan_is_told_with_line_and_column() {
    let output = audit("[[attempt]]\ntrigger = \"x\"\ncommand = [\"true\"]\nthreads = 0\n", "bad", &[]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("bad.toml") && stderr.contains("line 4, column 11"), "{stderr}");
    let output = Command::new(FDTIDE).args(["audit", "/nowhere/plan.toml"]).output().expect("it starts");
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("/nowhere/plan.toml"));
}
