//! What Prometheus' own tool says of names, rules and rule tests.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::prometheus::packaged;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn promtool_finds_nothing_to_say_about_the_names_and_helps() {
    let Some(promtool) = packaged("promtool") else { return };
    let text = fs::read(root().join("tracer/src/metrics/golden/metrics.txt")).expect("the exposition");
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool starts");
    child.stdin.take().expect("a pipe").write_all(&text).expect("all of it");
    let output = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}

#[test]
fn the_rules_are_sound_and_fire_when_they_should_and_not_when_they_should_not() {
    let Some(promtool) = packaged("promtool") else { return };
    for args in [["check", "rules", "fdtide.rules.yml"], ["test", "rules", "fdtide.rules.test.yml"]] {
        let output = Command::new(&promtool)
            .args(args)
            .current_dir(root().join("deploy/prometheus"))
            .output()
            .expect("promtool starts");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
    }
}

#[test]
fn every_alert_is_on_the_page_and_has_a_test() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect(path);
    let (rules, page) = (read("deploy/prometheus/fdtide.rules.yml"), read("docs/metrics.md"));
    let tests = read("deploy/prometheus/fdtide.rules.test.yml");
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert_eq!(alerts.len(), 7);
    for alert in alerts {
        assert!(page.contains(&format!("`{alert}`")) && tests.contains(alert), "{alert}");
    }
}
