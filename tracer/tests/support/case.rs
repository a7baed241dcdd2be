//! Runs of the tool over a fixture, and what must hold of each.

use std::process::Command;

use serde_json::Value;

use super::{
    fixture::bin,
    line::number,
    ran::{Ran, run},
};

/// So long that nothing ever counts as still, however busy the machine: levels are floors and last looks then.
pub const NEVER_STILL: [&str; 2] = ["--settle", "60000"];

/// Runs a fixture with the test's three descriptors as its base.
pub fn fixture(name: &str, args: &[&str]) -> Ran {
    run(&NEVER_STILL, &bin(name), args).ended_well().checked()
}

pub fn case(args: &[&str]) -> Ran {
    fixture("fd-case", args)
}

/// What a program opens and closes before its `main`, one at a time: libraries and the like. From strace where there is one.
pub fn before_main(program: &str) -> u64 {
    static KNOWN: std::sync::Mutex<Vec<(String, u64)>> = std::sync::Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, count)) = known.iter().find(|(name, _)| name == program) {
        return *count;
    }
    let count = match super::program("strace", &[]) {
        Some(strace) => opened(&strace, program),
        None => 4,
    };
    known.push((program.to_owned(), count));
    count
}

/// Descriptors that `exec-loop` without any exec makes, which itself makes none.
fn opened(strace: &std::path::Path, program: &str) -> u64 {
    let args: &[&str] = if program == "fd-case" { &["after-exec", "--expect-live", "3"] } else { &["--help"] };
    let mut command = Command::new(strace);
    command.args(["-e", "trace=%desc"]).arg(bin(program)).args(args).stdin(std::process::Stdio::null());
    let output = command.output().expect("strace starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().filter(|line| line.starts_with("open") && !line.contains("= -1")).count() as u64
}

/// The row of the process that wrote this line says what the line says, and what came before `main`.
pub fn row_agrees<'a>(ran: &'a Ran, program: &str, end: &Value) -> &'a Value {
    let row = ran.table(number(end, "pid"));
    let early = before_main(program);
    assert_eq!(row["state"], "ended");
    assert_eq!(number(row, "high_water"), number(end, "high_water").max(number(end, "base") + 1));
    assert_eq!(number(row, "installs"), number(end, "opens") + early, "installs of {program}");
    assert_eq!(number(row, "closes"), number(end, "closes") + early, "closes of {program}");
    assert_eq!(super::line::failures(&row["failures"]), super::line::failures(&end["failures"]));
    row
}

/// Base of the fixture, from its own line.
pub fn base(ran: &Ran) -> u64 {
    number(ran.step("end"), "base")
}
