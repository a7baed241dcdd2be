//! `cargo xtask demo`: the main job on a real workload, checked against the workload's own truth.

use std::{fs, path::Path, process::ExitCode, time::Instant};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::{
    chart::{Side, side_by_side},
    setup, sh,
};

#[derive(clap::Args)]
pub struct Options {
    /// Entries that the sandbox names
    #[arg(long, default_value_t = 987)]
    entries: u64,
    /// Programs that are started
    #[arg(long, default_value_t = 100)]
    execs: usize,
    /// Soft limit of the workload
    #[arg(long, default_value_t = 1024)]
    nofile: u64,
}

/// What is read of `fdtide.report/1`.
#[derive(Deserialize)]
struct Report {
    loss: Loss,
    histograms: Vec<Histogram>,
    execs: Vec<Exec>,
}

#[derive(Deserialize)]
struct Loss {
    lost: u64,
    missed: u64,
}

#[derive(Deserialize)]
struct Histogram {
    spawner: String,
    program: String,
    count: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
}

#[derive(Deserialize)]
struct Exec {
    spawner: Spawner,
    program: String,
    spawn_window: Window,
}

#[derive(Deserialize)]
struct Spawner {
    comm: String,
}

#[derive(Deserialize)]
struct Window {
    /// Null for the exec of the command itself, whose spawner is not traced.
    high_water: Option<u64>,
}

/// A line of the fixture's own account.
#[derive(Deserialize)]
struct Truth {
    base: u64,
    high_water: u64,
}

/// One mode, measured and told.
struct Measured {
    mode: &'static str,
    loss: Loss,
    histogram: Histogram,
    high_waters: Vec<u64>,
    base: u64,
    truth: u64,
}

pub fn run(options: &Options) -> Result<ExitCode> {
    let started = Instant::now();
    setup::run(&setup::Options { demo: true, ..setup::Options::default() })?;
    sh::run(&mut sh::cargo(&["build", "--release", "--package=fdtide", "--package=fdtide-fixtures"])?)?;
    let folder = tempfile::tempdir().context("failed to create a temporary folder")?;
    let eager = measure(options, "eager", folder.path())?;
    let lazy = measure(options, "lazy", folder.path())?;
    show(options, &eager, &lazy);
    let wrong: Vec<_> = [&eager, &lazy].into_iter().flat_map(|measured| measured.mistakes(options)).collect();
    for line in &wrong {
        println!("WRONG: {line}");
    }
    if wrong.is_empty() {
        println!("measured = the workload's own count in both modes, nothing lost");
    }
    println!("{:.0} s in all", started.elapsed().as_secs_f64());
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the workload twice under the tracer: for the text report, which is printed, and for the JSON one.
fn measure(options: &Options, mode: &'static str, folder: &Path) -> Result<Measured> {
    println!("\n── {mode}: {} entries, {} programs started", options.entries, options.execs);
    let text = folder.join(format!("{mode}.txt"));
    trace(options, mode, "text", &text)?;
    println!("{}", fs::read_to_string(&text).context("failed to read the text report")?);
    let json = folder.join(format!("{mode}.json"));
    let told = trace(options, mode, "json", &json)?;
    let bytes = fs::read(&json).context("failed to read the JSON report")?;
    let report: Report = serde_json::from_slice(&bytes).context("failed to parse the JSON report")?;

    let truths: Vec<Truth> = told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let base = truths.first().context("the workload told no count of its own")?.base;
    let truth = truths.iter().map(|truth| truth.high_water).max().unwrap_or(0);
    // The workload's own start is an exec as well; its programs are the row with the most.
    let histogram = report.histograms.into_iter().max_by_key(|row| row.count).context("the report has no histogram")?;
    let high_waters = report
        .execs
        .iter()
        .filter(|exec| exec.program == histogram.program && exec.spawner.comm == histogram.spawner)
        .filter_map(|exec| exec.spawn_window.high_water)
        .collect();
    Ok(Measured { mode, loss: report.loss, histogram, high_waters, base, truth })
}

/// Returns what the workload printed; the report goes to `file`.
fn trace(options: &Options, mode: &str, format: &str, file: &Path) -> Result<String> {
    let programs = sh::target()?.join("release");
    let mut fdtide = sh::command(programs.join("fdtide"))?;
    fdtide
        .args(["run", "--nofile", &options.nofile.to_string(), "--format", format, "-o"])
        .arg(file)
        .arg("--")
        .arg(programs.join("landlock-burst"))
        .args(["--mode", mode, "--parallel", "1"])
        .args(["--entries", &options.entries.to_string()])
        .args(["--execs", &options.execs.to_string()]);
    sh::output(&mut fdtide).with_context(|| {
        format!("failed to trace the {mode} workload (tracing needs root, or CAP_BPF and CAP_PERFMON)")
    })
}

fn show(options: &Options, eager: &Measured, lazy: &Measured) {
    println!("\n── high-water mark of the spawner's table, one value for each exec\n");
    let side = |measured: &Measured| format!("{} ({} execs)", measured.mode, measured.high_waters.len());
    let (left, right) = (side(eager), side(lazy));
    let chart = side_by_side(
        options.nofile,
        &Side { title: &left, values: &eager.high_waters },
        &Side { title: &right, values: &lazy.high_waters },
    );
    println!("{chart}");
    println!(
        "{:<6} {:>6} {:>5} {:>5} {:>5} {:>5} {:>9} {:>5} {:>6} {:>5} {:>7}",
        "", "execs", "p50", "p90", "p99", "max", "headroom", "base", "truth", "lost", "missed"
    );
    for m in [eager, lazy] {
        let h = &m.histogram;
        println!(
            "{:<6} {:>6} {:>5} {:>5} {:>5} {:>5} {:>9} {:>5} {:>6} {:>5} {:>7}",
            m.mode,
            h.count,
            h.p50,
            h.p90,
            h.p99,
            h.max,
            options.nofile.saturating_sub(h.max),
            m.base,
            m.truth,
            m.loss.lost,
            m.loss.missed
        );
    }
    println!("\n{} → {}, soft limit {}", eager.histogram.spawner, eager.histogram.program, options.nofile);
}

impl Measured {
    /// What does not agree with the workload's own account.
    fn mistakes(&self, options: &Options) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut expect = |holds: bool, what: String| {
            if !holds {
                wrong.push(format!("{}: {what}", self.mode));
            }
        };
        let (max, truth) = (self.histogram.max, self.truth);
        expect(max == truth, format!("measured {max}, the workload counted {truth}"));
        let execs = self.high_waters.len();
        expect(execs == options.execs, format!("{execs} exec records for {} execs", options.execs));
        expect(self.loss.lost == 0, format!("{} records lost", self.loss.lost));
        expect(self.loss.missed == 0, format!("{} hook runs missed", self.loss.missed));
        wrong
    }
}
