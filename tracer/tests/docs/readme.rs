//! Every command of the README, with something of that name in the place of what it names.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::{
    blocks, page, path,
    support::{self, fixture::bin, limits::kill, poll},
};

/// What a command of the README is to come to.
#[derive(Clone, Copy, Debug)]
enum Comes {
    /// It ends by itself, with this status.
    To(i32),
    /// It goes on until it is interrupted, then ends with 0.
    UntilInterrupted,
    /// It needs what no empty folder has; the test that has it.
    Elsewhere(&'static str),
}
use Comes::{Elsewhere, To, UntilInterrupted};

/// Commands by how they begin, the longest first that fits.
const COMMANDS: &[(&str, Comes)] = &[
    ("fdtide run ", To(0)),
    ("fdtide attach ", UntilInterrupted),
    ("fdtide attach -p 4242 --duration", To(0)),
    ("fdtide attach --container", Elsewhere("tests/targets")),
    ("fdtide init-ci ", To(0)),
    ("fdtide check ", To(0)),
    ("fdtide compare ", To(0)),
    ("fdtide top ", Elsewhere("tests/cli/top.rs")),
    ("fdtide scale ", To(0)),
    ("fdtide audit ", To(0)),
    ("fdtide agent", Elsewhere("tests/agent")),
    ("fdtide ctl ", Elsewhere("tests/agent")),
    ("fdtide fleet ", Elsewhere("the tests of fdtide-fleet")),
    ("fdtide doctor", To(0)),
    ("fdtide report ", To(0)),
    ("fdtide export ", To(0)),
    ("fdtide record ", UntilInterrupted),
];

/// What is written in the README, and what stands for it here; `PID` is the sandbox's.
const STAND_INS: [(&str, &str); 3] = [("4242", "PID"), ("30s", "1s"), ("/var/tmp/fdtide", "dumps")];

/// Lines with a command of the tool, without their comments.
fn commands() -> Vec<String> {
    let all = blocks(&page("README.md")).join("\n");
    let bare = |line: &str| line.split("  #").next().unwrap_or(line).trim().to_owned();
    all.lines().filter(|line| line.starts_with("fdtide ")).map(bare).collect()
}

fn comes(command: &str) -> Comes {
    let fits = COMMANDS.iter().filter(|(start, _)| format!("{command} ").starts_with(start));
    let found = fits.max_by_key(|(start, _)| start.len());
    found.unwrap_or_else(|| panic!("say in COMMANDS what `{command}` comes to")).1
}

/// What the README names, under its name.
fn furnish(folder: &TempDir) {
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("its mode");
    };
    for name in ["server", "runtime", "app"] {
        script(name, "for n in 1 2 3; do cat \"$0\" >/dev/null; done");
    }
    script("prepare", &format!("exec '{}' --count \"$1\" </dev/null", bin("fd-holder").display()));
    script("openshell-sandbox", "while cat \"$0\" >/dev/null; do sleep 0.05; done");
    let spend = [bin("zero-spend").to_str().expect("a name"), "--brief", "--attempt", "2"].map(str::to_owned);
    let plan = format!("[[attempt]]\ntrigger = \"spend\"\ncommand = {spend:?}\n");
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    for name in ["base.json", "new.json"] {
        let status = shell(folder, &format!("fdtide run --format json -o {name} -- ./server"), 0).wait();
        assert!(status.expect("its end").success(), "{name}");
    }
}

fn shell(folder: &TempDir, command: &str, sandbox: u32) -> Child {
    let command = STAND_INS.iter().fold(command.to_owned(), |text, (from, to)| text.replace(from, to));
    // `exec`, so that a signal reaches the tool and not a shell around it.
    let line = format!("exec {}", command.replace("PID", &sandbox.to_string()));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(folder.path()).env("PATH", path()).stdin(Stdio::null());
    shell.stdout(Stdio::null()).spawn().expect("a shell")
}

/// The signals are blocked first and read last of all: from then on it is attached.
fn wait_until_attached(child: &Child) {
    let folder = format!("/proc/{}/fd", child.id());
    poll(60, "it listens to signals", || {
        let links = fs::read_dir(&folder).ok()?.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        links.into_iter().any(|link| link.to_string_lossy().contains("signalfd")).then_some(())
    });
}

#[test]
fn the_commands_of_the_readme_work_as_written() {
    let Some(_kernel) = support::kernel() else { return };
    let folder = TempDir::new().expect("a folder");
    furnish(&folder);
    let mut sandbox = Command::new(folder.path().join("openshell-sandbox"));
    let mut sandbox = sandbox.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
    let all = commands();
    assert!(all.len() > 15, "the README has lost its commands: {all:?}");
    for command in &all {
        let expected = match comes(command) {
            Elsewhere(place) => {
                println!("{command}: {place}");
                continue;
            }
            To(status) => status,
            UntilInterrupted => 0,
        };
        println!("{command}");
        let mut child = shell(&folder, command, sandbox.id());
        if matches!(comes(command), UntilInterrupted) {
            wait_until_attached(&child);
            kill(child.id(), libc::SIGINT);
        }
        assert_eq!(child.wait().expect("its end").code(), Some(expected), "{command}");
    }
    sandbox.kill().expect("a signal");
    sandbox.wait().expect("its end");
    for name in ["attached.json", "report.json", "report.html", "trace.fdtide", "trace.parquet", "fdtide.toml"] {
        assert!(folder.path().join(name).metadata().is_ok_and(|found| found.len() > 0), "`{name}` was not made");
    }
}
