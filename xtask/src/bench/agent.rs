//! A tool while it runs.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use super::{
    tool::{Tool, cpu_ns, resident_kib},
    work::Work,
};
use crate::sh;

/// A tool at work. Dropping it ends it.
pub struct Agent {
    child: Child,
    tool: Tool,
    stdout: Option<BufReader<std::process::ChildStdout>>,
    /// What it writes.
    pub log: PathBuf,
    /// From its start until it was at work.
    pub took: Duration,
    since: (Instant, u64),
}

/// What it used.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Share of one processor since it was at work, percent.
    pub cpu: f64,
    /// Resident memory now and at most, KiB.
    pub resident_kib: u64,
    pub peak_kib: u64,
}

impl Agent {
    /// Starts it and waits until it is at work. Without `keep` what it has seen goes nowhere.
    pub fn start(tool: Tool, work: &Work, other: u32, backend: &str, folder: &Path, keep: bool) -> Result<Self> {
        let discard = !keep && matches!(tool, Tool::Perf | Tool::Strace);
        let log = if discard { PathBuf::from("/dev/null") } else { folder.join("seen") };
        let complaints = folder.join("complaints");
        let (program, args) = tool.command(work, other, backend, &log)?;
        let stderr = File::create(&complaints).context("failed to create a temporary file")?;
        let piped = tool.ends_with_stdin();
        let started = Instant::now();
        let mut child = Command::new(&program)
            .args(args)
            .current_dir(sh::root()?)
            .stdin(if piped { Stdio::piped() } else { Stdio::null() })
            .stdout(if piped { Stdio::piped() } else { Stdio::null() })
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("failed to start `{}`", program.to_string_lossy()))?;
        let mut stdout = child.stdout.take().map(BufReader::new);
        if let Some(stdout) = &mut stdout {
            let mut line = String::new();
            stdout.read_line(&mut line).context("failed to read a program's stdout")?;
            if line.is_empty() {
                let _ = child.wait();
                bail!("{}: {}", tool.name(), said(&complaints));
            }
        }
        let pid = child.id();
        let ended = || child.try_wait().ok().flatten().map(|status| format!("{status}: {}", said(&complaints)));
        tool.ready().wait(pid, work.pid, ended).with_context(|| format!("{} did not start", tool.name()))?;
        let took = started.elapsed();
        let since = (Instant::now(), cpu_ns(pid)?);
        Ok(Self { child, tool, stdout, log, took, since })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts to count its processor time anew.
    pub fn restart(&mut self) -> Result<()> {
        self.since = (Instant::now(), cpu_ns(self.pid())?);
        Ok(())
    }

    /// What it used so far.
    pub fn usage(&self) -> Result<Usage> {
        let used = cpu_ns(self.pid())?.saturating_sub(self.since.1);
        let cpu = used as f64 / self.since.0.elapsed().as_nanos() as f64 * 100.0;
        let (resident_kib, peak_kib) = resident_kib(self.pid())?;
        Ok(Usage { cpu, resident_kib, peak_kib })
    }

    /// Ends it, and gives what it printed.
    pub fn stop(mut self) -> Result<String> {
        self.end()?;
        let mut text = String::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_to_string(&mut text).context("failed to read a program's stdout")?;
        }
        let status = self.child.wait().context("failed to wait for a program")?;
        // What is interrupted says so.
        if self.tool == Tool::Target && !status.success() {
            bail!("fdtide failed: {status}");
        }
        Ok(text)
    }

    fn end(&mut self) -> Result<()> {
        if self.tool.ends_with_stdin() {
            drop(self.child.stdin.take());
            return Ok(());
        }
        sh::output(sh::command("kill")?.args(["-INT", &self.pid().to_string()])).map(drop)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The last line of what a program complained about.
fn said(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned()
}
