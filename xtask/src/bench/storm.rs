//! The fork storm: is every exec there, and does nothing stay in the maps.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufReader, Write as _},
    process::Stdio,
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::{Bench, kernel, work};
use crate::{bench::ready::Ready, sh};

/// Maps that grow with what is traced.
const GROWING: [&str; 4] = ["PROCS", "TABLES", "CHUNKS", "HELD"];

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Storm {
    pub processes: usize,
    pub forkers: usize,
    /// Image records that the report has.
    pub records: usize,
    /// Those whose process held just what the storm says before its exec.
    pub right: usize,
    pub lost: u64,
    pub missed: u64,
    /// Entries in maps before the storm, and after it while the agent runs on.
    pub before: BTreeMap<&'static str, usize>,
    pub after: BTreeMap<&'static str, usize>,
    /// From the word to the end of the last process.
    pub seconds: f64,
    pub resident_kib: u64,
}

#[derive(Deserialize)]
struct Step {
    pid: Option<u32>,
    high_water: Option<u64>,
    execs: Option<usize>,
}

#[derive(Deserialize)]
struct Report {
    loss: Loss,
    execs: Vec<Exec>,
}

#[derive(Deserialize)]
struct Loss {
    lost: u64,
    missed: u64,
}

#[derive(Deserialize)]
struct Exec {
    before_exec: Before,
    image: Image,
}

#[derive(Deserialize)]
struct Before {
    live: Option<u64>,
}

#[derive(Deserialize)]
struct Image {
    ended_by: String,
}

/// Lets it loose under fdtide.
pub fn run(bench: &Bench, processes: usize) -> Result<Storm> {
    let programs = sh::target()?.join("release");
    let forkers = 8;
    let mut storm = sh::command(programs.join("fork-storm"))?;
    storm.args(["--step", "--processes", &processes.to_string(), "--forkers", &forkers.to_string()]);
    let mut storm =
        storm.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("failed to start `fork-storm`")?;
    let mut stdin = storm.stdin.take().context("`fork-storm` has no stdin")?;
    let mut stdout = BufReader::new(storm.stdout.take().context("`fork-storm` has no stdout")?);
    let base: Step = work::answer(&mut stdout)?;
    let pid = base.pid.context("`fork-storm` does not tell its process")?;

    let path = bench.folder().join("storm.json");
    let mut agent = sh::command(programs.join("fdtide"))?;
    agent.args(["attach", "--format", "json", "--backend", &bench.backend, "-p", &pid.to_string(), "-o"]).arg(&path);
    let mut agent = agent.stdin(Stdio::null()).spawn().context("failed to start `fdtide`")?;
    let id = agent.id();
    let ended = || agent.try_wait().ok().flatten().map(|status| format!("fdtide failed: {status}"));
    Ready::SignalFd.wait(id, pid, ended)?;

    let before = counts(id)?;
    let started = std::time::Instant::now();
    stdin.write_all(b"go\n").context("failed to start the storm")?;
    let end: Step = work::answer(&mut stdout)?;
    let seconds = started.elapsed().as_secs_f64();
    // The kernel forgets a process before its parent can wait for it; nothing has to settle.
    let after = counts(id)?;
    let (resident_kib, _) = super::tool::resident_kib(id)?;
    drop(stdin);
    storm.wait().context("failed to wait for `fork-storm`")?;
    // The tree has gone, so the agent ends by itself.
    let status = agent.wait().context("failed to wait for fdtide")?;
    anyhow::ensure!(status.success(), "fdtide failed: {status}");

    let report = fs::read(&path).context("failed to read the report")?;
    let report: Report = serde_json::from_slice(&report).context("failed to parse the report")?;
    let whole = |exec: &&Exec| exec.before_exec.live == end.high_water && exec.image.ended_by == "exit";
    Ok(Storm {
        processes: end.execs.unwrap_or(0),
        forkers,
        records: report.execs.len(),
        right: report.execs.iter().filter(whole).count(),
        lost: report.loss.lost,
        missed: report.loss.missed,
        before,
        after,
        seconds,
        resident_kib,
    })
}

fn counts(agent: u32) -> Result<BTreeMap<&'static str, usize>> {
    let maps = kernel::maps(agent)?;
    let count = |name: &'static str| {
        let map = maps.get(name).with_context(|| format!("the agent has no map `{name}`"))?;
        Ok((name, kernel::entries(map)?))
    };
    GROWING.into_iter().map(count).collect()
}

impl Storm {
    /// Every process told, none lost, and the maps as they were.
    pub fn holds(&self) -> bool {
        self.records == self.processes && self.right == self.processes && self.lost == 0 && self.before == self.after
    }
}
