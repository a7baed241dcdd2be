//! Programs under names of their own, in namespaces and cgroups of their own, and the tool looking at them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    fixture::{Fixture, bin},
    limits::kill,
    line::{list, number},
    poll,
    ran::fdtide,
};

/// What holds descriptors: the fixture under another name.
pub fn holder_as(folder: &TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::copy(bin("fd-holder"), &path).expect("a copy");
    path
}

/// A command that makes a PID namespace, with a /proc of its own, and in it process 1 of `program`.
pub fn contained(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]).arg(program);
    command
}

/// A fixture that holds `count` descriptors now, and its line.
pub fn holding(command: &mut Command, count: u32) -> (Fixture, Value) {
    let mut fixture = Fixture::spawn(command.args(["--count", &count.to_string(), "--step"]));
    let _base = fixture.next().expect("the line `base`");
    fixture.go();
    let line = fixture.next().expect("the line `holding`");
    assert_eq!(line["step"], "holding");
    (fixture, line)
}

/// The only child of a process, by its id outside.
pub fn child_of(pid: u32) -> u32 {
    let path = format!("/proc/{pid}/task/{pid}/children");
    poll(10, "it has a child", || {
        let text = fs::read_to_string(&path).ok()?;
        let children: Vec<u32> = text.split_whitespace().map(|word| word.parse().expect("a pid")).collect();
        match children.as_slice() {
            [] => None,
            [only] => Some(*only),
            more => panic!("{more:?}"),
        }
    })
}

/// A cgroup of version 2, for as long as this lives; None, with the reason told, where none can be made.
pub struct Cgroup {
    path: PathBuf,
    /// From the root of the hierarchy.
    pub name: String,
}

impl Cgroup {
    pub fn new(name: &str) -> Option<Self> {
        let mount = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].iter().map(Path::new);
        let mount = mount.into_iter().find(|path| path.join("cgroup.controllers").exists());
        let path = mount.map(|mount| mount.join(name.trim_start_matches('/')));
        let made = path.and_then(|path| fs::create_dir_all(&path).ok().map(|()| path));
        if made.is_none() {
            crate::support::skip("no version 2 cgroup can be made here");
        }
        made.map(|path| Self { path, name: format!("/{}", name.trim_start_matches('/')) })
    }

    pub fn procs(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    pub fn take(&self, pid: u32) {
        fs::write(self.procs(), pid.to_string()).expect("the process moves");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Its processes end a little after those that started them.
        let mut left = 500;
        while fs::remove_dir(&self.path).is_err() && left > 0 {
            left -= 1;
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// `fdtide attach` with these arguments and a report at the end, once it looks.
pub fn attach(args: &[&str]) -> Child {
    attach_as("json", args)
}

/// As [`attach`], with this format.
pub fn attach_as(format: &str, args: &[&str]) -> Child {
    let mut command = fdtide(&["attach", "--format", format]);
    let child = command.args(args).stderr(Stdio::inherit()).spawn().expect("it starts");
    // The signals are blocked first and read last of all: from then on it is attached.
    let folder = format!("/proc/{}/fd", child.id());
    // Long enough for an emulated processor that checks the programs.
    poll(120, "it listens to signals", || {
        let links = fs::read_dir(&folder).ok()?.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        links.into_iter().any(|link| link.to_string_lossy().contains("signalfd")).then_some(())
    });
    child
}

/// Ends it, and its report, of which nothing was lost.
pub fn stop(child: Child) -> Value {
    kill(child.id(), libc::SIGINT);
    report(child)
}

/// Its report.
pub fn report(child: Child) -> Value {
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.success(), "{}", output.status);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a full report");
    for field in ["loss.lost", "loss.skipped"] {
        assert_eq!(number(&report, field), 0, "{field}");
    }
    report
}

/// Whether runs of hooks were missed, which the reason is told for: of a target whose exec was among them not all can be there.
pub fn missed(report: &Value) -> bool {
    let missed = number(report, "loss.missed");
    if missed > 0 {
        crate::support::skip(&format!("{missed} runs of hooks were missed on this kernel (docs/limits.md)"));
    }
    missed > 0
}

/// The row of the table that a process used first.
pub fn table(report: &Value, pid: u32) -> &Value {
    let mut rows = list(report, "tables").iter().filter(|row| row["pids"][0] == pid);
    let row = rows.next().unwrap_or_else(|| panic!("no table of process {pid} in {:?}", pids(report)));
    assert!(rows.next().is_none(), "process {pid} has more than one table");
    row
}

/// The first process of each table, lowest first.
pub fn pids(report: &Value) -> Vec<u64> {
    let mut pids: Vec<u64> = list(report, "tables").iter().map(|row| row["pids"][0].as_u64().expect("a pid")).collect();
    pids.sort_unstable();
    pids
}
