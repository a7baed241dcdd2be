//! Signals reach the command once; the command's end is the tool's.

use std::{
    io::{BufRead as _, BufReader, Lines},
    os::unix::process::CommandExt as _,
    process::{ChildStdout, Stdio},
};

use crate::support::{self, limits::kill, ran::fdtide};

/// Says which signal came; ends with code 9 at USR1.
const TELLER: &str = "for s in TERM INT HUP QUIT USR2 ALRM; do trap \"echo $s\" $s; done; trap 'kill $p; exit 9' USR1; \
                      sleep 60 & p=$!; echo ready; while :; do wait $p; done";

fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    lines.next().expect("a line").expect("it can be read")
}

#[test]
fn each_signal_reaches_the_command_once() {
    let Some(_kernel) = support::kernel() else { return };
    let mut command = fdtide(&["run", "-o", "/dev/null", "--", "bash", "-c", TELLER]);
    // Who runs the tests in the background has these ignored, and a shell can't trap what was ignored when it started.
    let as_usual = || {
        for signal in [libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: the default action, which needs no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec it only makes two calls that are safe there.
    unsafe { command.pre_exec(as_usual) };
    let mut child = command.stderr(Stdio::inherit()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(next(&mut lines), "ready");
    for (name, signal) in [
        ("TERM", libc::SIGTERM),
        ("INT", libc::SIGINT),
        ("HUP", libc::SIGHUP),
        ("QUIT", libc::SIGQUIT),
        ("USR2", libc::SIGUSR2),
        ("ALRM", libc::SIGALRM),
        ("TERM", libc::SIGTERM),
    ] {
        kill(child.id(), signal);
        // One that came twice would stand where the next is expected.
        assert_eq!(next(&mut lines), name);
    }
    kill(child.id(), libc::SIGUSR1);
    assert!(lines.next().is_none(), "one came more than once");
    assert_eq!(child.wait().expect("its end").code(), Some(9));
}

#[test]
fn a_command_that_does_not_handle_the_signal_ends_by_it_and_the_report_is_written() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = support::ran::report_path(&folder);
    let mut command = fdtide(&["run", "--format", "json", "-o"]);
    command.arg(&path).args(["--", "sh", "-c", "echo ready; exec sleep 60"]);
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(next(&mut lines), "ready");
    kill(child.id(), libc::SIGTERM);
    assert_eq!(child.wait().expect("its end").code(), Some(128 + libc::SIGTERM));
    let report = std::fs::read(&path).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(*support::line::at(&report, "root.exit.signal"), libc::SIGTERM);
}
