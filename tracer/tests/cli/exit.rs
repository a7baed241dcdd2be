//! Exit codes and errors.

use std::{fs, os::unix::process::CommandExt as _, process::Output};

use tempfile::TempDir;

use crate::support::{self, ran::fdtide};

fn output(args: &[&str]) -> Output {
    fdtide(args).output().expect("fdtide starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One message, which says what failed and names the thing.
fn says(output: &Output, code: i32, text: &str) {
    let stderr = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(text), "`{text}` is not in: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "one message: {stderr}");
    assert!(stderr.starts_with("fdtide: "), "{stderr}");
}

#[test]
fn the_commands_own_code_is_passed_on() {
    let Some(_kernel) = support::kernel() else { return };
    for (script, code) in [("exit 7", 7), ("kill -9 $$", 128 + 9)] {
        let output = output(&["run", "-o", "/dev/null", "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", stderr(&output));
    }
}

#[test]
fn a_command_that_is_not_found_gives_127() {
    let Some(_kernel) = support::kernel() else { return };
    says(&output(&["run", "--", "no-such-program-anywhere"]), 127, "no-such-program-anywhere");
}

#[test]
fn a_command_that_can_not_be_executed_gives_126() {
    let Some(_kernel) = support::kernel() else { return };
    let file = tempfile::NamedTempFile::new().expect("a file that is no program");
    let path = file.path().to_str().expect("UTF-8");
    says(&output(&["run", "--", path]), 126, path);
}

#[test]
fn bad_usage_gives_125_for_run_and_2_for_attach() {
    for (args, code) in [
        (&["run"][..], 125),
        (&["run", "--no-such-option", "true"], 125),
        (&["run", "--format", "xml", "--", "true"], 125),
        (&["run", "--nofile", "many", "--", "true"], 125),
        (&["attach"], 2),
        (&["attach", "-p", "abc"], 2),
        (&["attach", "-p", "1", "--duration", "5 parsecs"], 2),
        (&["no-such-verb"], 2),
    ] {
        let output = output(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn a_limit_above_the_hard_one_is_refused_before_anything_starts() {
    says(&output(&["run", "--nofile", "4000000000", "--", "sh", "-c", "echo ran"]), 125, "hard limit");
}

#[test]
fn help_and_version_are_no_errors() {
    for args in [&["--help"][..], &["--version"], &["run", "--help"], &["attach", "--help"]] {
        let output = output(args);
        assert!(output.status.success() && output.stderr.is_empty() && !output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn an_unknown_process_gives_2_and_says_what_to_do() {
    let Some(_kernel) = support::kernel() else { return };
    // Above the greatest process id that Linux gives away.
    says(&output(&["attach", "-p", "4194999"]), 2, "4194999");
}

#[test]
fn a_place_that_can_not_be_written_is_told_before_the_command_runs() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let witness = folder.path().join("ran");
    let witness = witness.to_str().expect("UTF-8");
    for format in ["text", "json", "jsonl"] {
        let run = output(&["run", "--format", format, "-o", "/no/such/folder/r", "--", "touch", witness]);
        says(&run, 125, "/no/such/folder/r");
        let attach = output(&["attach", "--format", format, "-o", "/no/such/folder/r", "-p", "1"]);
        says(&attach, 2, "/no/such/folder/r");
    }
    assert!(fs::metadata(witness).is_err(), "the command has run");
}

#[test]
fn missing_rights_give_125_or_2_and_the_command_does_not_run() {
    let Some(_kernel) = support::kernel() else { return };
    let own = std::process::id().to_string();
    for (args, code) in [(&["run", "--", "echo", "ran"][..], 125), (&["attach", "-p", &own], 2)] {
        // Under another name: who has no rights may not even be let into the folder that it was built in.
        let output = fdtide(args).uid(65534).gid(65534).output();
        let Ok(output) = output else { return support::skip("nobody may not execute the tool in this folder") };
        says(&output, code, "not permitted to load BPF programs");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_tool_does_not_trace_itself() {
    // The shell becomes the tool, so its own id is the tool's.
    let script = format!("exec {} attach -p $$", support::FDTIDE);
    let mut command = std::process::Command::new("sh");
    says(&command.args(["-c", &script]).output().expect("sh starts"), 2, "itself");
}
