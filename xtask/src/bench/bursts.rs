//! Which of a thousand short bursts a tool saw, and how high.

use std::{collections::BTreeSet, fs};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{
    Bench,
    agent::Agent,
    tool::Tool,
    work::{Bursts, Work},
};

/// Descriptors of one burst.
pub const HEIGHT: usize = 987;
/// From its first open until it lets go, microseconds.
const HOLD_US: u64 = 2000;

/// What a tool saw.
#[derive(Clone, Debug, Serialize)]
pub struct Caught {
    pub tool: Tool,
    pub bursts: usize,
    /// Seen at their full height.
    pub exact: usize,
    /// Greatest and mean difference from the true high-water mark, descriptors.
    pub worst: u64,
    pub mean: f64,
    /// Mean length of a burst under this tool, milliseconds.
    pub length_ms: f64,
    /// Opens and closes that its log tells of, for those that write one, percent.
    pub told: Option<f64>,
}

/// Shows the tool bursts and asks it what it saw.
pub fn watch(bench: &Bench, work: &mut Work, tool: Tool, count: usize) -> Result<Caught> {
    let agent = Agent::start(tool, work, bench.other(), &bench.backend, bench.folder(), true)?;
    let truth = work.bursts(count, HEIGHT, HOLD_US)?;
    let log = agent.log.clone();
    let printed = agent.stop()?;
    let mut told = None;
    let seen = match tool {
        Tool::Poller => polled(&printed, &truth)?,
        Tool::Strace | Tool::Perf => {
            let text = fs::read(&log).context("failed to read what the tool wrote")?;
            let replay = replayed(&String::from_utf8_lossy(&text), work.pid, truth.base);
            ensure!(replay.calls > 0, "nothing in the log of {} reads as an open or a close", tool.name());
            told = Some(100.0 * replay.calls as f64 / (truth.bursts * 2 * HEIGHT) as f64);
            replay.crests
        }
        _ => traced(&fs::read(&log).context("failed to read the report")?, work.pid)?,
    };
    let errors: Vec<_> = (0..truth.bursts)
        .map(|burst| seen.get(burst).copied().unwrap_or(truth.base).abs_diff(truth.high_water))
        .collect();
    let length: u64 = truth.windows_ns.iter().map(|[from, to]| to - from).sum();
    Ok(Caught {
        tool,
        bursts: truth.bursts,
        exact: errors.iter().filter(|error| **error == 0).count(),
        worst: errors.iter().copied().max().unwrap_or(0),
        mean: errors.iter().sum::<u64>() as f64 / truth.bursts as f64,
        length_ms: length as f64 / truth.bursts as f64 / 1e6,
        told,
    })
}

/// Highest sample within each burst.
fn polled(printed: &str, truth: &Bursts) -> Result<Vec<u64>> {
    #[derive(Deserialize)]
    struct Samples {
        samples: Vec<[u64; 2]>,
    }
    let Samples { samples } = serde_json::from_str(printed.trim()).context("failed to read the poller's samples")?;
    let within = |[from, to]: &[u64; 2]| {
        let inside = samples.iter().filter(|[at, _]| at >= from && at <= to);
        inside.map(|[_, live]| *live).max().unwrap_or(truth.base)
    };
    Ok(truth.windows_ns.iter().map(within).collect())
}

/// High-water mark of each spawn window of the process.
fn traced(report: &[u8], pid: u32) -> Result<Vec<u64>> {
    #[derive(Deserialize)]
    struct Report {
        execs: Vec<Exec>,
    }
    #[derive(Deserialize)]
    struct Exec {
        spawner: Spawner,
        spawn_window: Window,
    }
    #[derive(Deserialize)]
    struct Spawner {
        pid: u32,
    }
    #[derive(Deserialize)]
    struct Window {
        high_water: Option<u64>,
    }
    let report: Report = serde_json::from_slice(report).context("failed to parse the report")?;
    let mine = report.execs.iter().filter(|exec| exec.spawner.pid == pid);
    Ok(mine.map(|exec| exec.spawn_window.high_water.unwrap_or(0)).collect())
}

/// What a log of calls comes to.
#[derive(Debug, Default)]
struct Replay {
    crests: Vec<u64>,
    /// Opens and closes that it tells of.
    calls: usize,
}

/// What somebody gets who follows the numbers in a log of opens and closes. A log with holes is followed as far as it goes: a number
/// that is given again was closed, and a crest ends where half of it has gone.
fn replayed(log: &str, pid: u32, base: u64) -> Replay {
    let (strace, perf) = (format!("{pid} "), format!("/{pid} "));
    let (mut open, mut high, mut replay) = (BTreeSet::new(), 0, Replay::default());
    // With a single process to tell of, perf trace leaves its name out.
    let alone = |line: &str| {
        line.split_once("ms): ").is_some_and(|(_, call)| call.starts_with(['o', 'c']) && !call.contains('/'))
    };
    for line in log.lines().filter(|line| line.starts_with(&strace) || line.contains(&perf) || alone(line)) {
        let number =
            |text: &str| text.split(|c: char| !c.is_ascii_digit()).find_map(|digits| digits.parse::<u64>().ok());
        let result = line.rsplit("= ").next().filter(|rest| !rest.starts_with('-')).and_then(number);
        if line.contains("openat(") {
            let Some(fd) = result else { continue };
            replay.calls += 1;
            open.insert(fd);
            high = high.max(open.len());
        } else if let Some((_, arguments)) = line.split_once("close(")
            && result == Some(0)
        {
            replay.calls += 1;
            open.remove(&number(arguments).unwrap_or(u64::MAX));
            if high > HEIGHT / 2 && open.len() <= high / 2 {
                replay.crests.push(base + high as u64);
                high = open.len();
            }
        }
    }
    replay
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_calls_is_added_up() {
        let mut log = String::new();
        for fd in 0..600 {
            log += &format!("42 openat(AT_FDCWD, \"/dev/null\", O_PATH) = {fd}\n43 close({fd}) = 0\n");
        }
        log += "42 openat(AT_FDCWD, \"/x\", O_PATH) = -1 ENOENT (No such file or directory)\n";
        for fd in 0..600 {
            log += &format!("42 close({fd})    = 0\n");
        }
        assert_eq!(replayed(&log, 42, 5).crests, [605]);
        assert_eq!(replayed(&log, 42, 5).calls, 1200);
        let perf = log.replace("\n43 ", "\n 0.003 ( 0.002 ms): true/43 ");
        assert_eq!(replayed(&perf.replace("42 ", " 0.001 ( 0.002 ms): fd-bench/42 "), 42, 5).crests, [605]);
        let mut alone = String::new();
        for fd in 0..600 {
            alone += &format!("0.034 ms): openat(dfd: CWD, filename: 0xd7eec71, flags: RDONLY)  = {fd}\n");
        }
        for fd in (0..600).filter(|fd| fd % 3 != 0) {
            alone += &format!("0.012 ms): close(fd: {fd})    = 0\n");
        }
        // A third of the closes are lost, and half of the crest has gone all the same.
        assert_eq!(replayed(&alone, 42, 5).crests, [605]);
        assert_eq!(replayed(&alone, 42, 5).calls, 1000);
    }

    #[test]
    fn a_poller_sees_what_falls_into_a_burst() {
        let truth = Bursts { bursts: 2, base: 5, high_water: 992, windows_ns: vec![[10, 20], [30, 40]] };
        let seen = polled("{\"samples\": [[5, 5], [12, 700], [19, 992], [25, 6]]}\n", &truth);
        assert_eq!(seen.ok(), Some(vec![992, 5]));
    }
}
