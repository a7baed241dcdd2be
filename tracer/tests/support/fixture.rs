//! Fixtures: programs that stand still and tell their own truth.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::OnceLock,
    time::SystemTime,
};

use serde_json::Value;

use super::{FDTIDE, poll};

/// One arena: to shrink another one glibc opens `/proc/sys/vm/overcommit_memory` once, unseen by a fixture's own count.
pub const ARENAS: (&str, &str) = ("MALLOC_ARENA_MAX", "1");

/// Path of a fixture. Built if cargo was not asked for it, or if its source is newer.
pub fn bin(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build).join(name)
}

fn build() -> PathBuf {
    let folder = Path::new(FDTIDE).parent().expect("a folder").to_owned();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let source = newest(&root.join("fixtures/src"));
    let names = ["landlock-burst", "fd-case", "fd-holder", "exec-loop", "fd-torture"];
    let mut names = names.into_iter().chain(["socket-broker", "zero-spend", "sandbox-leak"]);
    let fresh = |name: &str| changed(&folder.join(name)).is_some_and(|made| Some(made) >= source);
    if !names.all(fresh) {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--package=fdtide-fixtures", "--bins", "--target-dir"]);
        cargo.arg(folder.parent().expect("the target folder")).current_dir(root);
        cargo.args((folder.file_name().is_some_and(|name| name == "release")).then_some("--release"));
        assert!(cargo.status().expect("cargo starts").success(), "the fixtures do not build");
    }
    folder
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|found| found.modified()).ok()
}

/// Time of the latest change in a folder of sources.
fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter_map(|path| if path.is_dir() { newest(&path) } else { changed(&path) }).max()
}

/// A fixture that is stepped through.
pub struct Fixture {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Fixture {
    /// Starts it; it waits before it does anything.
    pub fn start(name: &str, args: &[&str]) -> Self {
        Self::spawn(Command::new(bin(name)).args(args).args(["--step", "--wait-go"]).env(ARENAS.0, ARENAS.1))
    }

    /// Starts any command that speaks like a fixture.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns when it waits for its first line on stdin: all that a program does before `main` is over.
    pub fn wait_until_it_reads(&self) {
        let path = format!("/proc/{}/syscall", self.pid());
        let read = format!("{} 0x0 ", libc::SYS_read);
        poll(10, "the fixture waits", || fs::read_to_string(&path).ok().filter(|text| text.starts_with(&read)));
    }

    /// The next line; the program now stands still. None at its end.
    pub fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.wait_for_output();
        self.stdout.read_line(&mut line).expect("a line");
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// A fixture that says nothing for two minutes, under emulation too, waits for something that does not come.
    fn wait_for_output(&self) {
        if self.stdout.buffer().is_empty() {
            let fd = self.stdout.get_ref().as_raw_fd();
            let mut wait = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            // SAFETY: one pollfd.
            assert!(unsafe { libc::poll(&raw mut wait, 1, 120_000) } == 1, "the fixture says nothing");
        }
    }

    /// Lets it go on.
    pub fn go(&mut self) {
        // When the last process has ended nobody is left to read.
        let _ = self.stdin.write_all(b"\n");
    }

    /// Its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("its end")
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // A test that failed half way leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
