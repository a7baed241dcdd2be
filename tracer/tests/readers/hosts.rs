//! Recordings of two hosts together: in a report, and in DuckDB.

use std::{os::unix::process::CommandExt as _, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    exports::export,
    python,
    support::{
        self,
        fixture::bin,
        line::{list, number},
        ran::fdtide,
    },
};

/// A recording of what a host of this name runs.
fn on_host(name: &'static str, folder: &Path, args: &[&str]) {
    let mut command = fdtide(&["run", "-o", "/dev/null", "--record"]);
    command.arg(folder.join("trace.fdtide")).arg("--").arg(bin("exec-loop")).args(args);
    // SAFETY: two system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let ok = libc::unshare(libc::CLONE_NEWUTS) == 0 && libc::sethostname(name.as_ptr().cast(), name.len()) == 0;
            if ok { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
    assert!(command.output().expect("fdtide starts").status.success());
}

#[test]
fn duckdb_and_the_report_of_two_hosts_tell_the_same_p99() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(python) = python::interpreter() else { return };
    let folders = [TempDir::new().expect("a folder"), TempDir::new().expect("a folder")];
    on_host("web1", folders[0].path(), &["--execs", "150", "--hold", "40"]);
    on_host("web2", folders[1].path(), &["--execs", "3", "--hold", "300"]);
    let recordings = folders.each_ref().map(|folder| folder.path().join("trace.fdtide"));
    let output = fdtide(&["report", "--format", "json"]).args(&recordings).output().expect("fdtide starts");
    let merged: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(merged["schema"], "fdtide.reports/1");
    let hosts: Vec<&Value> = list(&merged, "hosts").iter().map(|host| &host["host"]).collect();
    assert_eq!(hosts, ["web1", "web2"]);

    let parquet = folders.each_ref().map(|folder| export(folder.path(), "parquet"));
    let found = python::run(&python, "duckdb_p99.py", &[&parquet[0], &parquet[1]]);
    let rows = list(&merged, "histograms");
    assert_eq!(found.as_array().map(Vec::len), Some(rows.len()));
    for row in rows {
        let same = |other: &&Value| ["spawner", "program"].iter().all(|key| other[key] == row[key]);
        let found = found.as_array().and_then(|all| all.iter().find(same)).expect("a row of DuckDB");
        let figures = |row: &Value| ["count", "p99", "max"].map(|key| number(row, key));
        assert_eq!(figures(found), figures(row));
        assert_eq!(number(found, "hosts"), 2);
    }
    // Two in a hundred of all execs were on the host that holds more: the tail is its.
    assert!(rows.iter().any(|row| number(row, "p99") > 300 && number(row, "p50") < 100), "{rows:?}");

    let text = fdtide(&["report"]).args(&recordings).output().expect("fdtide starts");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("== web1 ·") && text.contains("2 hosts together") && text.contains("true ← exec-loop"));
}
