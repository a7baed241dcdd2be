//! Verdicts as GitLab's code-quality report: an array of findings, empty if all passed.

use std::io::{self, Write};

use serde::Serialize;

use super::{line, outcome, title};
use crate::gate::{Check, Verdict};

/// Where a finding is said to be if its budget stands in no file: a budget on a command line stands in the pipeline's.
const PIPELINE: &str = ".gitlab-ci.yml";

#[derive(Serialize)]
struct Finding {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: usize,
}

/// Writes the array.
pub fn write(checks: &[Check], out: &mut dyn Write) -> io::Result<()> {
    let mut findings: Vec<Finding> = Vec::new();
    for check in checks.iter().filter(|check| check.verdict != Verdict::Pass) {
        let mut finding = finding(check);
        // Findings are told apart by their fingerprints.
        let same = findings.iter().filter(|other| other.fingerprint.starts_with(&finding.fingerprint)).count();
        if same > 0 {
            finding.fingerprint.push_str(&format!("-{same}"));
        }
        findings.push(finding);
    }
    serde_json::to_writer_pretty(&mut *out, &findings)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn finding(check: &Check) -> Finding {
    let place = &check.budget.place;
    let path = place.path.clone().unwrap_or_else(|| PIPELINE.to_owned());
    Finding {
        description: format!("{}: {}: {}", outcome(check), title(check), line(check)),
        check_name: format!("fdtide {}", check.budget.subject),
        fingerprint: fingerprint(&[&path, &check.budget.scope.to_string(), &title_without_ids(check)]),
        severity: if check.verdict == Verdict::Fail { "major" } else { "minor" },
        location: Location {
            path: path.strip_prefix("./").unwrap_or(&path).to_owned(),
            lines: Lines { begin: place.line },
        },
    }
}

/// The same from run to run: ids of tables and processes are not.
fn title_without_ids(check: &Check) -> String {
    match &check.group {
        crate::gate::Group::Table { comm, .. } => format!("{} for a table of {comm}", check.budget),
        _ => title(check),
    }
}

/// FNV-1a over 128 bits, the parts kept apart.
fn fingerprint(parts: &[&str]) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
    format!("{hash:032x}")
}
