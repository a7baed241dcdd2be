//! The systemd unit, as systemd itself reads it.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

use crate::support::{program, skip};

const NAME: &str = "fdtide-agent.service";

fn unit() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/systemd").join(NAME);
    fs::read_to_string(path).expect("the unit")
}

/// systemd's own look at it, with a program that is there in the place of the installed one.
fn analyze(args: &[&str]) -> Option<(bool, String)> {
    let Some(analyze) = program("systemd-analyze", &[]) else {
        skip("no `systemd-analyze`: run `cargo xtask setup --test`");
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(NAME);
    fs::write(&path, unit().replace("/usr/bin/fdtide", "/bin/true")).expect("a unit");
    let output = Command::new(analyze).args(args).arg(&path).env("SYSTEMD_LOG_LEVEL", "warning").output();
    let output = output.expect("it starts");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Some((output.status.success(), text))
}

/// The values of a key, of all its lines.
fn values(key: &str) -> Vec<String> {
    let unit = unit();
    let lines = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

#[test]
fn systemd_understands_every_line_of_the_unit() {
    let Some((understood, text)) = analyze(&["verify", "--man=no"]) else { return };
    let ours: Vec<&str> = text.lines().filter(|line| line.contains(NAME)).collect();
    assert!(understood && ours.is_empty(), "{text}");
}

#[test]
fn the_unit_is_as_little_exposed_as_a_tracer_can_be() {
    // In tenths. What is left is what it is for: BPF, looking at others, and talking to a network.
    let Some((below, text)) = analyze(&["security", "--offline=true", "--no-pager", "--threshold=23"]) else { return };
    assert!(below, "{text}");
    let Some((_, json)) = analyze(&["security", "--offline=true", "--json=short"]) else { return };
    let rows: Vec<Value> = serde_json::from_str(&json).expect("JSON");
    assert!(rows.len() > 50, "{json}");
    for name in
        ["NoNewPrivileges=", "ProtectSystem=", "ProtectHome=", "SystemCallArchitectures=", "MemoryDenyWriteExecute="]
    {
        let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no `{name}`"));
        assert_eq!(row["set"], true, "{name}");
    }
}

/// System calls of these names, of which some are systemd's for many.
fn calls(names: &[&str]) -> Option<BTreeSet<String>> {
    let analyze = program("systemd-analyze", &[])?;
    let mut all = BTreeSet::new();
    for name in names {
        if !name.starts_with('@') {
            all.insert((*name).to_owned());
            continue;
        }
        let output = Command::new(&analyze).args(["syscall-filter", "--no-pager", name]).output().expect("it starts");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        // The first line is its own name again; notes are no names.
        let below = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        all.extend(calls(&below.collect::<Vec<_>>())?);
    }
    Some(all)
}

#[test]
fn the_units_filter_leaves_the_calls_that_a_start_takes_and_no_others_of_their_kind() {
    let mut left = BTreeSet::new();
    for line in unit().lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let (names, away) = line.strip_prefix('~').map_or((line, false), |names| (names, true));
        let Some(named) = calls(&names.split_whitespace().collect::<Vec<_>>()) else {
            return skip("no `systemd-analyze`: run `cargo xtask setup --test`");
        };
        left = if away { &left - &named } else { &left | &named };
    }
    for call in ["bpf", "perf_event_open", "seccomp", "capset", "sched_setattr", "openat", "clone", "execve"] {
        assert!(left.contains(call), "{call}");
    }
    for call in ["setpriority", "sched_setscheduler", "setuid", "mount", "chown", "keyctl", "ptrace"] {
        assert!(!left.contains(call), "{call}");
    }
}

#[test]
fn everything_that_the_example_writes_is_in_a_folder_that_the_unit_makes() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/agent.toml")).expect("the example");
    let config = fdtide::agent::config::parse("deploy/agent.toml", &text).expect("a sound example");
    let folder = |key: &str, root: &str| Path::new(root).join(&values(key)[0]);
    let (state, runtime) = (folder("StateDirectory", "/var/lib"), folder("RuntimeDirectory", "/run"));
    let written = [config.record.folder, config.report.file, Some(config.segments.spool)];
    for path in written.into_iter().flatten() {
        assert!(path.starts_with(&state), "{}", path.display());
    }
    assert!(config.control.socket.starts_with(&runtime));
    assert_eq!(values("User"), ["fdtide"]);
    let users = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/systemd/fdtide.sysusers"));
    assert!(users.expect("the user").lines().any(|line| line.starts_with("u fdtide ")));
    assert!(config.service.user.is_none(), "the unit is never root");
}
