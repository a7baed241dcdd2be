//! `fdtide scale`: the line, its interval, the limit that it predicts, and exit codes.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{self, FDTIDE, fixture::bin};

fn scale(args: &[&str], command: &[&str]) -> Output {
    let mut fdtide = Command::new(FDTIDE);
    fdtide.arg("scale").args(args).arg("--").args(command).stdin(Stdio::null()).output().expect("it starts")
}

fn burst(mode: &str, more: &[&str]) -> Output {
    let burst = bin("landlock-burst").to_string_lossy().into_owned();
    let command = [&burst, "--mode", mode, "--execs", "2", "--brief", "--entries", "{N}"];
    scale(&[&["--vary", "N=64,128,300,480", "--nofile", "512"], more].concat(), &command)
}

/// The least number of entries that fails, found by trying with nothing but stdio open, as under trace.
fn really_fails_at() -> u64 {
    let args = ["--mode", "eager", "--find-limit", "--nofile", "512", "--brief"];
    let output = Command::new(bin("landlock-burst")).args(args).stdin(Stdio::null()).output().expect("it starts");
    let line: Value = serde_json::from_slice(&output.stdout).expect("a line");
    line["first_failing"].as_u64().expect("a number")
}

#[test]
fn case_30_eager_grows_by_one_lazy_by_nothing_and_the_limit_is_where_it_is() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let output = burst("eager", &["--format", "json", "--budget", "slope <= 0.01"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let eager: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let growth = &eager["growth"];
    assert_eq!((&growth["law"], &growth["fit"]["points"]), (&"proportional".into(), &4.into()), "{growth}");
    for end in ["slope", "slope_low", "slope_high"] {
        let slope = growth["fit"][end].as_f64().expect("a number");
        assert!((slope - 1.0).abs() <= 0.01, "{end} {slope}");
    }
    assert!(growth["limit_at"].as_u64().expect("a number").abs_diff(really_fails_at()) <= 1, "{growth}");
    assert_eq!(eager["budgets"][0]["verdict"], "fail");

    let output = burst("lazy", &["--format", "json", "--budget", "slope <= 0.01"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lazy: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(lazy["growth"]["fit"]["slope"].as_f64().expect("a number").abs() <= 0.01);
    assert_eq!((&lazy["growth"]["law"], &lazy["growth"]["limit_at"]), (&"bounded".into(), &Value::Null));
}

#[test]
fn a_value_at_which_descriptors_are_refused_is_left_out_and_told() {
    let Some(_kernel) = support::kernel() else { return };
    let case = bin("fd-case").to_string_lossy().into_owned();
    let command = [&case, "--brief", "self-probe", "--count", "{N}"];
    let output = scale(&["--vary", "N=20,40,60,4000", "--nofile", "128"], &command);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("not in the fit: descriptors were refused"), "{text}");
    assert!(text.contains("Descriptors were refused at N = 4000 already."), "{text}");
}

#[test]
fn bad_input_is_named_and_ends_with_2() {
    let cases: [(&[&str], &[&str], &str); 5] = [
        (&["--vary", "N=1,2"], &["true"], "has no place for `N`"),
        (&["--vary", "N=1"], &["true", "{N}"], "two different values"),
        (&["--vary", "N=1,2", "--budget", "slop <= 1"], &["true", "{N}"], "`slop`"),
        (&["--vary", "N=1,2", "--nofile", "999999999"], &["true", "{N}"], "above the hard limit"),
        (&["--vary", "N=1,2", "-o", "/nowhere/x"], &["true", "{N}"], "/nowhere/x"),
    ];
    for (args, command, word) in cases {
        let output = scale(args, command);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains(word), "{args:?}: {stderr}");
    }
}
