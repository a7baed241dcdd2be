//! Answers about a simulated fleet against what is true of it, in this program and in DuckDB.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "support/sim.rs"]
mod sim;
#[path = "support/tools.rs"]
mod tools;

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use sim::{Fleet, MARK, Truth};
use tempfile::TempDir;
use tools::{ask, fleet, number, rows, text};

fn small(folder: &Path) -> Truth {
    Fleet { hosts: 12, execs: 720, seed: 7 }.write(folder)
}

#[test]
fn p99_per_program_is_that_of_all_values_and_of_the_merged_histograms() {
    let folder = TempDir::new().expect("a folder");
    let truth = small(folder.path());
    let answer = ask(folder.path(), &[]);
    assert_eq!(rows(&answer).len(), truth.windows.len());
    for row in rows(&answer) {
        let program = text(row, "program");
        truth.agrees(program);
        let q = truth.brute(program);
        let found = ["execs", "p50", "p90", "p99", "max", "hosts"].map(|key| number(row, key));
        assert_eq!(found, [q.count, q.p50, q.p90, q.p99, q.max, 12], "{program}");
    }
    // Some lie where a histogram has fewer digits than the values.
    assert!(rows(&answer).iter().any(|row| number(row, "p99") > 4096 && number(row, "p99") < number(row, "max")));
}

#[test]
fn rows_by_host_are_the_reports_of_the_hosts() {
    let folder = TempDir::new().expect("a folder");
    let truth = small(folder.path());
    let answer = ask(folder.path(), &["--by", "program,host"]);
    assert_eq!(rows(&answer).len(), truth.histograms.len());
    for row in rows(&answer) {
        let host: u64 = text(row, "host").trim_start_matches("web").parse().expect("a number");
        let of = |((at, program), _): &(&(u64, &str), &_)| *at == host && *program == text(row, "program");
        let (_, values) = truth.histograms.iter().find(of).expect("a histogram");
        let q = values.quantiles();
        assert_eq!(
            ["execs", "p50", "p90", "p99", "max"].map(|key| number(row, key)),
            [q.count, q.p50, q.p90, q.p99, q.max]
        );
    }
}

#[test]
fn least_headroom_is_told_of_whose_table_it_is() {
    let folder = TempDir::new().expect("a folder");
    let truth = small(folder.path());
    let answer = ask(folder.path(), &["--question", "headroom"]);
    let found: BTreeMap<&str, u64> =
        rows(&answer).iter().map(|row| (text(row, "program"), number(row, "headroom"))).collect();
    let expected: BTreeMap<&str, u64> = truth.headroom.iter().map(|(owner, left)| (*owner, u64::from(*left))).collect();
    assert_eq!(found, expected);
    let order: Vec<u64> = rows(&answer).iter().map(|row| number(row, "headroom")).collect();
    assert!(order.is_sorted(), "{order:?}");
    for row in rows(&answer) {
        let left = number(row, "soft_limit").saturating_sub(number(row, "high_water"));
        assert_eq!(left, number(row, "headroom"), "{row}");
    }
}

#[test]
fn failed_execs_are_counted_by_what_happened() {
    let folder = TempDir::new().expect("a folder");
    let truth = small(folder.path());
    let answer = ask(folder.path(), &["--question", "failed"]);
    let found: BTreeMap<(&str, String), (u64, u64)> = rows(&answer)
        .iter()
        .map(|row| {
            assert_eq!(number(row, "execs"), truth.execs[text(row, "program")]);
            let times = row["times"].as_u64().unwrap_or(0);
            ((text(row, "program"), text(row, "what").to_owned()), (number(row, "failed"), times))
        })
        .collect();
    let expected: BTreeMap<(&str, String), (u64, u64)> = truth.failed.clone().into_iter().collect();
    assert_eq!(found, expected);
    assert!(found.keys().any(|(_, what)| what.starts_with("EMFILE")), "{found:?}");
}

#[test]
fn growth_since_a_mark_is_that_of_the_levels_before_and_after() {
    let folder = TempDir::new().expect("a folder");
    let truth = small(folder.path());
    let answer = ask(folder.path(), &["--question", "growth", "--since-mark", MARK]);
    let middle = |levels: &[u32]| {
        let mut levels = levels.to_vec();
        levels.sort_unstable();
        u64::from(levels[levels.len().div_ceil(2) - 1])
    };
    assert_eq!(rows(&answer).len(), truth.settled.len());
    for row in rows(&answer) {
        let [before, after] = &truth.settled[text(row, "program")];
        let expected = [before.len() as u64, after.len() as u64, middle(before), middle(after)];
        let found = ["n_before", "n_after", "median_before", "median_after"].map(|key| number(row, key));
        assert_eq!(found, expected, "{row}");
    }
    let worst = &rows(&answer)[0];
    assert_eq!((text(worst, "program"), text(worst, "what")), ("openshell-sandb", "spawn windows"));
    assert!(number(worst, "grown") > 0 && worst["per_level"].as_f64().is_some_and(|slope| slope > 0.0), "{worst}");
    assert!(rows(&answer).iter().skip(1).all(|row| row["per_level"] == 0.0), "only one grows");
}

#[test]
fn hosts_and_coverage_tell_what_is_missing() {
    let folder = TempDir::new().expect("a folder");
    let truth = small(folder.path());
    let answer = ask(folder.path(), &["--question", "hosts"]);
    assert_eq!(rows(&answer).len(), 12);
    let lost: u64 = rows(&answer).iter().map(|row| number(row, "lost")).sum();
    let execs: u64 = rows(&answer).iter().map(|row| number(row, "execs")).sum();
    assert_eq!((lost, execs), (6, truth.execs.values().sum()));
    assert_eq!(number(&rows(&answer)[0], "lost"), 1, "what is missing comes first");
    let coverage = &answer["coverage"];
    assert_eq!(["hosts", "lost", "missed", "segments"].map(|key| number(coverage, key)), [12, 6, 0, truth.segments]);
    let plain = fleet(&[folder.path().to_str().expect("a name")]);
    let shown = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(shown.contains("lost 6, missed 0") && shown.contains("may be too low"), "{shown}");
    assert!(shown.lines().count() <= 24 && shown.lines().all(|line| line.chars().count() <= 79), "{shown}");
}

#[test]
fn a_time_leaves_out_what_is_not_in_it() {
    let folder = TempDir::new().expect("a folder");
    let truth = small(folder.path());
    let all: u64 = truth.execs.values().sum();
    let count = |args: &[&str]| rows(&ask(folder.path(), args)).iter().map(|row| number(row, "execs")).sum::<u64>();
    let noon = "2026-08-01T12:00:00Z";
    assert_eq!(count(&["--since", noon]) + count(&["--until", noon]), all);
    assert_eq!(count(&["--until", noon]), all / 2);
    assert_eq!(count(&["--since", "2026-08-02"]), 0);
}

#[test]
fn duckdb_gives_the_same_rows_for_the_sql_that_is_printed() {
    let Some(python) = tools::python() else { return };
    let folder = TempDir::new().expect("a folder");
    small(folder.path());
    let place = folder.path().join("date=*");
    let questions: [&[&str]; 8] = [
        &["--by", "program,host"],
        &["--by", "container,spawner", "--since", "2026-08-01T06:00:00Z"],
        &["--figure", "image"],
        &["--question", "headroom", "--by", "host"],
        &["--question", "failed", "--by", "host,program"],
        &["--question", "growth", "--since-mark", MARK, "--by", "host,program"],
        &["--question", "hosts"],
        &["--question", "marks"],
    ];
    for question in questions {
        let here = ask(&place, question);
        let mut args = question.to_vec();
        args.extend(["--print-sql", "duckdb", place.to_str().expect("a name")]);
        let sql = fleet(&args);
        assert!(sql.status.success(), "{}", String::from_utf8_lossy(&sql.stderr));
        let there = tools::run(&python, "duckdb_sql.py", &sql.stdout);
        assert!(!rows(&here).is_empty(), "{question:?}");
        assert_eq!(tools::plain(rows(&here)), tools::plain(there.as_array().expect("rows")), "{question:?}");
    }
}

#[test]
fn the_sql_for_spark_is_sparks() {
    let Some(python) = tools::python() else { return };
    for question in ["p99", "headroom", "failed", "growth", "hosts", "marks"] {
        let args = ["s3://bucket/fdtide/date=*/", "--question", question, "--print-sql", "spark", "--since-mark", MARK];
        let sql = fleet(&args);
        assert!(sql.status.success(), "{}", String::from_utf8_lossy(&sql.stderr));
        let read = tools::run(&python, "spark_sql.py", &sql.stdout);
        assert_eq!(
            read["statements"],
            Value::from(["Create", "Create", "Select"].map(str::to_owned).to_vec()),
            "{read}"
        );
        assert_eq!(read["commands"], 0, "every statement is understood, not passed over");
        assert!(read["paths"].to_string().contains("s3a://bucket/fdtide/date=*"), "{read}");
    }
}

#[test]
fn your_own_sql_is_asked_of_the_same_table() {
    let folder = TempDir::new().expect("a folder");
    let truth = small(folder.path());
    let sql =
        "select program, count(*) as n, max(time) as last from segments where type = 'exec' group by 1 order by 1";
    let answer = ask(folder.path(), &["--sql", sql]);
    let found: BTreeMap<&str, u64> = rows(&answer).iter().map(|row| (text(row, "program"), number(row, "n"))).collect();
    assert_eq!(found, truth.execs);
    let output = fleet(&[folder.path().to_str().expect("a name"), "--sql", sql, "--format", "csv"]);
    let csv = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(csv.lines().next(), Some("program,n,last"));
    assert_eq!(csv.lines().count(), truth.execs.len() + 1);
    assert!(String::from_utf8_lossy(&output.stderr).contains("lost 6"), "what CSV has no place for");
}
