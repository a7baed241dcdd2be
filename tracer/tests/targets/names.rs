//! Everything that a process can be named by.

use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::{
    support::{
        self,
        fixture::Fixture,
        line::{list, number},
        ran::fdtide,
    },
    world::{attach, child_of, contained, holder_as, holding, pids, report, stop, table},
};

/// What the tool says on stderr, where it fails.
fn complaint(args: &[&str]) -> String {
    let output = fdtide(args).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_name_that_the_kernel_cut_is_found_inside_a_namespace_with_both_pids() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let (fixture, line) = holding(&mut contained(&holder_as(&folder, "openshell-sandbox")), 40);
    let outside = child_of(fixture.pid());
    let report = report(attach(&["-n", "openshell-sandbox", "--duration", "300ms"]));
    assert_eq!(pids(&report), [u64::from(outside)]);
    let row = table(&report, outside);
    assert_eq!((&row["comm"], &row["ns_pids"]), (&json!("openshell-sandb"), &json!([1])));
    assert_eq!((number(row, "live"), number(row, "high_water")), (number(&line, "live"), number(&line, "live")));
    let text = fdtide(&["attach", "-n", "openshell-sandbox", "--duration", "100ms", "--format", "text"]).output();
    let text = String::from_utf8(text.expect("it starts").stdout).expect("text");
    assert!(text.contains(&format!("openshell-sandb[{outside}] is process 1 in its own PID")), "{text}");
}

#[test]
fn every_way_to_name_it_finds_the_same_process_and_several_ways_find_it_once() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let program = holder_as(&folder, "named-target");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=61234", "--clear-groups"]).arg(&program);
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is open");
    let (fixture, line) = holding(&mut command, 25);
    let pid = fixture.pid();
    let glob = format!("{}/named-*", folder.path().display());
    let id = pid.to_string();
    let all = [("-p", id.as_str()), ("-n", "named-target"), ("--exe", &glob), ("--exe", "named-t*"), ("-u", "61234")];
    for (option, value) in all {
        let report = report(attach(&[option, value, "--duration", "50ms"]));
        assert_eq!(pids(&report), [u64::from(pid)], "{option} {value}");
        assert_eq!(number(table(&report, pid), "live"), number(&line, "live"));
    }
    let mut args: Vec<&str> = all.iter().flat_map(|(option, value)| [*option, *value]).collect();
    args.extend(["--duration", "50ms"]);
    assert_eq!(pids(&report(attach(&args))), [u64::from(pid)]);
}

#[test]
fn several_processes_of_one_name_are_traced_together() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let program = holder_as(&folder, "one-of-three");
    let all: Vec<_> = (0..3).map(|n| holding(&mut Command::new(&program), 10 + n)).collect();
    let report = stop(attach(&["-n", "one-of-three"]));
    assert_eq!(list(&report, "tables").len(), 3);
    for (fixture, line) in &all {
        assert_eq!(number(table(&report, fixture.pid()), "live"), number(line, "live"));
    }
}

#[test]
fn who_is_not_there_is_told_with_what_is() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let (_fixture, _) = holding(&mut Command::new(holder_as(&folder, "near-this")), 5);
    let told = complaint(&["attach", "-n", "near-thiss"]);
    assert!(told.contains("`near-thiss`") && told.contains("`near-this`") && told.contains("--wait"), "{told}");
    for (args, word) in [
        (["-u", "no-such-user"], "no-such-user"),
        (["--exe", "["], "no pattern"),
        (["-p", "0"], "no process id"),
        (["-p", "4194999"], "4194999"),
        (["--cgroup", "/no/such/cgroup"], "/no/such/cgroup"),
        (["--container", "0123456789ab"], "0123456789ab"),
        (["--systemd-unit", "no-such-unit"], "no-such-unit.service"),
    ] {
        let told = complaint(&["attach", args[0], args[1]]);
        assert!(told.contains(word), "{args:?}: {told}");
    }
}

#[test]
fn an_id_inside_is_taken_where_one_process_has_it_and_told_where_several_do() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let program = holder_as(&folder, "second-inside");
    // Outside, process 2 is a thread of the kernel, which has nothing open.
    let second = |count: &str| {
        let mut command = contained(std::path::Path::new("sh"));
        command.args(["-c", "exec 3<&0; \"$0\" --count \"$1\" <&3 3<&- & wait"]).arg(&program).arg(count);
        let mut fixture = Fixture::spawn(&mut command);
        fixture.next().expect("the line `base`");
        fixture.next().expect("the line `holding`");
        let pid = child_of(child_of(fixture.pid()));
        (fixture, pid)
    };
    if std::fs::read_to_string("/proc/2/comm").is_ok_and(|comm| comm != "kthreadd\n") {
        return support::skip("process 2 is no thread of the kernel here");
    }
    let (_first, one) = second("11");
    let alone = report(attach(&["-p", "2", "--duration", "50ms"]));
    assert_eq!(pids(&alone), [u64::from(one)]);
    assert_eq!(table(&alone, one)["ns_pids"], json!([2]));
    let (_second, other) = second("12");
    let told = complaint(&["attach", "-p", "2"]);
    for pid in [one, other] {
        assert!(told.contains(&format!("{pid} (second-inside)")), "{told}");
    }
}

#[test]
fn inside_a_namespace_of_its_own_the_tool_says_what_it_lacks() {
    let Some(_kernel) = support::kernel() else { return };
    let mut command = contained(std::path::Path::new(support::FDTIDE));
    let output = command.args(["attach", "-p", "1"]).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("hostPID"), "{told}");
    let mut command = contained(std::path::Path::new(support::FDTIDE));
    let doctor = command.args(["doctor", "--json"]).output().expect("it starts");
    let found: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let finding = list(&found, "findings").iter().find(|finding| finding["name"] == "PID namespace");
    assert_eq!(finding.expect("it is looked at")["state"], "no");
}
