//! `fd-bench`, the program that is measured.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, de::DeserializeOwned};

use crate::sh;

/// What is timed: name for `fd-bench`, name for people.
pub const OPS: [(&str, &str); 6] = [
    ("open", "open + close"),
    ("pipe", "pipe + 2 × close"),
    ("socket", "socket + close"),
    ("dup2", "dup2 onto a live number"),
    ("getppid", "getppid"),
    ("spawn", "vfork + exec + wait"),
];

/// Time of one operation, nanoseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Timing {
    pub min_ns: f64,
    pub median_ns: f64,
}

/// What came of bursts, as the program itself knows it.
#[derive(Debug, Deserialize)]
pub struct Bursts {
    pub bursts: usize,
    pub base: u64,
    pub high_water: u64,
    pub windows_ns: Vec<[u64; 2]>,
}

#[derive(Deserialize)]
struct Hello {
    pid: u32,
    numbers: u64,
}

/// The running program.
pub struct Work {
    child: Child,
    /// None only while it is being dropped.
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    pub pid: u32,
    /// Numbers that its table has room for.
    pub numbers: u64,
}

impl Work {
    /// Starts it on a processor, with a table of at least so many numbers if that is to be had.
    pub fn start(cpu: usize, numbers: u64) -> Result<Self> {
        let mut command = sh::command(sh::target()?.join("release/fd-bench"))?;
        command.args(["--cpu", &cpu.to_string(), "--numbers", &numbers.to_string()]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("failed to start `fd-bench`")?;
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().context("`fd-bench` has no stdout")?);
        let hello: Hello = answer(&mut stdout)?;
        Ok(Self { child, stdin, stdout, pid: hello.pid, numbers: hello.numbers })
    }

    fn tell<T: DeserializeOwned>(&mut self, line: &str) -> Result<T> {
        let stdin = self.stdin.as_mut().context("`fd-bench` has no stdin")?;
        writeln!(stdin, "{line}").with_context(|| format!("failed to tell `fd-bench` to `{line}`"))?;
        answer(&mut self.stdout).with_context(|| format!("`fd-bench` failed to `{line}`"))
    }

    /// Times an operation.
    pub fn time(&mut self, op: &str, batches: usize, ms: u64) -> Result<Timing> {
        self.tell(&format!("run {op} {batches} {ms}"))
    }

    /// Keeps so many idle children.
    pub fn herd(&mut self, size: usize) -> Result<()> {
        self.tell::<serde_json::Value>(&format!("herd {size}")).map(drop)
    }

    /// Makes bursts.
    pub fn bursts(&mut self, count: usize, height: usize, hold_us: u64) -> Result<Bursts> {
        self.tell(&format!("burst {count} {height} {hold_us}"))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // The end of its stdin ends it.
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// The next line of a program's stdout.
pub fn answer<T: DeserializeOwned>(stdout: &mut BufReader<ChildStdout>) -> Result<T> {
    let mut line = String::new();
    stdout.read_line(&mut line).context("failed to read a program's stdout")?;
    serde_json::from_str(&line).with_context(|| format!("not an answer: `{}`", line.trim()))
}
