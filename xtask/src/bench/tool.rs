//! What is put beside the work: fdtide, the empty hook, and what people would run instead.

use std::{ffi::OsString, fs, path::Path};

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::{ready::Ready, work::Work};
use crate::sh;

/// Something that watches, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// An empty program on the exit of every syscall.
    Empty,
    /// fdtide, attached to the work.
    Target,
    /// fdtide, attached to another process.
    Bystander,
    /// A look at /proc every millisecond.
    Poller,
    Bpftrace,
    Perf,
    Strace,
}

impl Tool {
    pub const ALL: [Self; 7] =
        [Self::Empty, Self::Target, Self::Bystander, Self::Poller, Self::Bpftrace, Self::Perf, Self::Strace];

    /// Name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty program on `sys_exit`",
            Self::Target => "fdtide, as target",
            Self::Bystander => "fdtide, as bystander",
            Self::Poller => "`/proc` poller, 1 ms",
            Self::Bpftrace => "bpftrace, counts calls",
            Self::Perf => "perf trace",
            Self::Strace => "strace -f -e trace=%desc",
        }
    }

    /// Program that must be installed, as a package of the same or the given name.
    pub const fn needs(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Bpftrace => Some(("bpftrace", "bpftrace")),
            Self::Perf => Some(("perf", "linux-perf")),
            Self::Strace => Some(("strace", "strace")),
            _ => None,
        }
    }

    /// How it is known to be at work.
    pub const fn ready(self) -> Ready {
        match self {
            Self::Empty | Self::Poller => Ready::Line,
            Self::Target | Self::Bystander => Ready::SignalFd,
            Self::Bpftrace | Self::Perf => Ready::PerfEvents,
            Self::Strace => Ready::Tracer,
        }
    }

    /// Whether the end of stdin ends it; else an interrupt does.
    pub const fn ends_with_stdin(self) -> bool {
        matches!(self, Self::Empty | Self::Poller)
    }

    /// Program and arguments. `log` is where it writes what it has seen.
    pub fn command(self, work: &Work, other: u32, backend: &str, log: &Path) -> Result<(OsString, Vec<OsString>)> {
        let programs = sh::target()?.join("release");
        let words = |words: &[&str]| words.iter().map(Into::into).collect::<Vec<OsString>>();
        let pid = work.pid.to_string();
        let log = log.as_os_str().to_owned();
        Ok(match self {
            Self::Empty => (programs.join("examples/empty-hook").into(), Vec::new()),
            Self::Poller => (programs.join("fd-bench").into(), words(&["--poll", &pid, "--every-us", "1000"])),
            Self::Target | Self::Bystander => {
                let of = if self == Self::Target { pid } else { other.to_string() };
                let mut args = words(&["attach", "--format", "json", "--backend", backend, "-p", &of, "-o"]);
                args.push(log);
                (programs.join("fdtide").into(), args)
            }
            Self::Bpftrace => ("bpftrace".into(), words(&["-e", &script(work.pid)])),
            Self::Perf => {
                let mut args = words(&["trace", "-p", &pid, "-e", "openat,close,pipe2,socket,dup2", "-o"]);
                args.push(log);
                ("perf".into(), args)
            }
            Self::Strace => {
                let mut args = words(&["-f", "-e", "trace=%desc", "-p", &pid, "-o"]);
                args.push(log);
                ("strace".into(), args)
            }
        })
    }
}

/// Counts what the operations call, of one process.
fn script(pid: u32) -> String {
    ["openat", "close", "pipe2", "socket", "dup2"]
        .map(|name| format!("tracepoint:syscalls:sys_enter_{name} /pid == {pid}/ {{ @{name} = count(); }}"))
        .join(" ")
}

/// bpftrace and perf find their tracepoints in tracefs, which not every system mounts by itself.
pub fn mount_tracefs() -> Result<()> {
    if Path::new("/sys/kernel/tracing/events").exists() {
        return Ok(());
    }
    let mut mount = sh::command("mount")?;
    sh::output(mount.args(["-t", "tracefs", "none", "/sys/kernel/tracing"])).map(drop)
}

/// Processor time of all threads, nanoseconds.
pub fn cpu_ns(pid: u32) -> Result<u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).context("failed to list a program's threads")?;
    let of = |path: &Path| -> Option<u64> {
        fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    Ok(tasks.flatten().filter_map(|task| of(&task.path())).sum())
}

/// Resident memory now, and the most it ever was, KiB.
pub fn resident_kib(pid: u32) -> Result<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("failed to read a program's status")?;
    let field = |name: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(name))?.trim_end_matches("kB").trim().parse().ok()
    };
    field("VmRSS:").zip(field("VmHWM:")).context("a program's status tells no resident memory")
}
