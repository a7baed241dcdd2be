//! The Grafana dashboard: its schema, and what its panels ask for.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use fdtide::sink::fields::metrics::every;
use serde_json::Value;

use crate::python;

pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/grafana/fdtide.json")
}

/// The expressions of all panels, with values for the variables.
pub fn expressions() -> Vec<String> {
    let text = fs::read_to_string(path()).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    let filled = |expression: &str| {
        let variables = [("$instance", ".*"), ("$container", ".*"), ("$comm", ".*")];
        let intervals = [("$__rate_interval", "1m"), ("$__range", "1h")];
        variables.iter().chain(&intervals).fold(expression.to_owned(), |text, (name, value)| text.replace(name, value))
    };
    targets.map(|target| filled(target["expr"].as_str().expect("an expression"))).collect()
}

#[test]
fn the_dashboard_asks_for_metrics_that_there_are_and_shows_most_of_them() {
    let text = fs::read_to_string(path()).expect("the dashboard");
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let mut asked: BTreeSet<&str> = text.split(word).filter(|word| word.starts_with("fdtide_")).collect();
    asked.extend(text.split(word).filter(|word| word.starts_with("process_") && word.len() > 9));
    let names: BTreeSet<String> = every().map(|metric| metric.name()).collect();
    let known = |word: &str| names.contains(word.strip_suffix("_bucket").unwrap_or(word));
    let unknown: Vec<&&str> = asked.iter().filter(|word| !known(word)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(asked.len() >= 20, "{asked:?}");
    assert!(!expressions().iter().any(|expression| expression.contains('$')), "{:?}", expressions());
}

#[test]
fn the_dashboard_is_what_grafanas_schema_says_and_loses_nothing_in_it() {
    let Some(python) = python::interpreter() else { return };
    let found = python::run(&python, "grafana_schema.py", &[&path()]);
    assert_eq!(found["lost"], Value::Array(Vec::new()), "keys or values that Grafana's types do not have");
    let panels = found["panels"].as_array().expect("panels");
    assert!(panels.iter().any(|kind| kind == "timeseries") && panels.iter().any(|kind| kind == "heatmap"));
}
