//! Source to model to sinks: the only file that knows all stages.

use std::{collections::HashSet, fs, io, mem, time::SystemTime};

use crate::{
    event::{Event, ProcId, decode::decode},
    model::{Agent, Anchor, End, ExecRecord, Gap, Loss, LossCounter, Model, Options, Plan, Refused, Report, RootEnd},
    probe::{Session, Stopped, session::boot_ns},
};

/// Gaps told apart in a report.
const GAPS: usize = 16;

/// Takes record bytes, keeps the model.
#[derive(Debug)]
pub struct Pipeline {
    model: Model,
    alive: HashSet<ProcId>,
    anchor: Anchor,
    skipped: u64,
    gaps: Vec<Gap>,
    checked_ns: u64,
}

impl Pipeline {
    /// Starts now.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        Self {
            model: Model::new(options),
            alive: HashSet::new(),
            anchor: Anchor { boot_ns: boot_ns(), wall_unix_ns: wall },
            skipped: 0,
            gaps: Vec::new(),
            checked_ns: boot_ns(),
        }
    }

    /// Takes one record. What can't be read is counted.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Ok(event) = decode(bytes) else {
            self.skipped += 1;
            return;
        };
        match &event {
            Event::Proc(proc) => {
                self.alive.insert(proc.process.id);
            }
            Event::Exit(ended) => {
                self.alive.remove(&ended.process.id);
            }
            _ => {}
        }
        self.model.apply(&event);
    }

    /// The hooks were checked: this many runs were missed since the last check, and every table was looked at again.
    pub fn checked(&mut self, missed: u64) {
        let to_ns = boot_ns();
        let from_ns = mem::replace(&mut self.checked_ns, to_ns);
        if missed == 0 {
            return;
        }
        // Gaps that touch are one, and more of them than anyone reads are told as one.
        let full = self.gaps.len() >= GAPS;
        match self.gaps.last_mut() {
            Some(last) if last.to_ns == from_ns || full => {
                last.to_ns = to_ns;
                last.missed += missed;
            }
            _ => self.gaps.push(Gap { from_ns, to_ns, missed }),
        }
    }

    /// Traced processes that have not ended.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.alive.len()
    }

    /// Exec records completed since the last call, with `Options::stream`.
    pub fn drain_completed(&mut self) -> Vec<ExecRecord> {
        self.model.drain_completed()
    }

    /// What it all comes to.
    #[must_use]
    pub fn finish(self, plan: Plan, stopped: &Stopped, command: Vec<String>, root: Option<RootEnd>) -> Report {
        let loss = Loss { gaps: self.gaps, ..loss(stopped, self.skipped) };
        let end = End { at_ns: boot_ns(), anchor: self.anchor, plan, loss, agent: agent().ok(), command, root };
        self.model.finish(end)
    }
}

/// What was chosen, in the report's words.
#[must_use]
pub fn plan(session: &Session) -> Plan {
    Plan {
        backend: session.backend().name().to_owned(),
        hooks: session.attached().into_iter().map(str::to_owned).collect(),
        refused: session
            .refused()
            .iter()
            .map(|(backend, reason)| Refused { backend: backend.name().to_owned(), reason: reason.clone() })
            .collect(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
            .map_or_else(|_| String::new(), |text| text.trim().to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        self_test: Some("passed".to_owned()),
        cost: Some(session.backend().cost_to_others().to_owned()),
    }
}

fn loss(stopped: &Stopped, skipped: u64) -> Loss {
    Loss {
        lost: stopped.lost(),
        missed: stopped.missed.iter().map(|(_, count)| count).sum(),
        skipped,
        gaps: Vec::new(),
        counters: stopped
            .counters
            .iter()
            .map(|(counter, value)| LossCounter {
                name: counter.name().to_owned(),
                value: *value,
                help: counter.help().to_owned(),
            })
            .collect(),
    }
}

/// What fdtide itself uses now.
fn agent() -> io::Result<Agent> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    // SAFETY: no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    // SAFETY: plain integers; zero is a value of each.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: a valid place for the result.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let ms = |time: libc::timeval| time.tv_sec as u64 * 1000 + time.tv_usec as u64 / 1000;
    // The directory that is being read is one of them.
    let descriptors = fs::read_dir("/proc/self/fd")?.count().saturating_sub(1);
    Ok(Agent {
        pid: std::process::id(),
        descriptors: u32::try_from(descriptors).unwrap_or(u32::MAX),
        rss_bytes: pages * page,
        cpu_ms: ms(usage.ru_utime) + ms(usage.ru_stime),
    })
}
