//! What a trace says of itself: where, when and how it is made, what the kernel program has counted, what fdtide itself uses.

use std::{fs, io, mem, time::SystemTime};

use crate::{
    kernel::oom::OomCounter,
    model::{Agent, Anchor, LossCounter, Options, Plan, Refused, RootEnd},
    probe::{Session, Stopped, session::boot_ns},
    record::{Closing, Counted, Depth, Host, OomKills, Start},
};

/// A trace that starts now.
#[must_use]
pub fn start(session: &Session, command: Vec<String>, options: Options, depth: Depth) -> Start {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    Start {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host(),
        anchor: Anchor { boot_ns: boot_ns(), wall_unix_ns: wall },
        plan: plan(session),
        offsets: session.offsets(),
        command,
        options: Options { stream: false, ..options },
        depth,
        ..Start::default()
    }
}

/// The name of the machine in everything that is written, where it is not what the kernel says here: in a pod that is the pod's.
const HOST_ENV: &str = "FDTIDE_HOST";

fn host() -> Host {
    let line = |path: &str| fs::read_to_string(path).map_or_else(|_| String::new(), |text| text.trim().to_owned());
    Host {
        name: std::env::var(HOST_ENV)
            .ok()
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| line("/proc/sys/kernel/hostname")),
        boot_id: line("/proc/sys/kernel/random/boot_id"),
        arch: std::env::consts::ARCH.to_owned(),
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
            .chain(session.without().map(|(hook, why)| Refused {
                backend: session.backend().name().to_owned(),
                reason: format!("without `{}` ({}): {why}", hook.program, hook.purpose),
            }))
            .collect(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
            .map_or_else(|_| String::new(), |text| text.trim().to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        self_test: Some("passed".to_owned()),
        cost: Some(session.backend().cost_to_others().to_owned()),
    }
}

/// What the kernel program has counted so far.
#[must_use]
pub fn counted(stopped: &Stopped) -> Counted {
    let counters = stopped.counters.iter().map(|(counter, value)| LossCounter {
        name: counter.name().to_owned(),
        value: *value,
        help: counter.help().to_owned(),
    });
    Counted {
        at_ns: boot_ns(),
        lost: stopped.lost(),
        missed: stopped.missed.iter().map(|(program, count)| ((*program).to_owned(), *count)).collect(),
        counters: counters.collect(),
    }
}

/// The end of a trace, now; with what the OOM killer has done since `oom` began to count.
#[must_use]
pub fn closing(stopped: &Stopped, root: Option<RootEnd>, oom: Option<&OomCounter>) -> Closing {
    let kills = oom.and_then(OomCounter::kills);
    let oom = kills.map(|kills| OomKills { count: kills.count, whole_system: kills.whole_system });
    let counted = counted(stopped);
    Closing { at_ns: counted.at_ns, counted, agent: own_use().ok(), root, oom }
}

/// What fdtide itself uses now.
///
/// # Errors
///
/// When /proc can't be read.
pub fn own_use() -> io::Result<Agent> {
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
