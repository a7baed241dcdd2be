//! Exports, read with the programs that they are for.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    python,
    replay::{recorded, report},
    support::{
        self,
        line::{list, number},
        ran::fdtide,
    },
};

/// Exports the recording in a folder.
pub fn export(folder: &Path, to: &str) -> PathBuf {
    let path = folder.join(format!("trace.{to}"));
    let output = fdtide(&["export", "--to", to, "-o"]).arg(&path).arg(folder.join("trace.fdtide")).output();
    let output = output.expect("fdtide starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

fn json(folder: &Path) -> Value {
    serde_json::from_slice(&report(&folder.join("trace.fdtide"), &["--format", "json"])).expect("JSON")
}

#[test]
fn polars_reads_the_recording_and_its_parquet() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(python) = python::interpreter() else { return };
    let folder = TempDir::new().expect("a folder");
    recorded(folder.path(), &[], "exec-loop", &["--execs", "40", "--hold", "25"]);
    let raw = python::run(&python, "polars_rows.py", &[&folder.path().join("trace.fdtide")]);
    let rows = python::run(&python, "polars_rows.py", &[&export(folder.path(), "parquet")]);
    for rows in [&raw, &rows] {
        assert_eq!((number(rows, "types.exec"), number(rows, "types.exit"), number(rows, "types.end")), (41, 41, 1));
        assert!(rows["time"].as_str().is_some_and(|time| time.contains("UTC") && time.contains("ns")), "{rows}");
        assert_eq!(rows["high"], json(folder.path())["histograms"][0]["max"]);
    }
    assert_eq!(raw["rows"], rows["rows"]);
    assert!(list(&rows, "columns").contains(&Value::from("host")) && !list(&rows, "columns").contains(&"raw".into()));
}

#[test]
fn the_rows_are_the_same_in_csv_and_json_lines() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    recorded(folder.path(), &[], "exec-loop", &["--execs", "5"]);
    let csv = std::fs::read_to_string(export(folder.path(), "csv")).expect("CSV");
    let lines = std::fs::read_to_string(export(folder.path(), "jsonl")).expect("JSON Lines");
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let execs: Vec<&Value> = rows.iter().filter(|row| row["type"] == "exec").collect();
    assert_eq!(execs.iter().map(|row| number(row, "seq")).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!(execs.iter().skip(1).all(|row| row["program"] == "true" && row["kinds"].is_object()));
}

#[test]
fn hdr_histograms_own_reader_adds_up_what_the_report_has() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(python) = python::interpreter() else { return };
    let folder = TempDir::new().expect("a folder");
    recorded(folder.path(), &[], "exec-loop", &["--execs", "300", "--hold", "31"]);
    let tags = python::run(&python, "hdr_log.py", &[&export(folder.path(), "hdr")]);
    let report = json(folder.path());
    let row = list(&report, "histograms").iter().find(|row| row["program"] == "true").expect("a histogram").clone();
    let tag = &tags["exec-loop/true"];
    assert_eq!(
        ["count", "p50", "max"].map(|key| number(tag, key)),
        ["count", "p50", "max"].map(|key| number(&row, key))
    );
}

/// What Perfetto's bindings find, against the report.
fn perfetto(depth: &str, program: &str, args: &[&str]) {
    let Some(python) = python::interpreter() else { return };
    let folder = TempDir::new().expect("a folder");
    recorded(folder.path(), &["--depth", depth], program, args);
    let found = python::run(&python, "perfetto_trace.py", &[&export(folder.path(), "perfetto")]);
    let report = json(folder.path());
    assert_eq!(number(&found, "slices.exec"), list(&report, "execs").len() as u64);
    for row in list(&report, "tables") {
        let suffix = format!(" table {}", number(row, "table"));
        let tracks = found["highest"].as_object().expect("tracks");
        let track = tracks.iter().find(|(name, _)| name.ends_with(&suffix)).expect("a counter track");
        assert_eq!(track.1, &row["high_water"], "{program} at depth {depth}: {row}");
    }
    assert_eq!((&found["backwards"], &found["unnested"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    assert_eq!((number(&found, "left_open"), number(&found, "unknown_tracks")), (0, 0));
    let failures: usize = list(&report, "tables").iter().map(|row| list(row, "failures").len()).sum();
    assert_eq!(found["instants"]["failure"].as_u64().unwrap_or(0), failures as u64);
}

#[test]
fn perfettos_own_bindings_find_every_mark_and_every_exec() {
    let Some(_kernel) = support::kernel() else { return };
    for depth in ["records", "events"] {
        perfetto(depth, "exec-loop", &["--execs", "50", "--hold", "20"]);
        if support::landlock() {
            perfetto(depth, "landlock-burst", &["--mode", "eager", "--execs", "4", "--parallel", "2"]);
            perfetto(depth, "landlock-burst", &["--mode", "eager", "--nofile", "512"]);
        }
    }
}
