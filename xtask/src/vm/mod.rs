//! `cargo xtask vm`: the kernel tests on Debian's kernels under QEMU.

pub mod apt;
mod archive;
mod boot;
pub mod cost;
mod guest;
mod kernels;
mod matrix;
mod outcome;
mod programs;

use std::{
    fmt,
    path::Path,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use crate::{sh, steps::Tally};
use boot::Clock;
use kernels::{Backend, Kernel};
use matrix::Matrix;

/// Without a kernel named: the oldest and the newest that are supported.
#[derive(clap::Args)]
pub struct Options {
    /// Kernels
    #[arg(long, value_delimiter = ',', value_parser = kernels::by_name, value_name = "VERSION,…")]
    kernel: Vec<&'static Kernel>,
    /// Backends
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = Backend::ALL)]
    backend: Vec<Backend>,
    /// Preemption model, for kernels that let it be chosen at boot (`full`)
    #[arg(long, value_name = "MODEL", conflicts_with = "all")]
    preempt: Option<String>,
    /// Every kernel, and those with a choice of preemption once more with `preempt=full`
    #[arg(long, conflicts_with = "kernel")]
    all: bool,
    /// Only the tests whose names contain this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Test targets
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Target::Kernel])]
    target: Vec<Target>,
    /// Seeds of each mode of the torture, or a range of them as `20..40`
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    /// Operations of each thread of the torture
    #[arg(long, value_name = "NUMBER")]
    ops: Option<u64>,
    /// A run of the torture, in the words in which a failure prints it
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["seeds", "ops", "filter"])]
    replay: Option<String>,
    /// Guests at a time [default: one for each processor]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
    /// What a guest may take; more is a hang
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    limit: u64,
}

/// A test target that can run in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// The tool against fixtures.
    Kernel,
    /// Behaviour from public reports.
    Cases,
    /// Long random sequences.
    Torture,
    /// Who is traced.
    Targets,
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Kernel => "kernel",
            Self::Cases => "cases",
            Self::Torture => "torture",
            Self::Targets => "targets",
        })
    }
}

/// The verb.
pub fn run(options: &Options) -> Result<ExitCode> {
    let total = boot_all(options)?;
    println!("{total}");
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tests whose names contain `filter`, on every backend of these kernels, as a part of a longer run: skipped where Debian's
/// archive, or what boots a guest, can't be reached.
pub fn tests(kernels: &[&str], filter: &str) -> Result<Tally> {
    let kernel: Result<Vec<_>, _> = kernels.iter().map(|name| kernels::by_name(name)).collect();
    let kernel = kernel.map_err(anyhow::Error::msg)?;
    let folder = sh::target()?.join("vm");
    let fetched =
        apt::install_missing().and_then(|()| kernel.iter().try_for_each(|kernel| apt::fetch(kernel, &folder)));
    if let Err(error) = fetched {
        return Ok(Tally::skipped(&format!("other kernels can't be had on this machine: {error:#}")));
    }
    boot_all(&Options {
        kernel,
        backend: Backend::ALL.to_vec(),
        preempt: None,
        all: false,
        filter: Some(filter.to_owned()),
        target: vec![Target::Kernel],
        seeds: None,
        ops: None,
        replay: None,
        jobs: None,
        limit: 900,
    })
}

fn boot_all(options: &Options) -> Result<Tally> {
    let started = Instant::now();
    apt::install_missing()?;
    let folder = sh::target()?.join("vm");
    let plans = kernels::plans(&options.kernel, &options.backend, options.preempt.as_deref(), options.all);
    let programs = programs::build(&options.target)?;
    for kernel in kernels::KERNELS.iter().filter(|kernel| plans.iter().any(|plan| plan.kernel == *kernel)) {
        apt::fetch(kernel, &folder).with_context(|| format!("failed to fetch Debian's kernel {}", kernel.name))?;
    }
    let limit = Duration::from_secs(options.limit);
    let matrix = Mutex::new(Matrix::default());
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let script = guest::init(plan, &programs, options);
            let mut archive = programs.archive.clone();
            archive.file(Path::new("/init"), true, script.as_bytes())?;
            let boot = boot::boot(plan, &archive.finish()?, &folder.join(plan.kernel.name), Clock::Host, limit)
                .with_context(|| format!("failed to boot {plan}"))?;
            let outcome = outcome::read(&boot, plan);
            matrix.lock().unwrap_or_else(PoisonError::into_inner).add(plan, boot.took, outcome);
        }
        Ok(())
    };
    let jobs = options.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let matrix = matrix.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(matrix.print(&plans, started.elapsed()))
}
