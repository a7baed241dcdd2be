//! `cargo xtask test`: what CI runs, and the only command that says whether the tree is good.

use std::{path::Path, process::ExitCode};

use anyhow::{Context as _, Result};

use crate::{
    build_ebpf::{self, Proof},
    fuzz, lint, room, setup, sh,
    steps::{Steps, Tally},
    summary::Summary,
    vm,
};

#[derive(clap::Args)]
pub struct Options {
    /// Only the tests whose names contain this; no set-up, no lints, no proof
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

pub fn run(options: &Options) -> Result<ExitCode> {
    let mut steps = Steps::default();
    if let Some(filter) = &options.filter {
        steps.step("tests", || tests(&["--workspace", filter], None));
        return Ok(steps.finish());
    }
    steps.step("room on the disk", || room::check().map(|()| Tally::NONE));
    if steps.total().failed > 0 {
        return Ok(steps.finish());
    }
    steps.step("set-up", || setup::run(&setup::Options::default()).map(|()| Tally::NONE));
    // First, since what it builds goes again before anything else is built.
    steps.step("build of the fuzz targets", || fuzz::prepare().map(|()| Tally::NONE));
    lint::add(&mut steps);
    // What is linted need not be built as well: benchmarks.
    steps.step("build", || sh::run(&mut sh::cargo(&["test", "--workspace", "--no-run"])?).map(|()| Tally::NONE));
    steps.step("tests", || tests(&["--workspace"], None));
    steps.step("fuzzing, a minute each", fuzz::step);
    steps.step("kernel object against source", proof);
    steps.step("other kernels", || vm::tests(&["6.1", "7.2"], "steps::case_0"));
    Ok(steps.finish())
}

/// Byte for byte, or by the kernel tests on a fresh build where the toolchain is another.
fn proof() -> Result<Tally> {
    match build_ebpf::prove()? {
        Proof::Same => {
            println!("{} is what the source gives, byte for byte", build_ebpf::OBJECT);
            Ok(Tally::PASSED)
        }
        Proof::OtherToolchain { fresh, difference } => {
            println!("another toolchain ({difference}): running the kernel tests on the fresh build");
            tests(&["--workspace", "--test=kernel"], Some(&fresh))
        }
    }
}

/// One test at a time: they measure real processes on a machine with few cores, and some load the same hooks.
fn tests(which: &[&str], object: Option<&Path>) -> Result<Tally> {
    let mut cargo = sh::cargo(&["test", "--no-fail-fast"])?;
    cargo.args(which).args(["--", "--test-threads=1", "--show-output"]).env("FDTIDE_REQUIRE_KERNEL", "1");
    if let Some(object) = object {
        cargo.env("FDTIDE_BPF_OBJECT", object);
    }
    let mut summary = Summary::default();
    let ok = sh::tee(&mut cargo, |line| summary.line(line)).context("failed to run the tests")?;
    Ok(summary.finish(ok))
}
