//! Targets that come later, and what is traced until it is known that it is none.

use std::{fs, process::Command};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    support::{
        self,
        case::before_main,
        fixture::{Fixture, bin},
        limits::kill,
        line::{list, number},
    },
    world::{Cgroup, attach, holder_as, holding, missed, pids, stop, table},
};

/// A fixture that has held `count` and ended, and its last line.
fn life_of(command: &mut Command, count: u32) -> (u32, Value) {
    let (mut fixture, _) = holding(command, count);
    let pid = fixture.pid();
    fixture.go();
    kill(pid, libc::SIGTERM);
    let line = fixture.next().expect("the line `end`");
    fixture.go();
    assert!(fixture.wait().success());
    (pid, line)
}

/// The exec that made a process a target, and its image, say what the fixture says.
fn is_whole(report: &Value, pid: u32, program: &str, end: &Value) {
    let execs: Vec<&Value> = list(report, "execs").iter().filter(|exec| exec["pid"] == pid).collect();
    assert_eq!(execs.len(), 1, "of {pid}: {execs:?}");
    let (exec, early) = (execs[0], before_main("exec-loop"));
    assert_eq!(exec["program"], program);
    assert_eq!(number(exec, "inherited"), 3, "{exec}");
    assert_eq!(number(exec, "image.high_water"), number(end, "high_water"));
    // What the loader opens before `main` the fixture does not count.
    assert_eq!(number(exec, "image.installs"), number(end, "opens") + early);
    assert_eq!(number(exec, "image.closes"), number(end, "closes") + early);
    assert_eq!((number(exec, "image.at_exit"), &exec["image"]["ended_by"]), (number(end, "live"), &json!("exit")));
    assert_eq!(number(table(report, pid), "high_water"), number(end, "high_water"));
}

#[test]
fn every_later_one_is_whole_from_its_exec_on_and_nobody_else_is_told_of() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let (short, long) = (holder_as(&folder, "later-target"), holder_as(&folder, "later-target-with-a-long-name"));
    let agent = attach(&["-n", "later-target", "-n", "later-target-with-a-long-name", "--follow-new", "--wait"]);
    let mut lives = Vec::new();
    for count in [20, 33, 47] {
        for program in [&short, &long] {
            assert!(Command::new("true").status().expect("it starts").success());
            lives.push((program, life_of(&mut Command::new(program), count)));
        }
    }
    let report = stop(agent);
    if missed(&report) {
        return;
    }
    for (program, (pid, end)) in &lives {
        is_whole(&report, *pid, &program.file_name().expect("a name").to_string_lossy(), end);
    }
    assert_eq!(list(&report, "execs").len(), lives.len(), "{:?}", pids(&report));
    assert_eq!(list(&report, "tables").len(), lives.len(), "{:?}", pids(&report));
    assert_eq!(list(&report, "roots").len(), lives.len());
    assert_eq!(report["coverage"], json!([]));
}

#[test]
fn programs_users_and_cgroups_are_caught_as_names_are() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let program = holder_as(&folder, "some-target");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is open");
    let plain = || Command::new(&program);
    let user = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=61235", "--clear-groups"]).arg(&program);
        command
    };
    let cgroup = Cgroup::new(&format!("fdtide-later-{}", std::process::id()));
    let glob = format!("{}/**", folder.path().display());
    let mut ways: Vec<(&str, String, Command)> = vec![("--exe", glob, plain()), ("-u", "61235".to_owned(), user())];
    if let Some(cgroup) = &cgroup {
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$0\"; exec \"$@\""]).arg(cgroup.procs()).arg(&program);
        ways.push(("--cgroup", cgroup.name.clone(), inside));
    }
    for (option, value, mut command) in ways {
        let agent = attach(&[option, &value, "--follow-new", "--wait"]);
        let (pid, end) = life_of(&mut command, 31);
        let (_other, _) = life_of(&mut Command::new(bin("fd-holder")), 9);
        let report = stop(agent);
        if missed(&report) {
            continue;
        }
        is_whole(&report, pid, "some-target", &end);
        assert_eq!(pids(&report), [u64::from(pid)], "{option} {value}");
    }
}

#[test]
fn waiting_ends_with_the_first_and_then_later_ones_are_nobodys_business() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let program = holder_as(&folder, "awaited-target-with-a-long-name");
    let agent = attach(&["-n", "awaited-target-with-a-long-name", "--wait"]);
    let mut first = Fixture::spawn(Command::new(&program).args(["--count", "15", "--step"]));
    first.next().expect("the line `base`");
    first.go();
    first.next().expect("the line `holding`");
    // Nothing more is caught as soon as the agent knows of the first.
    std::thread::sleep(std::time::Duration::from_millis(700));
    let (later, _) = life_of(&mut Command::new(&program), 16);
    first.go();
    kill(first.pid(), libc::SIGTERM);
    let end = first.next().expect("the line `end`");
    first.go();
    first.wait();
    // It ends by itself with the last target.
    let report = crate::world::report(agent);
    if missed(&report) {
        return;
    }
    is_whole(&report, first.pid(), "awaited-target-with-a-long-name", &end);
    assert!(!pids(&report).contains(&u64::from(later)));
}

#[test]
fn interrupt_ends_the_waiting_with_a_report_of_nothing() {
    let Some(_kernel) = support::kernel() else { return };
    let report = stop(attach(&["-n", "nobody-is-called-this", "--wait"]));
    assert_eq!((&report["tables"], &report["execs"]), (&json!([]), &json!([])));
}

#[test]
fn a_target_below_others_is_told_alone_and_with_all_that_it_starts_at_once() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let shell = folder.path().join("launcher-with-a-long-name");
    fs::copy("/bin/sh", &shell).expect("a copy");
    let agent = attach(&["-n", "launcher-with-a-long-name", "--follow-new", "--wait"]);
    let inner = format!("exec 5</dev/null 6</dev/null; {}", "true; ".repeat(40).replace("true", "/bin/true"));
    let outer = format!("/bin/true; \"{}\" -c '{inner} exit 0'; /bin/true", shell.display());
    assert!(Command::new("sh").args(["-c", &outer]).status().expect("it starts").success());
    let report = stop(agent);
    if missed(&report) {
        return;
    }
    let execs = list(&report, "execs");
    let programs: Vec<&Value> = execs.iter().map(|exec| &exec["program"]).collect();
    assert_eq!(programs.len(), 41, "the target and its forty: {programs:?}");
    let of_target = execs.iter().filter(|exec| exec["program"] == "launcher-with-a-long-name");
    let target: Vec<&Value> = of_target.collect();
    assert_eq!(target.len(), 1);
    assert!(target[0]["spawn_window"]["high_water"].is_null(), "who started it is not traced");
    for exec in execs.iter().filter(|exec| exec["program"] == "true") {
        assert_eq!(exec["spawner"]["pid"], target[0]["pid"]);
        assert_eq!(number(exec, "spawn_window.at_exec"), 5, "{exec}");
        assert_eq!(number(exec, "inherited"), 5, "{exec}");
    }
}
