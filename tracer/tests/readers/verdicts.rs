//! Verdicts, read with what reads such files in CI.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    python,
    support::{
        self,
        fixture::bin,
        line::{list, number},
        ran::fdtide,
    },
};

/// What fails, what nothing can be said of, and what passes: the order in which they are told.
const BUDGETS: [&str; 3] = ["high_water <= 3", "program=absent: high_water <= 40", "high_water <= 4000"];

/// Holds a report of 12 execs against the budgets, and gives where the verdicts are in this form.
fn verdicts(folder: &TempDir, form: &str) -> PathBuf {
    let (report, path) = (folder.path().join("report.json"), folder.path().join(form));
    let mut run = fdtide(&["run", "--format", "json", "-o"]);
    run.arg(&report).arg("--").arg(bin("exec-loop")).args(["--execs", "12", "--hold", "20"]);
    let output = run.output().expect("fdtide starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut check = fdtide(&["check"]);
    check.arg(&report).args(BUDGETS.iter().flat_map(|budget| ["--budget", budget]));
    let output = check.arg("--verdict").arg(format!("{form}={}", path.display())).output().expect("fdtide starts");
    assert_eq!(output.status.code(), Some(1), "a budget is exceeded: {}", String::from_utf8_lossy(&output.stderr));
    path
}

#[test]
fn junitparser_counts_what_passed_failed_and_could_not_be_told() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(python) = python::interpreter() else { return };
    let folder = TempDir::new().expect("a folder");
    let read = python::run(&python, "junit_suites.py", &[&verdicts(&folder, "junit")]);
    let suites = list(&read, "suites");
    assert_eq!(suites.iter().map(|suite| suite["name"].as_str()).collect::<Vec<_>>(), BUDGETS.map(Some));
    assert_eq!(read["stated"], read["counted"], "what the head states is what the cases add up to");
    let cases: usize = suites.iter().map(|suite| list(suite, "cases").len()).sum();
    assert_eq!(["tests", "failures", "errors"].map(|key| number(&read["stated"], key)), [cases as u64, 1, 1]);
    for (suite, expected) in suites.iter().zip([Some("failure"), Some("error"), None]) {
        let results = list(suite, "cases").iter().flat_map(|case| list(case, "results"));
        let kinds: BTreeSet<_> = results.filter_map(|result| result["kind"].as_str()).collect();
        assert_eq!(kinds, expected.into_iter().collect(), "{suite}");
        for case in list(suite, "cases") {
            assert!(case["name"].as_str().is_some_and(|name| !name.is_empty()), "{case}");
            assert!(case["classname"].as_str().is_some_and(|name| name.starts_with("fdtide.high_water")), "{case}");
        }
    }
    let failure = &suites[0]["cases"][0]["results"][0];
    assert!(failure["message"].as_str().is_some_and(|text| text.contains("high_water <= 3")), "{failure}");
    assert!(failure["text"].as_str().is_some_and(|text| text.contains("exec-loop")), "{failure}");
}

#[test]
fn gitlab_gets_every_key_that_it_requires() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let text = fs::read(verdicts(&folder, "gitlab")).expect("the verdicts");
    // GitLab refuses a byte order mark and anything but one array.
    let Value::Array(findings) = serde_json::from_slice(&text).expect("JSON") else { panic!("no array") };
    assert_eq!(findings.len(), 2, "what passed is no finding");
    let mut fingerprints = BTreeSet::new();
    for finding in &findings {
        for key in ["description", "check_name", "fingerprint"] {
            assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {finding}");
        }
        let severities = ["info", "minor", "major", "critical", "blocker"];
        assert!(finding["severity"].as_str().is_some_and(|text| severities.contains(&text)), "{finding}");
        let path = finding["location"]["path"].as_str().expect("a path");
        assert!(!path.starts_with('/') && !path.starts_with("./"), "relative to the repository: {path}");
        assert!(finding["location"]["lines"]["begin"].as_u64() >= Some(1), "{finding}");
        fingerprints.insert(finding["fingerprint"].to_string());
    }
    assert_eq!(fingerprints.len(), findings.len(), "findings are told apart by their fingerprints");
    assert_eq!(
        findings.iter().map(|finding| &finding["severity"]).collect::<Vec<_>>(),
        [&json!("major"), &json!("minor")]
    );
}
