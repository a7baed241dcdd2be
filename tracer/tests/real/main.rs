//! Programs as they are, each against a figure that comes from elsewhere: from strace, from /proc, or from the program.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod postgres;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use support::{
    limits::with_nofile,
    line::{list, number},
    program,
    ran::{Ran, kinds, run, run_with},
    skip,
};
use tempfile::TempDir;

/// The table of the command itself.
fn root(ran: &Ran) -> &Value {
    ran.table(number(&ran.report, "root.pid"))
}

#[test]
fn node_reading_five_thousand_files_at_once_fills_its_table() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(node) = program("node", &[]) else { return skip("no node") };
    let folder = TempDir::new().expect("a folder");
    for number in 0..5000 {
        fs::write(folder.path().join(number.to_string()), "x").expect("a file");
    }
    let script = "const fs = require('fs'); let done = 0, failed = 0;
        for (let i = 0; i < 5000; i++) fs.readFile(process.argv[1] + '/' + i, error => {
            if (error) { if (error.code !== 'EMFILE') throw error; failed++ }
            if (++done === 5000) console.log(JSON.stringify({ failed }));
        })";
    let path = folder.path().to_str().expect("UTF-8");
    // Hard as well: node raises its soft limit to the hard one. One arena: see `support::fixture::ARENAS`.
    let ran = run_with(&[], &node, &["-e", script, path], |command| with_nofile(command, 1024, 1024));
    let ran = ran.ended_well().checked();
    let failed = number(&ran.lines[0], "failed");
    assert!(failed > 3900, "it has to meet its limit: {failed}");
    let row = root(&ran);
    // All files are opened before the first is closed: when one is refused, every number below the limit is taken.
    assert_eq!((number(row, "high_water"), number(row, "headroom")), (1024, 0));
    assert_eq!(kinds(&row["high_water_kinds"])["file"], 5000 - failed, "{row}");
    let failures = list(row, "failures");
    assert_eq!(failures.len(), 1, "told once: {failures:?}");
    assert_eq!((number(&failures[0], "count"), number(&failures[0], "soft_limit")), (failed, 1024));
    assert_eq!((failures[0]["syscall"].as_str(), failures[0]["cause"].as_str()), (Some("openat"), Some("table full")));
}

#[test]
fn node_raises_its_own_limit_and_the_limit_in_force_is_told() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(node) = program("node", &[]) else { return skip("no node") };
    let ran = run_with(&[], &node, &["-e", "0"], |command| with_nofile(command, 256, 2048));
    let ran = ran.ended_well().checked();
    assert_eq!(number(root(&ran), "soft_limit_last"), 2048);
}

#[test]
fn git_fsck_over_many_packs_stays_low() {
    let Some(_kernel) = support::kernel() else { return };
    let Some(git) = program("git", &[]) else { return skip("no git") };
    let folder = TempDir::new().expect("a folder");
    let at = |args: &[&str]| {
        let mut command = Command::new(&git);
        command.args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(args).current_dir(folder.path());
        assert!(
            command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("git starts").success(),
            "{args:?}"
        );
    };
    at(&["init", "-q"]);
    for number in 0..40 {
        fs::write(folder.path().join("file"), number.to_string()).expect("a file");
        at(&["add", "file"]);
        at(&["commit", "-q", "-m", "x"]);
        at(&["repack", "-q", "-d"]);
    }
    let packs = fs::read_dir(folder.path().join(".git/objects/pack")).expect("packs").flatten();
    assert!(packs.filter(|entry| entry.path().extension().is_some_and(|e| e == "pack")).count() >= 40);
    let path = folder.path().to_str().expect("UTF-8");
    let ran = run(&[], &git, &["-C", path, "fsck", "--full", "--no-progress"]).ended_well().checked();
    let row = root(&ran);
    assert!(number(row, "high_water") < 10, "{row}");
    assert!(number(row, "installs") > 80, "each pack and its index is opened: {row}");
    assert_eq!(*support::line::at(row, "failures"), serde_json::json!([]));
}

#[test]
fn python_subprocesses_from_fifty_threads_come_back_to_where_they_began() {
    let Some(_kernel) = support::kernel() else { return };
    // Not a shim of a version manager, which is a shell script.
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        return skip("no python3");
    }
    let script = r#"
import json, os, subprocess, threading
count = lambda: os.stat('/proc/self/fd').st_size
before = count()
held, go = threading.Barrier(51), threading.Barrier(51)
def work():
    pipe = subprocess.PIPE
    child = subprocess.Popen(['/bin/cat'], stdin=pipe, stdout=pipe, stderr=pipe)
    held.wait()
    go.wait()
    child.communicate()
threads = [threading.Thread(target=work) for _ in range(50)]
for thread in threads: thread.start()
held.wait()
middle = count()
go.wait()
for thread in threads: thread.join()
print(json.dumps({'before': before, 'middle': middle, 'after': count()}))
"#;
    let ran = run(&[], python, &["-c", script]).ended_well().checked();
    let said = &ran.lines[0];
    let (before, middle) = (number(said, "before"), number(said, "middle"));
    assert_eq!((middle, number(said, "after")), (before + 150, before), "the script itself");
    let row = root(&ran);
    let high = number(row, "high_water");
    // While it makes a child, a thread holds its ends of three pipes and five descriptors more.
    assert!(high >= middle + 5 && high <= middle + 50 * 5, "{high} is not around {middle}");
    let image = &ran.execs()[0]["image"];
    assert_eq!(number(image, "at_exit"), before);
    assert_eq!(number(row, "installs") - number(row, "closes"), 0);
    let cats = ran.execs_of("cat");
    assert_eq!(cats.len(), 50);
    for cat in cats {
        assert_eq!(number(cat, "inherited"), 3, "{cat}");
        assert!(number(cat, "spawn_window.thread_high_water") <= 8, "three pipes and the pipe that tells of errors");
    }
}
