//! Refusals and limits: what was refused, at which level, under which limit, and why.

use serde_json::{Value, json};

use crate::support::{
    self,
    case::{base, before_main, case, row_agrees},
    fixture::bin,
    limits::with_nofile,
    line::{list, number},
    ran::{kinds, run, run_with},
};

/// The failures of a row: syscall, count, live, soft limit, cause.
fn told(row: &Value) -> Vec<(String, u64, u64, u64, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let told = |failure: &Value| {
        let [count, live, soft] = ["count", "live", "soft_limit"].map(|field| number(failure, field));
        (text(&failure["syscall"]), count, live, soft, text(&failure["cause"]))
    };
    list(row, "failures").iter().map(told).collect()
}

fn full(syscall: &str, count: u64, live: u64, soft: u64) -> (String, u64, u64, u64, String) {
    (syscall.to_owned(), count, live, soft, "table full".to_owned())
}

#[test]
fn case_07_a_refusal_by_another_quota_is_told_as_that() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["07"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    let refused = number(ran.step("refused"), "live");
    let soft = number(ran.step("refused"), "soft_limit");
    assert!(refused < soft / 2, "{refused} of {soft}");
    let other = ("inotify_init1".to_owned(), 1, refused, soft, "another quota".to_owned());
    assert_eq!(told(row), [other]);
    assert_eq!(number(row, "headroom"), soft - refused);
    assert_eq!(kinds(&row["high_water_kinds"])["inotify"], refused - base(&ran));
}

#[test]
fn case_08_a_failure_hidden_in_a_success_is_told() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["08"]);
    let received = ran.step("received");
    let row = ran.table(number(received, "pid"));
    assert_eq!((number(row, "high_water"), number(row, "headroom")), (100, 0));
    assert_eq!(number(row, "installs"), 94);
    assert_eq!(told(row), [full("recvmsg", 1, 100, 100)]);
    let failure = &list(row, "failures")[0];
    assert_eq!((&failure["hidden"], &failure["errno"]), (&json!(true), &json!("EMFILE")));
    assert_eq!(kinds(&row["high_water_kinds"]), kinds(&received["kinds"]));
    let sender = ran.table(number(&ran.report, "root.pid"));
    assert_eq!(sender["failures"], json!([]), "the sender was refused nothing");
}

#[test]
fn case_17_the_limit_in_force_decides() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["17"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    // One number is above the limit: a count above the limit is right.
    let told = told(row);
    assert_eq!([told[0].clone(), told[3].clone()], [full("openat", 1, 65, 64), full("eventfd2", 1, 81, 80)]);
    let past: Vec<_> = row["failures"].as_array().expect("rows")[1..3]
        .iter()
        .map(|row| (row["syscall"].clone(), row["errno"].clone(), number(row, "count"), number(row, "live")))
        .collect();
    assert_eq!(past, [(json!("dup2"), json!("EBADF"), 1, 65), (json!("fcntl"), json!("EINVAL"), 1, 65)]);
    let causes: Vec<_> = list(row, "failures").iter().map(|failure| failure["cause"].clone()).collect();
    assert_eq!(causes, ["table full", "beyond the limit", "beyond the limit", "table full"].map(|text| json!(text)));
    assert_eq!((number(row, "high_water"), number(row, "highest_number")), (81, 200));
    assert_eq!((number(row, "soft_limit"), number(row, "soft_limit_last")), (80, 80));
    assert_eq!(number(row, "headroom"), 0);
}

#[test]
fn case_18_bpf_maps_and_perf_events_have_their_kinds() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["18"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    assert_eq!(told(row), [full("perf_event_open", 1, 1024, 1024)]);
    let crest = kinds(&row["high_water_kinds"]);
    assert_eq!((crest["bpf-map"], crest["perf_event"]), (500, 1024 - 500 - base(&ran)));
    assert_eq!((number(row, "high_water"), number(row, "settled")), (1024, base(&ran)));
}

#[test]
fn case_27_each_mark_has_the_limit_of_its_time() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = run_with(&[], &bin("fd-case"), &["27"], |command| with_nofile(command, 1024, 20_000));
    let ran = ran.ended_well().checked();
    let b = base(&ran);
    let row = ran.table(number(ran.step("end"), "pid"));
    assert_eq!((number(row, "soft_limit"), number(row, "headroom")), (20_000, 17_000 - b));
    let windows: Vec<_> = ran.execs_of("true").iter().map(|exec| exec["spawn_window"].clone()).collect();
    let told = |window: &Value| ["high_water", "soft_limit", "headroom"].map(|field| number(window, field));
    assert_eq!(told(&windows[0]), [b + 500, 1024, 524 - b]);
    assert_eq!(told(&windows[1]), [b + 3000, 20_000, 17_000 - b]);
}

#[test]
fn case_28_a_storm_of_refusals_is_one_row_and_few_lines() {
    let Some(_kernel) = support::kernel() else { return };
    let ran = case(&["28"]);
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    let refused = 5000 - (1024 - base(&ran));
    assert_eq!(told(row), [full("openat", refused, 1024, 1024)]);
    let failure = &list(row, "failures")[0];
    let span = number(failure, "last_ns") - number(failure, "first_ns");
    let rate = failure["per_second"].as_f64().expect("a rate");
    assert!((rate * span as f64 / 1e9 - (refused - 1) as f64).abs() < 0.01, "{failure}");
    assert_eq!(number(row, "high_water"), 1024);
    assert_eq!(number(row, "installs"), 1024 - base(&ran) + before_main("fd-case"));

    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("report.txt");
    let mut command = support::ran::fdtide(&["run", "-o"]);
    let output = command.arg(&path).arg("--").arg(bin("fd-case")).arg("28").output().expect("fdtide starts");
    assert!(output.status.success());
    let text = std::fs::read_to_string(&path).expect("a report");
    let lines = text.lines().chain(std::str::from_utf8(&output.stderr).expect("UTF-8").lines());
    let about: Vec<_> = lines.filter(|line| line.contains("EMFILE")).collect();
    assert!((1..=4).contains(&about.len()), "{about:#?}");
    let grouped = format!("{},{:03}", refused / 1000, refused % 1000);
    let counted = [refused.to_string(), grouped];
    assert!(about.iter().any(|line| counted.iter().any(|count| line.contains(count))), "{about:#?}");
}

#[test]
fn case_29_a_lost_listener_shows_as_a_level_one_lower() {
    let Some(_kernel) = support::kernel() else { return };
    // The real settle time: the table is still for longer than that before each exec.
    let ran = run(&[], &bin("fd-case"), &["29"]).ended_well().checked();
    let row = row_agrees(&ran, "fd-case", ran.step("end"));
    assert_eq!(told(row), [full("openat", 1, 32, 32), full("accept4", 1, 32, 32)]);
    assert_eq!(kinds(&row["high_water_kinds"])["socket:tcp"], 1);
    let windows: Vec<_> = ran.execs_of("true").iter().map(|exec| exec["spawn_window"].clone()).collect();
    let levels: Vec<_> = windows.iter().map(|window| (number(window, "settled"), &window["settled_from"])).collect();
    assert_eq!(levels, [(16, &json!("still")), (15, &json!("still"))]);
    let tcp = |window: &Value| kinds(&window["at_exec_kinds"]).get("socket:tcp").copied();
    assert_eq!((tcp(&windows[0]), tcp(&windows[1])), (Some(1), None));
    let lost = &list(&ran.report, "lost_listeners")[0];
    assert_eq!((lost["table"].clone(), lost["syscall"].as_str()), (row["table"].clone(), Some("accept4")));
    assert_eq!((number(lost, "settled_before"), number(lost, "settled_after"), number(lost, "seq")), (16, 15, 2));
}
