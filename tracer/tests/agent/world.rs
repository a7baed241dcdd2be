//! Users, rights and places that agents are started with.

use std::{
    fs::{self, Permissions},
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

use crate::support::{
    FDTIDE,
    fixture::{ARENAS, Fixture, bin},
    poll,
};

/// Whom the agent runs as, and whom its target. Neither is in the user database.
pub const AGENT: u32 = 4_711;
pub const TARGET: u32 = 4_722;

/// The capabilities of the unit, as setpriv names them.
pub const UNIT: [&str; 4] = ["bpf", "perfmon", "sys_ptrace", "dac_read_search"];

/// A folder of this user, in which others may look up what they know the name of.
pub fn folder_of(uid: u32) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).expect("rights");
    chown(folder.path(), Some(uid), Some(uid)).expect("an owner");
    folder
}

/// A program where everybody can run it, under another name: what cargo built may lie where only its owner goes.
pub fn copied(folder: &Path, program: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::copy(program, &path).expect("a copy");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("rights");
    path
}

/// A fixture of another user that waits before it does anything, and its program.
pub fn target(folder: &Path, fixture: &str, name: &str, args: &[&str]) -> (Fixture, PathBuf) {
    let program = copied(folder, &bin(fixture), name);
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={TARGET}"), &format!("--regid={TARGET}"), "--clear-groups"]).arg(&program);
    let fixture = Fixture::spawn(command.args(args).args(["--step", "--wait-go"]).env(ARENAS.0, ARENAS.1));
    // It is setpriv before.
    poll(20, "the fixture runs", || {
        fs::read_link(format!("/proc/{}/exe", fixture.pid())).ok().filter(|exe| *exe == program)
    });
    fixture.wait_until_it_reads();
    (fixture, program)
}

/// Words of setpriv for a user that is not root with these capabilities alone, for good.
fn as_user(uid: u32, capabilities: &[&str]) -> Vec<String> {
    let list = capabilities.iter().map(|name| format!(",+{name}")).collect::<String>();
    let mut words = vec!["setpriv".to_owned(), format!("--reuid={uid}"), format!("--regid={uid}")];
    words.extend(["--clear-groups".to_owned(), "--no-new-privs".to_owned()]);
    words.extend(["inh-caps", "ambient-caps", "bounding-set"].map(|set| format!("--{set}=-all{list}")));
    words
}

/// A command that becomes the agent as the unit starts it: no root, capabilities, a file system that can be read, and one folder
/// that can be written. `before` is done in its mount namespace first.
pub fn as_the_unit(folder: &Path, capabilities: &[&str], before: &str) -> Command {
    let script = format!(
        "set -e; folder=$1; shift; {before}\nmount --bind \"$folder\" \"$folder\"; mount -o remount,bind,ro /; exec \"$@\""
    );
    let tool = copied(folder, Path::new(FDTIDE), "fdtide-copy");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "-"]).arg(folder).args(as_user(AGENT, capabilities));
    command.arg(tool).args(["agent", "--config"]).arg(folder.join("agent.toml")).env(ARENAS.0, ARENAS.1);
    command
}

/// A line of `/proc/PID/status`, or that of one of its threads.
pub fn status(process: &str, key: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no `{key}`")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A set of capabilities of a process, by their numbers (include/uapi/linux/capability.h, v6.12).
pub fn capabilities(process: &str, set: &str) -> Vec<u32> {
    let bits = u64::from_str_radix(&status(process, set), 16).expect("hexadecimal");
    (0..64).filter(|number| bits >> number & 1 == 1).collect()
}

/// Numbers of [`UNIT`], in order.
pub const UNIT_NUMBERS: [u32; 4] = [2, 19, 38, 39];

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// What an endpoint answers.
pub fn metrics(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The next that somebody says here.
pub fn accepted(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().expect("somebody");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    stream
}

/// Takes one post, answers it, and gives its head, in small letters, and its body.
pub fn post(listener: &TcpListener) -> (String, Vec<u8>) {
    let mut stream = accepted(listener);
    let mut bytes = Vec::new();
    let mut room = [0; 4096];
    loop {
        let count = stream.read(&mut room).expect("more of it");
        bytes.extend_from_slice(&room[..count]);
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..at]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let body = &bytes[at + 4..];
            if body.len() >= length.expect("a length") {
                stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").expect("an answer");
                return (head, body.to_vec());
            }
        }
        assert!(count > 0, "cut off: {}", String::from_utf8_lossy(&bytes));
    }
}

/// As [`post`], of which only the body matters, and that is text.
pub fn posted(listener: &TcpListener) -> String {
    String::from_utf8(post(listener).1).expect("UTF-8")
}

/// Every file below a folder that anybody but its owner may read, write or run, and whose owner is not this user.
pub fn loose(folder: &Path, owner: u32) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| {
            let found = path.symlink_metadata().expect("it is there");
            let below = if found.is_dir() { loose(&path, owner) } else { Vec::new() };
            let is_loose = found.mode() & 0o077 != 0 || found.uid() != owner;
            below.into_iter().chain(is_loose.then_some(path)).collect::<Vec<_>>()
        })
        .collect()
}
