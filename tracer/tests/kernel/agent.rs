//! What the tool itself costs and leaves behind.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    self,
    fixture::{Fixture, bin},
    limits::kill,
    line::{list, number},
    poll,
    ran::{fdtide, kinds, report_path},
};

const EXECS: u64 = 4097;

/// Descriptors and resident bytes of a process. Of the descriptors the least of some counts: for an exec it opens files of
/// /proc for a moment, and does not keep them.
fn use_of(pid: u32) -> Option<(usize, u64)> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    let count = |_| fs::read_dir(format!("/proc/{pid}/fd")).map(Iterator::count).ok();
    Some(((0..10).filter_map(count).min()?, pages * 4096))
}

#[test]
fn every_one_of_4097_execs_streams_by_and_the_agent_stays_as_it_is() {
    let Some(_kernel) = support::kernel() else { return };
    let mut command = fdtide(&["run", "--format", "jsonl", "--"]);
    command.arg(bin("exec-loop")).args(["--execs", &EXECS.to_string()]).stderr(Stdio::null());
    let mut child = command.spawn().expect("fdtide starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut seqs = Vec::new();
    let mut samples = Vec::new();
    for line in lines {
        let line: Value = serde_json::from_str(&line).expect("JSON");
        if line["program"] == "true" {
            seqs.push(number(&line, "seq"));
            if seqs.len() % 1000 == 0 {
                samples.push(use_of(child.id()).expect("it runs"));
            }
        }
    }
    assert!(child.wait().expect("its end").success());
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=EXECS).collect::<Vec<_>>(), "every exec has its record");
    assert_eq!(samples.len(), 4);
    let ((descriptors, first), (_, last)) = (samples[0], samples[3]);
    assert!(samples.iter().all(|(now, _)| *now <= descriptors), "descriptors of the agent: {samples:?}");
    assert!(last < first + (1 << 20), "memory of the agent grew: {samples:?}");
}

#[test]
fn a_report_of_4097_execs_has_each_of_them_and_costs_bounded_memory() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    let path = report_path(&folder);
    let mut command = fdtide(&["run", "--format", "json", "-o"]);
    command.arg(&path).arg("--").arg(bin("exec-loop")).args(["--hold", "20", "--execs", &EXECS.to_string()]);
    let mut child = command.stderr(Stdio::null()).spawn().expect("fdtide starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the line `base`");
    let (descriptors, first) = use_of(child.id()).expect("it runs");
    for _ in ["holding", "executed"] {
        stdout.read_line(&mut line).expect("a line");
    }
    let (after, last) = use_of(child.id()).expect("it runs");
    std::io::copy(&mut stdout, &mut std::io::sink()).expect("the rest");
    assert!(child.wait().expect("its end").success());
    assert!(after <= descriptors, "descriptors of the agent: {descriptors}, then {after}");
    assert!((last - first) / EXECS < 6 * 1024, "{} bytes for each exec", (last - first) / EXECS);
    let report: Value = serde_json::from_slice(&fs::read(&path).expect("a report")).expect("JSON");
    assert_eq!((number(&report, "loss.lost"), number(&report, "loss.missed")), (0, 0));
    let execs: Vec<&Value> = list(&report, "execs").iter().filter(|exec| exec["program"] == "true").collect();
    assert_eq!(execs.len() as u64, EXECS);
    for (exec, seq) in execs.iter().zip(1..) {
        let figures = ["seq", "before_exec.high_water", "inherited", "image.at_exit"].map(|path| number(exec, path));
        assert_eq!(figures, [seq, 23, 3, 3], "{exec}");
    }
    assert_eq!(list(&report, "tables").len() as u64, EXECS + 1);
}

/// Programs that a process holds, by the numbers that the kernel gave them.
fn programs_of(pid: u32) -> Vec<u32> {
    let folder = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let texts = folder.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let ids = texts.filter_map(|text| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok()));
    let mut ids: Vec<u32> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Whether the kernel still has the program with this number.
fn is_loaded(id: u32) -> bool {
    const BPF_PROG_GET_FD_BY_ID: libc::c_int = 13;
    let attributes = [id, 0, 0, 0];
    // SAFETY: attributes of the stated size, of which the call reads the first three words.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_GET_FD_BY_ID, attributes.as_ptr(), 12) };
    if fd >= 0 {
        // SAFETY: just made, and nobody else's.
        unsafe { libc::close(fd as libc::c_int) };
    }
    fd >= 0
}

/// Kills the tool and waits until none of its programs is left.
fn killed(mut agent: Child) {
    let programs = programs_of(agent.id());
    assert!(programs.len() >= 4 && programs.iter().all(|id| is_loaded(*id)), "{programs:?}");
    kill(agent.id(), libc::SIGKILL);
    agent.wait().expect("its end");
    poll(2, "the kernel forgets the programs", || programs.iter().all(|id| !is_loaded(*id)).then_some(()));
}

#[test]
fn a_tool_that_is_killed_while_attached_leaves_nothing_and_the_target_runs_on() {
    let Some(_kernel) = support::kernel() else { return };
    let mut fixture = Fixture::start("fd-holder", &[]);
    fixture.go();
    fixture.next().expect("the line `base`");
    fixture.go();
    fixture.next().expect("the line `holding`");
    let mut command = fdtide(&["attach", "--format", "jsonl", "-p", &fixture.pid().to_string()]);
    let agent = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("fdtide starts");
    poll(20, "it is attached", || (programs_of(agent.id()).len() >= 4).then_some(()));
    killed(agent);
    fixture.go();
    kill(fixture.pid(), libc::SIGTERM);
    assert_eq!(fixture.next().expect("the line `end`")["step"], "end");
    fixture.go();
    assert!(fixture.wait().success(), "the target ended well by itself");
}

#[test]
fn a_tool_that_is_killed_during_a_run_leaves_no_program_and_no_command_behind() {
    let Some(_kernel) = support::kernel() else { return };
    let mut command = Command::new(support::FDTIDE);
    command.args(["run", "-o", "/dev/null", "--", "/bin/cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut agent = command.spawn().expect("fdtide starts");
    let mut stdin = agent.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(agent.stdout.take().expect("a pipe"));
    let mut echo = String::new();
    std::io::Write::write_all(&mut stdin, b"here\n").expect("it reads");
    stdout.read_line(&mut echo).expect("it answers");
    assert_eq!(echo, "here\n", "the command runs");
    killed(agent);
    // The command goes on without its tracer, and ends when it is done.
    std::io::Write::write_all(&mut stdin, b"still here\n").expect("it reads");
    stdout.read_line(&mut echo).expect("it answers");
    assert_eq!(echo, "here\nstill here\n");
    drop(stdin);
    assert_eq!(stdout.read_line(&mut echo).expect("its end"), 0);
}

#[test]
fn a_first_report_of_a_running_process_has_all_that_it_holds() {
    let Some(_kernel) = support::kernel() else { return };
    let mut fixture = Fixture::start("fd-holder", &["--count", "300"]);
    fixture.go();
    fixture.next().expect("the line `base`");
    fixture.go();
    let holding = fixture.next().expect("the line `holding`");
    assert!(kinds(&holding["added_kinds"]).len() >= 10, "{holding}");
    let pid = fixture.pid().to_string();
    let output = fdtide(&["attach", "--format", "json", "--duration", "1ms", "-p", &pid]).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let tables = list(&report, "tables");
    assert_eq!(tables.len(), 1);
    let row = &tables[0];
    assert_eq!(number(row, "live"), 300 + number(&holding, "base"));
    assert_eq!(number(row, "high_water"), 300 + number(&holding, "base"));
    assert_eq!(number(row, "highest_number"), number(&holding, "highest_number"));
    assert_eq!(kinds(&row["last_kinds"]), kinds(&holding["kinds"]));
    assert_eq!(kinds(&row["high_water_kinds"]), kinds(&holding["kinds"]));
    assert_eq!((number(row, "installs"), number(row, "closes")), (0, 0));
    assert_eq!((&row["seeded"], &row["state"]), (&Value::Bool(true), &Value::from("alive")));
    assert!(list(&report, "coverage").iter().any(|note| note["code"] == "attached"), "{}", report["coverage"]);
}
