//! The project's own commands: `cargo xtask <verb>`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool talks to the person who typed the command"
)]

mod bench;
mod build_ebpf;
mod chart;
mod demo;
mod deploy;
mod dist;
mod fleet_sim;
mod fuzz;
mod incidents;
mod lint;
mod needs;
mod paths;
mod provenance;
mod python;
mod room;
mod setup;
mod sh;
mod steps;
mod summary;
mod test;
mod toolchain;
mod vm;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "fdtide's own commands", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Install what is missing on this machine, and say what was done or found
    Setup(setup::Options),
    /// Build the kernel object from source into `tracer/bpf/`
    BuildEbpf(build_ebpf::Options),
    /// Check formatting, lints, licences, paths, the MSRV and the kernel object's record
    Lint,
    /// Set up, lint, run every test (as root) and prove the kernel object against its source
    Test(test::Options),
    /// Measure what fdtide costs, next to what one would otherwise run, and write `docs/overhead.md`
    Bench(bench::Options),
    /// Show the main job: a Landlock burst, eager then lazy, with both histograms side by side
    Demo(demo::Options),
    /// Build what is given out: program, manual pages, completions, bill of materials, Debian package, sums
    Dist(dist::Options),
    /// Simulate a fleet of known truth, and measure what is asked of it
    FleetSim(fleet_sim::Options),
    /// Fuzz what reads bytes from outside: a minute for each target, an hour with `--long`
    Fuzz(fuzz::Options),
    /// Reproduce the four incidents, and compare what fdtide says of each with what its fixture counted
    Incidents(incidents::Options),
    /// Run the kernel tests on Debian's kernels under QEMU, on every backend, and print the matrix
    Vm(vm::Options),
}

fn main() -> ExitCode {
    match run(Cli::parse().verb) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Setup(options) => setup::run(&options).map(|()| ExitCode::SUCCESS),
        Verb::BuildEbpf(options) => build_ebpf::run(&options).map(|()| ExitCode::SUCCESS),
        Verb::Lint => lint::run(),
        Verb::Test(options) => test::run(&options),
        Verb::Bench(options) => bench::run(&options),
        Verb::Demo(options) => demo::run(&options),
        Verb::Dist(options) => dist::run(&options),
        Verb::FleetSim(options) => fleet_sim::run(&options),
        Verb::Fuzz(options) => fuzz::run(&options),
        Verb::Incidents(options) => incidents::run(&options),
        Verb::Vm(options) => vm::run(&options),
    }
}
