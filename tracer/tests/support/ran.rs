//! Runs of the tool over a fixture.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    FDTIDE,
    fixture::ARENAS,
    line::{at, list, number},
};

/// A finished `fdtide run --format json`.
pub struct Ran {
    /// The report.
    pub report: Value,
    /// What the command printed, where that is a fixture's line.
    pub lines: Vec<Value>,
    /// What came of the tool itself.
    pub output: Output,
}

/// The tool with these arguments and nothing on stdin.
pub fn fdtide(args: &[&str]) -> Command {
    let mut command = Command::new(FDTIDE);
    command.args(args).env(ARENAS.0, ARENAS.1).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command under the tool and reads the report.
pub fn run(options: &[&str], program: &Path, args: &[&str]) -> Ran {
    run_with(options, program, args, |command| command)
}

/// [`run`] with a last word on how the tool is started.
pub fn run_with(
    options: &[&str],
    program: &Path,
    args: &[&str],
    prepare: impl Fn(&mut Command) -> &mut Command,
) -> Ran {
    super::until_nothing_is_missed(
        || once(options, program, args, &prepare),
        |ran| ran.report["loss"]["missed"].as_u64().unwrap_or(0),
    )
}

fn once(options: &[&str], program: &Path, args: &[&str], prepare: impl Fn(&mut Command) -> &mut Command) -> Ran {
    let folder = TempDir::new().expect("a folder");
    let path = report_path(&folder);
    let mut command = fdtide(&["run", "--format", "json", "-o"]);
    command.arg(&path).args(options).arg("--").arg(program).args(args);
    let output = prepare(&mut command).output().expect("fdtide starts");
    let text = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("no report: {error}\n{}", String::from_utf8_lossy(&output.stderr)));
    let report = serde_json::from_slice(&text).expect("the report is JSON");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ran { report, lines, output }
}

/// Where a report goes in a folder of its own.
pub fn report_path(folder: &TempDir) -> PathBuf {
    folder.path().join("report.json")
}

impl Ran {
    /// Fails if the command did, with what it said.
    pub fn ended_well(self) -> Self {
        let stderr = String::from_utf8_lossy(&self.output.stderr);
        assert!(self.output.status.success(), "{}: {stderr}", self.output.status);
        self
    }

    /// The fixture's line of this step.
    pub fn step(&self, name: &str) -> &Value {
        let line = self.lines.iter().rev().find(|line| line["step"] == name);
        line.unwrap_or_else(|| panic!("no line `{name}` in {:?}", self.lines))
    }

    /// The only table that a process used.
    pub fn table(&self, pid: u64) -> &Value {
        let mut rows = self.tables().iter().filter(|row| list(row, "pids").iter().any(|found| *found == pid));
        let row = rows.next().unwrap_or_else(|| panic!("no table of process {pid}"));
        assert!(rows.next().is_none(), "process {pid} has more than one table");
        row
    }

    /// All tables.
    pub fn tables(&self) -> &[Value] {
        list(&self.report, "tables")
    }

    /// All exec records.
    pub fn execs(&self) -> &[Value] {
        list(&self.report, "execs")
    }

    /// Exec records of this program.
    pub fn execs_of(&self, program: &str) -> Vec<&Value> {
        self.execs().iter().filter(|exec| exec["program"] == program).collect()
    }

    /// Nothing was lost or skipped, nor missed where the kernel does not do that by itself, and nothing is left open of what every run must hold to.
    pub fn checked(self) -> Self {
        let report = &self.report;
        assert_eq!(report["schema"], "fdtide.report/1");
        for field in ["loss.lost", "loss.skipped"] {
            assert_eq!(number(report, field), 0, "{field}: {}", report["loss"]);
        }
        // Where the kernel skips hooks of its own accord it may do so in every attempt; the figures have to be right all the same.
        let missed = number(report, "loss.missed");
        assert!(missed == 0 || super::skips_hooks(), "loss.missed: {missed}");
        let seqs: Vec<u64> = self.execs().iter().map(|exec| number(exec, "seq")).collect();
        assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>(), "sequence numbers have gaps");
        let root = &self.execs()[0];
        assert_eq!(root["pid"], report["root"]["pid"]);
        assert!(at(root, "spawn_window.high_water").is_null(), "the command itself was spawned by nobody");
        for table in self.tables() {
            if table["state"] == "ended" {
                assert_eq!(table["live"], 0, "{table}");
            }
            let kinds: u64 = kinds(&table["high_water_kinds"]).values().sum();
            assert_eq!(kinds, number(table, "high_water"), "kinds do not add up: {table}");
        }
        // Whoever has an exec record has a table.
        self.execs().iter().for_each(|exec| drop(self.tables_of(number(exec, "pid"))));
        self
    }

    fn tables_of(&self, pid: u64) -> Vec<&Value> {
        let rows: Vec<_> =
            self.tables().iter().filter(|row| list(row, "pids").iter().any(|found| *found == pid)).collect();
        assert!(!rows.is_empty(), "process {pid} has no table");
        rows
    }
}

/// A composition as a map.
pub fn kinds(value: &Value) -> std::collections::BTreeMap<String, u64> {
    let object = value.as_object().unwrap_or_else(|| panic!("{value} is no composition"));
    object.iter().map(|(kind, count)| (kind.clone(), count.as_u64().expect("a count"))).collect()
}
