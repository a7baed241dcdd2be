use super::*;
use crate::gate::{Budget, judge};
use crate::model::Report;
use crate::model::report::Name;
use crate::model::testing::sample;

fn checks(report: &Report, budgets: &[&str]) -> Vec<Check> {
    let budgets: Vec<Budget> = budgets.iter().map(|text| Budget::parse(text).unwrap()).collect();
    judge(report, &budgets)
}

fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// One that fails, one that is inconclusive, one that passes.
fn three() -> Vec<Check> {
    checks(&sample::landlock(), &["high_water <= 64", "program=foo: high_water <= 1", "orphans == 0"])
}

/// A burst by a spawner whose name means something to everyone.
fn hostile() -> Vec<Check> {
    let mut report = sample::landlock();
    let name = Name::from_c(b"a|<b>&\"]]>`*_\n::%,\xff\x1b[2J");
    report.execs.iter_mut().for_each(|record| record.spawner.comm = name.clone());
    checks(&report, &["high_water <= 64"])
}

#[test]
fn the_text_says_what_failed_and_why() {
    let text = written(|out| text::write(&three(), Some(122), out));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "budget exceeded: high_water <= 64 for execs of true by landlock-burst");
    assert_eq!(lines[1], "  measured  p50 1006, p99 1024, max 1024 over 100 execs");
    assert!(lines[2].starts_with("  made of   ") && lines[2].contains("o_path"), "{text}");
    assert!(text.contains("100 of 100 execs exceed it; first #1 at "), "{text}");
    assert!(text.contains("inconclusive: high_water <= 1 for program=foo"), "{text}");
    assert!(text.ends_with("passed: orphans == 0: 0\nexit 122\n"), "{text}");
}

#[test]
fn hostile_names_do_nothing_in_any_form() {
    let checks = hostile();
    for text in [
        written(|out| text::write(&checks, None, out)),
        written(|out| github::annotations(&checks, out)),
        written(|out| github::summary(&checks, out)),
        written(|out| junit::write(&checks, out)),
        written(|out| gitlab::write(&checks, out)),
    ] {
        assert!(!text.contains('\x1b') && text.contains("x0a"), "{text:?}");
        assert!(text.lines().all(|line| !line.starts_with("::%")), "{text}");
    }
    let annotation = written(|out| github::annotations(&checks, out));
    assert_eq!(annotation.lines().count(), 1);
    let properties = annotation.strip_prefix("::error ").unwrap().split("::").next().unwrap();
    assert!(properties.ends_with("%3A%3A%25%2C\\xff\\x1b[2J"), "{properties}");
    let summary = written(|out| github::summary(&checks, out));
    assert!(!summary.contains("<b>") && !summary.contains("a|"), "{summary}");
    let row = summary.lines().find(|line| line.starts_with("| budget exceeded")).unwrap();
    assert_eq!(row.matches('|').count(), 5, "{row}");
}

#[test]
fn junit_counts_failures_and_errors_and_has_a_suite_per_budget() {
    let xml = written(|out| junit::write(&three(), out));
    assert!(xml.contains(r#"<testsuites name="fdtide" tests="3" failures="1" errors="1">"#), "{xml}");
    assert_eq!(xml.matches("<testsuite ").count(), 3);
    assert_eq!(xml.matches(r#" skipped="0" "#).count(), 3, "as Jenkins' schema has it: {xml}");
    assert!(xml.contains(r#"<failure message="budget exceeded: high_water &lt;= 64 for "#), "{xml}");
    assert!(xml.contains(r#"<error message="inconclusive: "#), "{xml}");
    assert!(xml.contains("<system-out>measured 0</system-out>"), "{xml}");
}

#[test]
fn annotations_are_capped_where_github_stops_to_show_them() {
    let one = three().remove(0);
    let many: Vec<Check> = (0..25).map(|_| one.clone()).collect();
    let text = written(|out| github::annotations(&many, out));
    assert_eq!(text.lines().count(), 10);
    assert!(text.ends_with("::error title=fdtide::16 more budgets did not pass\n"), "{text}");
}

#[test]
fn an_annotation_points_at_the_budget_in_its_file() {
    let budgets = crate::gate::config::parse("ci/fdtide.toml", "[defaults]\nbudgets = [\"high_water <= 64\"]").unwrap();
    let checks = judge(&sample::landlock(), &budgets);
    let text = written(|out| github::annotations(&checks, out));
    assert!(text.contains(",file=ci/fdtide.toml,line=2,col=12::measured "), "{text}");
    let json: serde_json::Value = serde_json::from_str(&written(|out| gitlab::write(&checks, out))).unwrap();
    assert_eq!(json[0]["location"], serde_json::json!({ "path": "ci/fdtide.toml", "lines": { "begin": 2 } }));
}

#[test]
fn gitlab_has_the_required_keys_and_fingerprints_that_stay() {
    let json = |checks: &[Check]| -> serde_json::Value {
        serde_json::from_str(&written(|out| gitlab::write(checks, out))).unwrap()
    };
    let mut checks = three();
    checks.push(checks[0].clone());
    let found = json(&checks);
    let list = found.as_array().unwrap();
    assert_eq!(list.len(), 3, "one that passed is no finding");
    let mut prints: Vec<&str> = Vec::new();
    for finding in list {
        for key in ["/description", "/check_name", "/fingerprint", "/severity", "/location/path"] {
            assert!(finding.pointer(key).is_some_and(|value| !value.as_str().unwrap().is_empty()), "{key}: {finding}");
        }
        assert!(["info", "minor", "major", "critical", "blocker"].contains(&finding["severity"].as_str().unwrap()));
        assert!(finding["location"]["lines"]["begin"].as_u64().unwrap() >= 1);
        prints.push(finding["fingerprint"].as_str().unwrap());
    }
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), 3, "each its own");
    assert_eq!(json(&three())[0]["fingerprint"], found[0]["fingerprint"]);
    assert_eq!(json(&checks[..0]), serde_json::json!([]));
}
