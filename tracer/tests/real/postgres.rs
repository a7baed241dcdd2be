//! postgres probes its limit by `dup` at its start.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    self,
    limits::kill,
    line::{list, number},
    program,
    ran::{fdtide, kinds, report_path},
    skip,
};

/// The newest of Debian's.
fn binaries() -> Option<PathBuf> {
    let mut found: Vec<_> = fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|e| e.path().join("bin")).collect();
    found.retain(|folder| folder.join("postgres").exists() && folder.join("initdb").exists());
    found.sort();
    found.pop()
}

/// Arguments of setpriv for a user that is not root, as postgres wants it.
const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

/// A new cluster in a folder that nobody owns.
fn cluster(setpriv: &Path, binaries: &Path) -> TempDir {
    let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("a folder");
    chown(folder.path(), Some(65534), Some(65534)).expect("it is nobody's");
    let mut initdb = Command::new(setpriv);
    initdb.args(NOBODY).arg(binaries.join("initdb")).args(["-A", "trust", "-U", "x", "-N", "-D"]);
    let output = initdb.arg(folder.path().join("data")).current_dir("/").output().expect("setpriv starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

#[test]
fn postgres_holds_a_thousand_copies_for_a_moment_and_settles_low() {
    let Some(_kernel) = support::kernel() else { return };
    let (Some(binaries), Some(setpriv)) = (binaries(), program("setpriv", &["/usr/bin"])) else {
        return skip("no postgres, or no setpriv");
    };
    let folder = cluster(&setpriv, &binaries);
    let reports = TempDir::new().expect("a folder");
    let path = report_path(&reports);
    let mut command = fdtide(&["run", "--nofile", "1024", "--format", "json", "-o"]);
    command.arg(&path).arg("--").arg(&setpriv).args(NOBODY).arg(binaries.join("postgres")).current_dir("/");
    command.arg("-D").arg(folder.path().join("data")).arg("-k").arg(folder.path()).args(["-h", "", "-c", "fsync=off"]);
    let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(log.any(|line| line.contains("ready to accept connections")), "it does not start");
    let pid = fs::read_to_string(folder.path().join("data/postmaster.pid")).expect("its id");
    let pid: u32 = pid.lines().next().and_then(|line| line.parse().ok()).expect("a number");
    // Still for twice the settle time, by the kernel's own count.
    let count = || fs::metadata(format!("/proc/{pid}/fd")).expect("its table").size();
    let mut settled = count();
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(100));
        if std::mem::replace(&mut settled, count()) == settled {
            break;
        }
    }
    // A key at a terminal would not be passed on; this is.
    kill(child.id(), libc::SIGINT);
    log.for_each(drop);
    assert_eq!(child.wait().expect("its end").code(), Some(0));

    let report: Value = serde_json::from_slice(&fs::read(&path).expect("a report")).expect("JSON");
    assert_eq!((number(&report, "loss.lost"), number(&report, "loss.missed")), (0, 0));
    let execs = list(&report, "execs");
    let exec = execs.iter().find(|exec| exec["program"] == "postgres").expect("an exec of postgres");
    assert_eq!((number(exec, "pid"), &exec["again"]), (pid.into(), &Value::Bool(true)));
    let base = number(exec, "inherited");
    assert_eq!(base, 3);
    let image = &exec["image"];
    // strace: dup(2) = 3 to dup(2) = 1003 without a close in between, 1,000 of them, at most 1,003 descriptors.
    assert_eq!(number(image, "high_water"), base + 1000);
    assert_eq!(kinds(&image["high_water_kinds"])["pipe"], 1 + 1000, "copies of stderr");
    assert_eq!(number(image, "soft_limit"), 1024);
    assert_eq!(number(image, "settled"), settled, "as /proc said while it stood still");
    assert_eq!(*support::line::at(image, "failures"), serde_json::json!([]));
}
