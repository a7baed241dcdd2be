//! The environment of Python's that `cargo xtask setup --test` makes.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::support::{FDTIDE, skip};

/// Its interpreter; None, with the reason printed, where there is none.
pub fn interpreter() -> Option<PathBuf> {
    let target = Path::new(FDTIDE).parent().and_then(Path::parent).expect("the target folder");
    let python = target.join("venv/bin/python");
    if python.exists() {
        return Some(python);
    }
    let reason = "no Python environment with the readers: run `cargo xtask setup --test`";
    assert!(std::env::var_os("FDTIDE_REQUIRE_KERNEL").is_none_or(|value| value != "1"), "required: {reason}");
    skip(reason);
    None
}

/// Runs a program of this folder; what it prints is JSON.
pub fn run(python: &Path, program: &str, args: &[&Path]) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers").join(program);
    let output = Command::new(python).arg(path).args(args).output().expect("Python starts");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}
