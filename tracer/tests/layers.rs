//! The rooms of the tool keep to themselves: what a file may name is decided by the folder that it is in.
#![expect(clippy::expect_used, reason = "tests panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A room, and what no file of it may name. Tests inside of it may.
const ROOMS: &[(&str, &[&str])] = &[
    (
        "src/kernel",
        &["aya::", "aya_obj::", "crate::model", "crate::sink", "crate::probe", "crate::cli", "crate::event"],
    ),
    ("src/probe", &["crate::model", "crate::sink", "crate::cli", "crate::pipeline", "crate::event"]),
    (
        "src/event",
        &["aya::", "std::fs", "std::time", "std::io", "tokio", "crate::model", "crate::probe", "crate::sink", "async "],
    ),
    (
        "src/model",
        &[
            "std::io",
            "std::fs",
            "std::time",
            "std::thread",
            "std::process",
            "std::env",
            "std::net",
            "tokio",
            "log::",
            "serde_json",
            "async ",
            "crate::sink",
            "crate::probe",
            "crate::cli",
            "crate::pipeline",
            "fdtide_abi",
            "aya::",
            "libc::",
        ],
    ),
    (
        "src/sink",
        &[
            "crate::probe",
            "crate::procfs",
            "crate::cli",
            "crate::pipeline",
            "std::fs",
            "File::",
            "std::process",
            "aya::",
            "libc::",
        ],
    ),
    (
        "src/record",
        &["crate::probe", "crate::sink", "crate::cli", "crate::pipeline", "std::time", "std::thread", "tokio", "aya::"],
    ),
    ("src/agent", &["crate::probe", "crate::cli", "crate::pipeline", "crate::tui", "println!", "eprintln!", "aya::"]),
    (
        "src/redact",
        &[
            "std::fs",
            "std::time",
            "tokio",
            "log::",
            "crate::probe",
            "crate::sink",
            "crate::cli",
            "crate::pipeline",
            "aya::",
        ],
    ),
    (
        "src/procfs",
        &[
            "crate::probe",
            "crate::model",
            "crate::sink",
            "crate::record",
            "crate::cli",
            "crate::pipeline",
            "crate::target",
            "aya::",
        ],
    ),
    ("src/target", &["crate::model", "crate::sink", "crate::cli", "crate::pipeline", "aya::", "println!", "eprintln!"]),
    ("src/segment", &["crate::probe", "crate::cli", "crate::pipeline", "crate::record", "aya::", "SystemTime::now"]),
    (
        "src/metrics",
        &["crate::probe", "crate::cli", "crate::pipeline", "std::process", "aya::", "libc::", "println!", "eprintln!"],
    ),
    (
        "src/gate",
        &[
            "std::io",
            "std::fs",
            "std::env",
            "std::time",
            "std::process",
            "println!",
            "eprintln!",
            "serde_json",
            "crate::probe",
            "crate::event",
            "crate::sink",
            "crate::cli",
            "crate::pipeline",
            "aya::",
            "libc::",
        ],
    ),
    (
        "src/tui",
        &[
            "crate::probe",
            "crate::cli",
            "crate::pipeline",
            "std::fs",
            "std::io",
            "std::time",
            "std::thread",
            "std::process",
            "std::env",
            "tokio",
            "aya::",
            "libc::",
            "ratatui::crossterm::terminal",
        ],
    ),
];

/// What only one place may name.
const ONLY: &[(&str, &[&str])] = &[
    ("aya::", &["src/probe"]),
    ("hdrhistogram::", &["src/hist.rs"]),
    ("clap::", &["src/cli"]),
    ("arrow_ipc::", &["src/record"]),
    ("prost::", &["src/sink/perfetto", "src/metrics/otlp"]),
    ("prometheus_client::", &["src/metrics/prometheus.rs"]),
    ("opentelemetry_proto::", &["src/metrics/otlp"]),
    ("tonic::", &["src/metrics/otlp"]),
    ("hyper::", &["src/metrics"]),
    ("parquet::", &["src/sink/rows", "src/segment/file.rs"]),
    ("object_store::", &["src/segment"]),
    ("ratatui::", &["src/tui", "src/cli/terminal.rs"]),
    ("tracing_subscriber::", &["src/agent/logs.rs"]),
    ("seccompiler::", &["src/agent/confine"]),
    ("sd_notify::", &["src/agent/notify.rs"]),
    ("askama::", &["src/sink/html"]),
    ("globset::", &["src/target"]),
];

/// Every source file below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// Lines of code that are part of the program: no comments, and nothing from the first test module on.
fn code(path: &Path) -> Vec<(usize, String)> {
    let name = path.to_string_lossy();
    if name.contains("tests") || name.contains("testing") {
        return Vec::new();
    }
    let text = fs::read_to_string(path).expect("a source file");
    let lines = text.lines().zip(1..).take_while(|(line, _)| !line.starts_with("#[cfg(test)]"));
    lines
        .filter(|(line, _)| !line.trim_start().starts_with("//"))
        .map(|(line, number)| (number, line.to_owned()))
        .collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Whether `line` names `path`, not only as the end of a longer name.
fn names(line: &str, path: &str) -> bool {
    let before = |at: usize| line[..at].chars().next_back();
    line.match_indices(path).any(|(at, _)| before(at).is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':'))
}

#[test]
fn no_room_names_what_is_not_its_own() {
    let mut found = Vec::new();
    for (room, forbidden) in ROOMS {
        for path in sources(&root().join(room)) {
            for (number, line) in code(&path) {
                for word in forbidden.iter().filter(|word| names(&line, word)) {
                    found.push(format!("{}:{number}: `{room}` may not name `{word}`", path.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn what_has_one_place_is_named_there_only() {
    let mut found = Vec::new();
    for path in sources(&root().join("src")) {
        for (number, line) in code(&path) {
            for (word, places) in ONLY {
                if names(&line, word) && !places.iter().any(|place| path.starts_with(root().join(place))) {
                    found.push(format!("{}:{number}: `{word}` belongs to {places:?}", path.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_tool_carries_no_engine_for_queries() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    assert!(manifest.contains("object_store") && !manifest.contains("datafusion"), "that is fleet's");
}

#[test]
fn what_crosses_the_kernel_boundary_depends_on_nothing() {
    for path in sources(&root().join("../tracer-ebpf/src/abi")) {
        for (number, line) in code(&path) {
            for word in ["std::", "alloc::", "aya_ebpf::", "aya::", "libc::", "serde::"] {
                assert!(!names(&line, word), "{}:{number}: {word}", path.display());
            }
        }
    }
}

#[test]
fn the_handlers_of_the_kernel_program_do_not_know_the_hooks() {
    let kernel = root().join("../tracer-ebpf/src/kernel");
    for name in ["table.rs", "look.rs", "slot.rs", "mark.rs", "kind.rs", "tree.rs", "emit.rs"] {
        for (number, line) in code(&kernel.join(name)) {
            for word in ["crate::kernel::probes", "probes::", "BtfTracePointContext", "ProbeContext", "FExitContext"] {
                assert!(!names(&line, word), "{name}:{number}: {word}");
            }
        }
    }
}

#[test]
fn the_rooms_are_where_they_are_looked_for() {
    for room in [
        "src/kernel",
        "src/probe",
        "src/event",
        "src/model",
        "src/gate",
        "src/agent",
        "src/redact",
        "src/sink",
        "src/record",
        "src/procfs",
        "src/target",
        "src/metrics",
        "src/segment",
        "src/tui",
        "../tracer-ebpf/src/abi",
    ] {
        assert!(!sources(&root().join(room)).is_empty(), "{room} has no files");
    }
    assert!(names("use std::fs;", "std::fs") && !names("use my_std::fs;", "std::fs"));
}
