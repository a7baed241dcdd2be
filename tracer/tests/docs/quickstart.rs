//! Each quick start from its first command to its last, in one shell.

use std::{
    net::TcpListener,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::{blocks, page, path, support};

/// Runs a page as somebody who copies its blocks one after the other; gives what it printed.
fn follow(name: &str, folder: &TempDir) -> String {
    let script = blocks(&page(name)).join("\n");
    assert!(script.contains("fdtide "), "{name} has no commands");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(folder.path()).env("PATH", path()).stdin(Stdio::null());
    let output = shell.output().expect("a shell");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{name}: {}\n{text}", output.status);
    text
}

fn made(folder: &TempDir, names: &[&str]) {
    for name in names {
        let made = folder.path().join(name).metadata();
        assert!(made.is_ok_and(|found| found.len() > 0), "`{name}` was not made, or is empty");
    }
}

fn python() -> bool {
    let found = support::program("python3", &[]).is_some();
    if !found {
        support::skip("no python3");
    }
    found
}

#[test]
fn the_quick_start_of_ci_works_as_written() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let text = follow("docs/quickstart-ci.md", &folder);
    // A budget that is exceeded, and no alarm where nothing has changed.
    assert!(text.contains("exit status 122") && text.contains("no alarm"), "{text}");
    assert!(text.contains("::error title=budget exceeded"), "{text}");
    made(&folder, &["base.json", "new.json", "fdtide.toml", "fdtide.xml", "quality.json"]);
}

#[test]
fn the_quick_start_of_a_running_service_works_as_written() {
    let Some(_kernel) = support::kernel() else { return };
    if !python() {
        return;
    }
    if TcpListener::bind("127.0.0.1:8000").is_err() {
        return support::skip("port 8000, which the page uses, is taken on this machine");
    }
    let folder = TempDir::new().expect("a folder");
    let text = follow("docs/quickstart-sre.md", &folder);
    assert!(text.contains("high-water") && text.contains("asked.fdtide"), "{text}");
    made(&folder, &["before.json", "http.log"]);
}

#[test]
fn the_quick_start_after_an_incident_works_as_written() {
    let Some(_kernel) = support::kernel() else { return };
    if !python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let text = follow("docs/quickstart-postmortem.md", &folder);
    assert!(text.contains("EMFILE") && text.contains("budget exceeded: failures == 0"), "{text}");
    let ends = ["fdtide", "json", "html", "parquet", "pftrace", "csv", "hlog"];
    made(&folder, &ends.map(|end| format!("incident.{end}")).each_ref().map(String::as_str));
}
