//! The rounds: every configuration next to the same work without it.

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::{
    Bench,
    agent::{Agent, Usage},
    kernel,
    stats::Spread,
    tool::Tool,
    work::{OPS, Timing, Work},
};

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub tool: Tool,
    /// Numbers that the table has room for.
    pub numbers: u64,
    /// Processes in the work's tree.
    pub processes: usize,
}

/// One operation in one round.
struct Sample {
    setting: Setting,
    op: &'static str,
    without: Timing,
    with: Timing,
}

/// The tool itself in one round.
struct Use {
    setting: Setting,
    attach_ms: f64,
    cpu: f64,
    resident_kib: u64,
    peak_kib: u64,
}

/// All rounds so far.
#[derive(Default)]
pub struct Rounds {
    samples: Vec<Sample>,
    uses: Vec<Use>,
    /// Measurements that began while programs of others sat on the syscall tracepoints.
    pub disturbed: usize,
    /// Tools that could not run, and why.
    pub refused: Vec<(Tool, String)>,
}

/// One operation over all rounds, nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub setting: Setting,
    pub op: &'static str,
    /// Least and median time of each round without the tool.
    pub without_min: Spread,
    pub without: Spread,
    /// The same with it.
    pub with_min: Spread,
    pub with: Spread,
    /// Difference of the least times of one round.
    pub added: Spread,
}

/// A tool over all rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ToolRow {
    #[serde(flatten)]
    pub setting: Setting,
    pub attach_ms: Spread,
    /// Share of one processor, percent.
    pub cpu: Spread,
    /// After the timing, and the most it ever was.
    pub resident_kib: Spread,
    pub peak_kib: Spread,
}

/// Processes of the tree besides the work itself.
pub const HERDS: [usize; 2] = [100, 10_000];

impl Rounds {
    /// One round. `works` are of different tables; the first that has room for 1,024 numbers is the main one.
    pub fn add(&mut self, bench: &Bench, works: &mut [Work], main: usize, round: usize) -> Result<()> {
        for place in 0..Tool::ALL.len() {
            // Another order each time: what comes first meets a colder machine.
            let tool = Tool::ALL[(place + round) % Tool::ALL.len()];
            self.measure(bench, &mut works[main], tool, 1, &OPS)?;
        }
        let few = &OPS[..5];
        for herd in bench.herds() {
            let work = &mut works[main];
            work.herd(herd - 1).with_context(|| format!("failed to have {herd} processes"))?;
            self.measure(bench, work, Tool::Target, herd, few)?;
            work.herd(0)?;
        }
        for (index, work) in works.iter_mut().enumerate() {
            if index != main {
                self.measure(bench, work, Tool::Empty, 1, few)?;
                self.measure(bench, work, Tool::Target, 1, few)?;
            }
        }
        Ok(())
    }

    /// A tool that could not run once is not asked again.
    fn measure(
        &mut self,
        bench: &Bench,
        work: &mut Work,
        tool: Tool,
        processes: usize,
        ops: &[(&'static str, &'static str)],
    ) -> Result<()> {
        if self.refused.iter().any(|(refused, _)| *refused == tool) {
            return Ok(());
        }
        let setting = Setting { tool, numbers: work.numbers, processes };
        let time = |work: &mut Work| -> Result<Vec<Timing>> {
            ops.iter().map(|(op, _)| work.time(op, bench.batches, bench.batch_ms)).collect()
        };
        self.disturbed += usize::from(!kernel::alone());
        let without = time(work)?;
        let mut agent = match Agent::start(tool, work, bench.other(), &bench.backend, bench.folder(), false) {
            Ok(agent) => agent,
            Err(error) if tool.needs().is_some() => {
                eprintln!("skipped: {}: {error:#}", tool.name());
                self.refused.push((tool, format!("{error:#}")));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        agent.restart()?;
        let with = time(work)?;
        let usage = agent.usage()?;
        let attach_ms = agent.took.as_secs_f64() * 1e3;
        agent.stop()?;
        let Usage { cpu, resident_kib, peak_kib } = usage;
        self.uses.push(Use { setting, attach_ms, cpu, resident_kib, peak_kib });
        for ((op, _), (without, with)) in ops.iter().zip(without.into_iter().zip(with)) {
            self.samples.push(Sample { setting, op, without, with });
        }
        Ok(())
    }

    /// Every operation in every setting, in the order of first sight.
    pub fn rows(&self) -> Vec<Row> {
        let mut keys: Vec<(Setting, &'static str)> = Vec::new();
        for sample in &self.samples {
            if !keys.contains(&(sample.setting, sample.op)) {
                keys.push((sample.setting, sample.op));
            }
        }
        let row = |(setting, op): (Setting, &'static str)| {
            let mine = || self.samples.iter().filter(move |sample| (sample.setting, sample.op) == (setting, op));
            Some(Row {
                setting,
                op,
                without_min: Spread::of(mine().map(|sample| sample.without.min_ns))?,
                without: Spread::of(mine().map(|sample| sample.without.median_ns))?,
                with_min: Spread::of(mine().map(|sample| sample.with.min_ns))?,
                with: Spread::of(mine().map(|sample| sample.with.median_ns))?,
                added: Spread::of(mine().map(|sample| sample.with.min_ns - sample.without.min_ns))?,
            })
        };
        keys.into_iter().filter_map(row).collect()
    }

    /// Every tool in every setting.
    pub fn tools(&self) -> Vec<ToolRow> {
        let mut keys: Vec<Setting> = Vec::new();
        for used in &self.uses {
            if !keys.contains(&used.setting) {
                keys.push(used.setting);
            }
        }
        let row = |setting: Setting| {
            let mine = || self.uses.iter().filter(move |used| used.setting == setting);
            Some(ToolRow {
                setting,
                attach_ms: Spread::of(mine().map(|used| used.attach_ms))?,
                cpu: Spread::of(mine().map(|used| used.cpu))?,
                resident_kib: Spread::of(mine().map(|used| used.resident_kib as f64))?,
                peak_kib: Spread::of(mine().map(|used| used.peak_kib as f64))?,
            })
        };
        keys.into_iter().filter_map(row).collect()
    }
}
