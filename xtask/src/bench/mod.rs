//! `cargo xtask bench`: what fdtide costs, next to what a user would otherwise run.

mod agent;
mod bursts;
mod goals;
mod kernel;
mod page;
mod ready;
mod rounds;
mod stats;
mod storm;
mod tool;
mod work;

use std::{
    fs,
    path::Path,
    process::{Child, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::{sh, vm};
use {agent::Agent, goals::Goal, rounds::Rounds, tool::Tool, work::Work};

/// The page that a full run writes.
const PAGE: &str = "docs/overhead.md";

#[derive(clap::Args)]
pub struct Options {
    /// Few short rounds and small numbers, to see that it works; writes no page
    #[arg(long)]
    quick: bool,
    /// Print all figures as JSON; everything else goes to stderr
    #[arg(long)]
    json: bool,
    /// Rounds [default: 15, or 2]
    #[arg(long)]
    rounds: Option<usize>,
    /// Processor of what is measured [default: the last one]
    #[arg(long)]
    cpu: Option<usize>,
    /// Backend of fdtide
    #[arg(long, default_value = "auto")]
    backend: String,
}

/// Where it is measured.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub kernel: String,
    pub processors: usize,
    pub model: String,
    pub backend: String,
}

/// All figures.
#[derive(Serialize)]
pub struct Results {
    pub machine: Machine,
    pub rounds: usize,
    pub batches: usize,
    pub batch_ms: u64,
    pub rows: Vec<rounds::Row>,
    pub tools: Vec<rounds::ToolRow>,
    pub bursts: Vec<bursts::Caught>,
    pub hooks: Option<vm::cost::Costs>,
    pub memory: Option<kernel::Memory>,
    pub storm: Option<storm::Storm>,
    pub refused: Vec<(Tool, String)>,
    pub notes: Vec<String>,
    pub goals: Vec<Goal>,
}

/// What every part of the run needs.
pub struct Bench {
    quick: bool,
    rounds: usize,
    batches: usize,
    batch_ms: u64,
    backend: String,
    folder: tempfile::TempDir,
    /// An idle process that a tool may be attached to instead.
    idle: Child,
}

pub fn run(options: &Options) -> Result<ExitCode> {
    let started = Instant::now();
    build()?;
    tool::mount_tracefs()?;
    let bench = Bench {
        quick: options.quick,
        rounds: options.rounds.unwrap_or(if options.quick { 2 } else { 15 }),
        batches: if options.quick { 30 } else { 100 },
        batch_ms: 1,
        backend: options.backend.clone(),
        folder: tempfile::tempdir().context("failed to create a temporary folder")?,
        idle: sh::command("sleep")?.arg("infinity").spawn().context("failed to start `sleep`")?,
    };
    let results = bench.all(options.cpu)?;
    let page = page::page(&results).context("failed to write the page")?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&results).context("failed to write the figures")?);
    } else {
        println!("{page}");
    }
    if !options.quick {
        fs::write(sh::root()?.join(PAGE), page).with_context(|| format!("failed to write `{PAGE}`"))?;
        eprintln!("{PAGE} is written");
    }
    eprintln!("{:.0} s in all", started.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// Builds what is measured and what measures.
fn build() -> Result<()> {
    let commands: [&[&str]; 2] = [
        &["--package=fdtide", "--bin=fdtide", "--example=empty-hook", "--example=hook-cost"],
        &["--package=fdtide-fixtures", "--bins"],
    ];
    for args in commands {
        let mut cargo = sh::cargo(&["build", "--release"])?;
        let status = cargo.args(args).stdout(Stdio::null()).status().context("failed to start cargo")?;
        anyhow::ensure!(status.success(), "`cargo build --release {}` failed: {status}", args.join(" "));
    }
    Ok(())
}

/// Instructions of each backend's hooks, counted in guests; a note where none can be had.
fn hooks(notes: &mut Vec<String>) -> Result<Option<vm::cost::Costs>> {
    eprintln!("instructions in guests");
    let programs = sh::target()?.join("release");
    let measured = vm::cost::measure(&programs.join("examples/hook-cost"), &programs.join("fd-bench"));
    let note = |error: &anyhow::Error| notes.push(format!("Instructions could not be counted in guests: {error:#}."));
    Ok(measured.inspect_err(note).ok())
}

impl Bench {
    fn other(&self) -> u32 {
        self.idle.id()
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sizes of the traced tree besides 1.
    fn herds(&self) -> [usize; 2] {
        if self.quick { [100, 1000] } else { rounds::HERDS }
    }

    fn all(&self, cpu: Option<usize>) -> Result<Results> {
        let processors = std::thread::available_parallelism().context("failed to count processors")?.get();
        let cpu = cpu.unwrap_or(processors - 1);
        let mut works = Vec::new();
        for numbers in [64, goals::NUMBERS, 4096, 65_536] {
            works.push(Work::start(cpu, numbers)?);
        }
        let main = 1;
        let backend = self.plan(&works[main])?;
        let mut rounds = Rounds::default();
        for round in 0..self.rounds {
            eprintln!("round {} of {}", round + 1, self.rounds);
            rounds.add(self, &mut works, main, round)?;
        }
        let bursts = self.bursts(&mut works[main], &rounds)?;
        eprintln!("kernel memory");
        let memory = Some(kernel::memory(self, &mut works[main], 1000)?);
        eprintln!("fork storm");
        let storm = Some(storm::run(self, if self.quick { 1000 } else { 10_000 })?);
        let mut notes = Vec::new();
        let hooks = if self.quick { None } else { hooks(&mut notes)? };
        if let Some(last) = works.last().filter(|work| work.numbers < 65_536) {
            let most = last.numbers;
            notes.push(format!(
                "The hard limit on descriptors has no room for a table of 65,536 numbers here; {most} is the largest."
            ));
        }
        if rounds.disturbed > 0 {
            notes.push(format!(
                "Programs of others sat on the syscall tracepoints when {} measurements began: their baseline is too high, and what \
                 is said to be added too low.",
                rounds.disturbed
            ));
        }
        let machine = Machine {
            kernel: sh::output(sh::command("uname")?.arg("-r"))?,
            processors,
            model: model().unwrap_or_default(),
            backend,
        };
        let mut results = Results {
            machine,
            rounds: self.rounds,
            batches: self.batches,
            batch_ms: self.batch_ms,
            rows: rounds.rows(),
            tools: rounds.tools(),
            bursts,
            hooks,
            memory,
            storm,
            refused: rounds.refused,
            notes,
            goals: Vec::new(),
        };
        results.goals = results.goals();
        Ok(results)
    }

    /// The backend that fdtide chooses here.
    fn plan(&self, work: &Work) -> Result<String> {
        let agent = Agent::start(Tool::Target, work, self.other(), &self.backend, self.folder(), true)?;
        let log = agent.log.clone();
        agent.stop()?;
        let report: serde_json::Value = serde_json::from_slice(&fs::read(log).context("failed to read the report")?)
            .context("failed to parse the report")?;
        Ok(report["plan"]["backend"].as_str().unwrap_or("unknown").to_owned())
    }

    fn bursts(&self, work: &mut Work, rounds: &Rounds) -> Result<Vec<bursts::Caught>> {
        let many = if self.quick { 100 } else { 1000 };
        // Those that make a burst last a hundred times as long are shown fewer.
        let slow = if self.quick { 3 } else { 20 };
        let mut seen = Vec::new();
        for (tool, count) in [(Tool::Target, many), (Tool::Poller, many), (Tool::Perf, slow), (Tool::Strace, slow)] {
            if rounds.refused.iter().all(|(refused, _)| *refused != tool) {
                eprintln!("{count} bursts under {}", tool.name());
                seen.push(bursts::watch(self, work, tool, count)?);
            }
        }
        Ok(seen)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.idle.kill();
        let _ = self.idle.wait();
    }
}

/// What the processor calls itself.
fn model() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
