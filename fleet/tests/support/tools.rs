//! Running the program, and reading what it says.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

const FLEET: &str = env!("CARGO_BIN_EXE_fdtide-fleet");

/// Runs it.
pub fn fleet(args: &[&str]) -> Output {
    Command::new(FLEET).args(args).output().expect("fdtide-fleet starts")
}

/// The JSON answer about a folder.
pub fn ask(folder: &Path, args: &[&str]) -> Value {
    let output = Command::new(FLEET).arg(folder).args(args).args(["--format", "json"]).output().expect("it starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Its rows.
pub fn rows(answer: &Value) -> &[Value] {
    answer["rows"].as_array().expect("rows")
}

/// A whole number in a row.
pub fn number(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or_else(|| panic!("no number `{key}` in {row}"))
}

/// A text in a row.
pub fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {row}"))
}

/// Rows in which 3 and 3.0 are the same.
pub fn plain(rows: &[Value]) -> Vec<String> {
    let cell = |value: &Value| match value.as_f64() {
        Some(number) => format!("{number:.3}"),
        None => value.to_string(),
    };
    let row = |row: &Value| {
        let pairs = row.as_object().expect("an object").iter();
        pairs.map(|(key, value)| format!("{key}={}", cell(value))).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(row).collect()
}

/// The interpreter of the environment that `cargo xtask setup --test` makes; none, with the reason printed, without it.
pub fn python() -> Option<PathBuf> {
    let target = Path::new(FLEET).parent().and_then(Path::parent).expect("the target folder");
    let python = target.join("venv/bin/python");
    if python.exists() {
        return Some(python);
    }
    let reason = "no Python environment with the readers: run `cargo xtask setup --test`";
    assert!(std::env::var_os("FDTIDE_REQUIRE_KERNEL").is_none_or(|value| value != "1"), "required: {reason}");
    println!("skipped: {reason}");
    None
}

/// Runs a program of the tests' folder with this on its stdin; what it prints is JSON.
pub fn run(python: &Path, program: &str, input: &[u8]) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers").join(program);
    let mut child = Command::new(python)
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    child.stdin.take().expect("a stdin").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}
