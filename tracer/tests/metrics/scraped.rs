//! A real Prometheus scrapes a real agent: what it answers is what the program itself and the report say.

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    agent::{Agent, free_port},
    dashboard,
    prometheus::{Prometheus, packaged},
    support::{
        fixture::Fixture,
        kernel,
        line::{list, number},
    },
};

const EXECS: u64 = 40;
const HOLD: u64 = 100;

/// The row of the report of the only table of a process.
fn table(report: &Value, pid: u32) -> &Value {
    let mut rows = list(report, "tables").iter().filter(|row| row["pids"][0] == pid);
    let row = rows.next().unwrap_or_else(|| panic!("no table of {pid}: {report}"));
    assert!(rows.next().is_none());
    row
}

/// The fixture, before it does anything.
fn ready() -> Fixture {
    let (execs, hold) = (EXECS.to_string(), HOLD.to_string());
    let fixture = Fixture::start("exec-loop", &["--execs", &execs, "--hold", &hold]);
    fixture.wait_until_it_reads();
    fixture
}

fn until(fixture: &mut Fixture, step: &str) -> Value {
    loop {
        fixture.go();
        let line = fixture.next().unwrap_or_else(|| panic!("it ended before `{step}`"));
        if line["step"] == step {
            return line;
        }
    }
}

const OF: &str = "{comm=\"exec-loop\"}";

#[test]
fn prometheus_says_what_the_program_and_the_report_say_through_restarts_of_either_side() {
    let (Some(_guard), Some(program)) = (kernel(), packaged("prometheus")) else { return };
    let mut fixture = ready();
    let port = free_port();
    let agent = Agent::start(port, &[fixture.pid()], "");
    let (folder, own) = (TempDir::new().expect("a folder"), free_port());
    let prometheus = Prometheus::start(&program, &folder, own, port, &[]);
    prometheus.wait("fdtide_up", 1.0);

    let line = until(&mut fixture, "executed");
    let (live, high) = (number(&line, "live") as f64, number(&line, "high_water") as f64);
    let execs = number(&line, "expect.execs") as f64;
    assert_eq!(execs, EXECS as f64);
    prometheus.wait(&format!("fdtide_execs_total{OF}"), execs);
    prometheus.wait(&format!("sum(fdtide_open_descriptors{OF})"), live);
    let is = |expression: &str, wanted: f64| {
        assert_eq!(prometheus.value(&expression.replace("OF", OF)), Some(wanted), "{expression}");
    };
    is("fdtide_high_water_descriptorsOF", high);
    is("fdtide_recent_high_water_descriptorsOF", high);
    is("fdtide_exec_high_water_descriptors_countOF", execs);
    is("fdtide_exec_high_water_descriptors_sumOF", execs * high);
    is("fdtide_exec_child_high_water_descriptors_sumOF", execs * number(&line, "expect.child.before_exec") as f64);
    is("fdtide_soft_limit_descriptorsOF - fdtide_high_water_descriptorsOF - fdtide_headroom_descriptorsOF", 0.0);
    // What all children had from their parent, and lost again at their exec or their end.
    is("fdtide_installs_total{comm=\"exec-loop\",origin=\"inherited\"}", execs * high);
    is("fdtide_closes_total{comm=\"exec-loop\",reason=\"exec\"}", execs * HOLD as f64);
    is("sum(fdtide_installs_total) - sum(fdtide_closes_total) - sum(fdtide_open_descriptors)", 0.0);
    is("sum(fdtide_lost_records_total) + sum(fdtide_missed_runs_total) + sum(fdtide_skipped_records_total)", 0.0);
    is("count(fdtide_build_info)", 1.0);

    // Every expression of the dashboard is one, and the rules are in force.
    for expression in dashboard::expressions() {
        prometheus.query(&expression);
    }
    let groups = prometheus.api("rules");
    let rules = list(&groups, "groups")[0]["rules"].as_array().expect("rules").clone();
    assert!(rules.len() == 7 && rules.iter().all(|rule| rule["health"] == "ok"), "{rules:?}");
    assert!(prometheus.query("ALERTS").is_empty(), "nothing is wrong");

    // Prometheus goes, and comes back with what it had.
    prometheus.end();
    let prometheus = Prometheus::start(&program, &folder, own, port, &[]);
    prometheus.wait("fdtide_up", 1.0);
    prometheus.wait(&format!("resets(fdtide_execs_total{OF}[10m])"), 0.0);
    prometheus.wait(&format!("fdtide_execs_total{OF}"), execs);

    // The agent goes; its report says what it told last.
    let report = agent.end();
    let row = table(&report, fixture.pid());
    let last = |expression: &str| {
        let expression = format!("last_over_time({expression}[10m])");
        prometheus.value(&expression).unwrap_or_else(|| panic!("no {expression}")) as u64
    };
    assert_eq!(last(&format!("fdtide_high_water_descriptors{OF}")), number(row, "high_water"));
    assert_eq!(last(&format!("fdtide_soft_limit_descriptors{OF}")), number(row, "soft_limit_last"));
    assert_eq!(last(&format!("fdtide_headroom_descriptors{OF}")), number(row, "headroom"));
    assert_eq!(last("fdtide_installs_total{comm=\"exec-loop\",origin=\"opened\"}"), number(row, "installs"));
    assert_eq!(last(&format!("fdtide_crests_total{OF}")), number(row, "crests"));
    for (kind, count) in row["last_kinds"].as_object().expect("kinds") {
        let told = last(&format!("fdtide_open_descriptors{{comm=\"exec-loop\",kind=\"{kind}\"}}"));
        assert_eq!(Some(told), count.as_u64(), "{kind}");
    }
    let told = last(&format!("fdtide_exec_high_water_descriptors_count{OF}"));
    let spawned: u64 = list(&report, "histograms")
        .iter()
        .filter(|row| row["spawner"] == "exec-loop")
        .map(|row| number(row, "count"))
        .sum();
    assert_eq!(told, spawned);

    // It comes back, and counts from nothing.
    let agent = Agent::start(port, &[fixture.pid()], "");
    prometheus.wait(&format!("sum(fdtide_open_descriptors{OF})"), live);
    prometheus.wait("fdtide_installs_total{comm=\"exec-loop\",origin=\"found\"}", live);
    prometheus.wait("changes(process_start_time_seconds[10m])", 1.0);
    drop(agent.end());
    until(&mut fixture, "end");
}

#[test]
fn native_histograms_hold_every_exec_within_five_per_cent() {
    let (Some(_guard), Some(program)) = (kernel(), packaged("prometheus")) else { return };
    let mut fixture = ready();
    let port = free_port();
    let agent = Agent::start(port, &[fixture.pid()], "");
    let folder = TempDir::new().expect("a folder");
    let features = ["--enable-feature=native-histograms"];
    let prometheus = Prometheus::start(&program, &folder, free_port(), port, &features);
    prometheus.wait("fdtide_up", 1.0);
    let line = until(&mut fixture, "executed");
    let (high, execs) = (number(&line, "high_water") as f64, number(&line, "expect.execs") as f64);
    prometheus.wait(&format!("histogram_count(fdtide_exec_high_water_descriptors{OF})"), execs);
    let sum = prometheus.value(&format!("histogram_sum(fdtide_exec_high_water_descriptors{OF})"));
    assert_eq!(sum, Some(execs * high));
    for quantile in ["0.01", "0.5", "0.99"] {
        let query = format!("histogram_quantile({quantile}, fdtide_exec_high_water_descriptors{OF})");
        let found = prometheus.value(&query).unwrap_or_else(|| panic!("no {query}"));
        assert!((found - high).abs() <= 0.05 * high, "{query} is {found}, every exec had {high}");
    }
    drop(agent);
    until(&mut fixture, "end");
}

#[test]
fn an_endpoint_with_a_token_gives_nothing_to_a_prometheus_without_it() {
    let Some(_guard) = kernel() else { return };
    let token = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(token.path(), "s3cret\n").expect("written");
    let mut fixture = ready();
    let agent = Agent::start(free_port(), &[fixture.pid()], &format!("token_file = \"{}\"", token.path().display()));
    assert!(agent.metrics().contains("a bearer token is needed"), "{}", agent.metrics());
    drop(agent.end());
    until(&mut fixture, "end");
}
