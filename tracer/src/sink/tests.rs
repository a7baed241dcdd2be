//! Every output of one scripted run, and the fields that they name.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{Report, testing::sample};
use crate::sink::{fields, json, jsonl, text};

fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if at.ends_with("kinds") {
                found.insert(format!("{at}{{}}"));
                return;
            }
            for (key, value) in map {
                let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                paths(value, &path, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| paths(value, &format!("{at}[]"), found)),
        _ => {
            found.insert(at.to_owned());
        }
    }
}

fn known(path: &str) -> bool {
    // A null may stand for an object, a list or a composition.
    fields::all().any(|field| {
        field.path == path
            || [".", "[]"].iter().any(|next| field.path.starts_with(&format!("{path}{next}")))
            || field.path == format!("{path}{{}}")
    })
}

fn json_of(report: &Report) -> Value {
    let mut bytes = Vec::new();
    json::write(report, &mut bytes).unwrap();
    assert!(bytes.ends_with(b"}\n"));
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn fields_of_every_report_are_documented() {
    let mut found = BTreeSet::new();
    for report in sample::all() {
        paths(&json_of(&report), "", &mut found);
    }
    let unknown: Vec<&String> = found.iter().filter(|path| !known(path)).collect();
    assert!(unknown.is_empty(), "not in sink/fields: {unknown:?}");
}

#[test]
fn fields_that_are_documented_are_in_the_reports() {
    let mut found = BTreeSet::new();
    for report in sample::all() {
        paths(&json_of(&report), "", &mut found);
    }
    let missing = fields::all().filter(|field| {
        let dot = format!("{}.", field.path);
        let list = format!("{}.", field.path.trim_end_matches("[]"));
        !found.iter().any(|path| path == field.path || path.starts_with(&dot) || path.starts_with(&list))
    });
    let missing: Vec<&str> = missing.map(|field| field.path).collect();
    assert!(missing.is_empty(), "documented, but no sample has it: {missing:?}");
}

#[test]
fn fields_have_their_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/fields.md");
    if std::env::var_os("FDTIDE_BLESS").is_some() {
        std::fs::write(path, fields::markdown()).unwrap();
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == fields::markdown(), "docs/fields.md is not what sink/fields gives: see its head");
}

#[test]
fn json_has_the_paths_that_were_promised() {
    let value = json_of(&sample::landlock());
    for path in [
        "/schema",
        "/plan/backend",
        "/loss/lost",
        "/loss/missed",
        "/coverage",
        "/tables/0/table",
        "/tables/0/pids/0",
        "/tables/0/comm",
        "/tables/0/live",
        "/tables/0/high_water",
        "/tables/0/high_water_kinds",
        "/tables/0/highest_number",
        "/tables/0/settled",
        "/tables/0/soft_limit",
        "/tables/0/headroom",
        "/tables/0/installs",
        "/tables/0/closes",
        "/tables/0/failures/0/errno",
        "/tables/0/failures/0/syscall",
        "/tables/0/failures/0/count",
        "/tables/0/failures/0/live",
        "/tables/0/failures/0/soft_limit",
        "/execs/1/seq",
        "/execs/1/at_ns",
        "/execs/1/spawner/pid",
        "/execs/1/spawner/tid",
        "/execs/1/spawner/comm",
        "/execs/1/pid",
        "/execs/1/program",
        "/execs/1/spawn_window/high_water",
        "/execs/1/spawn_window/thread_high_water",
        "/execs/1/spawn_window/floor",
        "/execs/1/spawn_window/settled",
        "/execs/1/spawn_window/kinds",
        "/execs/1/spawn_window/installs",
        "/execs/1/spawn_window/closes",
        "/execs/1/spawn_window/soft_limit",
        "/execs/1/spawn_window/headroom",
        "/execs/1/spawn_window/failures",
        "/execs/1/before_exec/high_water",
        "/execs/1/before_exec/kinds",
        "/execs/1/inherited",
        "/execs/1/image/high_water",
        "/execs/1/image/high_water_kinds",
        "/execs/1/image/at_exit",
        "/execs/1/image/exit/code",
        "/histograms/0/spawner",
        "/histograms/0/program",
        "/histograms/0/count",
        "/histograms/0/p50",
        "/histograms/0/p90",
        "/histograms/0/p99",
        "/histograms/0/max",
        "/histograms/0/hdr",
    ] {
        assert!(value.pointer(path).is_some_and(|value| !value.is_null()), "{path}");
    }
    assert_eq!(value["schema"], "fdtide.report/1");
}

#[test]
fn a_line_of_jsonl_is_the_entry_of_the_report() {
    let report = sample::landlock();
    let value = json_of(&report);
    for (record, expected) in report.execs.iter().zip(value["execs"].as_array().unwrap()) {
        let mut line = Vec::new();
        jsonl::write_exec(record, &mut line).unwrap();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(&serde_json::from_slice::<Value>(&line).unwrap(), expected);
    }
}

#[test]
fn a_report_that_was_written_is_read_back_whole() {
    for report in sample::all() {
        let mut bytes = Vec::new();
        json::write(&report, &mut bytes).unwrap();
        let back = json::read(&bytes).unwrap();
        assert_eq!(json_of(&back), json_of(&report));
    }
}

#[test]
fn numbers_are_read_back_to_their_last_digit() {
    let mut report =
        sample::all().into_iter().find(|report| report.tables.iter().any(|t| !t.failures.is_empty())).unwrap();
    let row = report.tables.iter_mut().flat_map(|table| &mut table.failures).next().unwrap();
    // One that is read as its neighbour where digits are not read with care.
    row.per_second = Some(0.000_909_496_384_334_396_1);
    let bytes = |report: &Report| {
        let mut bytes = Vec::new();
        json::write(report, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let first = bytes(&report);
    assert_eq!(bytes(&json::read(first.as_bytes()).unwrap()), first);
}

#[test]
fn what_is_no_report_is_told_by_what_it_is() {
    let said = |text: &str| json::read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(said("{"), "no JSON");
    assert_eq!(said("[1]"), "of no schema, not of schema `fdtide.report/1`");
    assert_eq!(said(r#"{"schema":"x\u001b"}"#), r"of schema `x\u{1b}`, not of schema `fdtide.report/1`");
    assert_eq!(said(r#"{"schema":"fdtide.report/1"}"#), "no whole report");
}

fn text_of(report: &Report) -> String {
    let mut bytes = Vec::new();
    text::write(report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn text_fits_a_screen_and_has_nothing_a_terminal_obeys() {
    for report in sample::all() {
        let text = text_of(&report);
        assert!(text.lines().count() <= 24 || report.coverage.len() > 2 || !report.censuses.is_empty(), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() < 80, "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}

/// Compares with the text beside this file; `FDTIDE_BLESS=1` writes it.
fn golden(name: &str, report: &Report) {
    let path = format!("{}/src/sink/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = text_of(report);
    if std::env::var_os("FDTIDE_BLESS").is_some() {
        std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/src/sink/golden")).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{path}");
}

#[test]
fn golden_texts_are_as_they_were_read() {
    golden("burst", &sample::landlock());
    golden("lazy", &sample::lazy());
    golden("leak", &sample::leak());
    golden("census", &sample::census());
    golden("listener", &sample::listener());
    golden("outlived", &sample::outlived());
    golden("fork-leak", &sample::fork_leak());
    golden("late-release", &sample::late_release());
    golden("child-burst", &sample::child_burst());
    golden("one-exec", &sample::one_exec());
    golden("no-exec", &sample::no_exec());
    golden("attach", &sample::attach());
    golden("broker", &sample::broker());
    golden("many-spawners", &sample::many_spawners());
    golden("hostile", &sample::hostile());
    golden("containers", &sample::containers());
    golden("empty", &sample::empty());
}
