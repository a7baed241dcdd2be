//! How one knows from outside that a tool is at work.

use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It says so in a line on stdout.
    Line,
    /// It listens to signals, which fdtide does last of all.
    SignalFd,
    /// It has opened perf events and opens no more.
    PerfEvents,
    /// The kernel names it as the tracer.
    Tracer,
}

const PATIENCE: Duration = Duration::from_secs(60);
/// No perf event for this long: there will be no more.
const STILL: Duration = Duration::from_millis(300);

impl Ready {
    /// Waits for it. `ended` says whether the tool has given up, and why.
    pub fn wait(self, tool: u32, work: u32, mut ended: impl FnMut() -> Option<String>) -> Result<()> {
        let started = Instant::now();
        let mut events = (0, Instant::now());
        while started.elapsed() < PATIENCE {
            let ready = match self {
                Self::Line => true,
                Self::SignalFd => links(tool, "signalfd") > 0,
                Self::Tracer => traced(work, tool),
                Self::PerfEvents => {
                    let now = links(tool, "perf_event");
                    if now != events.0 {
                        events = (now, Instant::now());
                    }
                    now > 0 && events.1.elapsed() > STILL
                }
            };
            if ready {
                return Ok(());
            }
            if let Some(why) = ended() {
                bail!("{why}");
            }
            sleep(Duration::from_millis(1));
        }
        bail!("it was not at work after {} s", PATIENCE.as_secs());
    }
}

/// Descriptors of a process whose links contain a word.
fn links(pid: u32, word: &str) -> usize {
    let folder = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = folder.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().contains(word)).count()
}

fn traced(pid: u32, by: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() == by.to_string()))
}
