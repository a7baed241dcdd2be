//! `cargo xtask lint`: everything that can be said without running the tool.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::{
    build_ebpf, deploy, paths, sh,
    steps::{Steps, Tally},
    toolchain::parse_version,
};

pub fn run() -> Result<ExitCode> {
    let mut steps = Steps::default();
    add(&mut steps);
    Ok(steps.finish())
}

/// Adds one step for each check.
pub fn add(steps: &mut Steps) {
    steps.step("rustfmt", || passes(&mut sh::cargo(&["fmt", "--all", "--check"])?));
    steps.step("clippy", || {
        let fuzz = "--features=fdtide-fuzz/targets";
        passes(&mut sh::cargo(&["clippy", "--workspace", "--all-targets", fuzz, "--", "-D", "warnings"])?)
    });
    steps.step("clippy, kernel program", clippy_kernel);
    steps
        .step("licences, bans, sources", || passes(&mut sh::cargo(&["deny", "check", "licenses", "bans", "sources"])?));
    steps.step("advisories", advisories);
    steps.step("no machine paths", paths::check);
    deploy::add(steps);
    steps.step("minimum Rust version", msrv);
    steps.step("kernel object's record", || build_ebpf::check_record().map(|()| Tally::PASSED));
}

fn passes(command: &mut Command) -> Result<Tally> {
    sh::run(command).map(|()| Tally::PASSED)
}

/// The kernel program as if it were for the host: it is checked, never linked.
fn clippy_kernel() -> Result<Tally> {
    let mut clippy = sh::cargo(&["clippy", "--package=fdtide-ebpf", "--bin=fdtide", "--features=kernel"])?;
    clippy
        .arg("--target-dir")
        .arg(sh::target()?.join("ebpf-clippy"))
        .args(["--", "-D", "warnings"])
        .env("RUSTC_BOOTSTRAP", "1")
        // Without the standard library there is no unwinding.
        .env("CARGO_PROFILE_DEV_PANIC", "abort");
    passes(&mut clippy)
}

/// The advisory database is a git repository elsewhere, which not every machine reaches.
fn advisories() -> Result<Tally> {
    let mut deny = sh::cargo(&["deny", "check", "advisories"])?;
    let output = deny.output().context("failed to start `cargo deny`")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(Tally::PASSED);
    }
    if text.contains("failed to fetch advisory database") {
        return Ok(Tally::skipped("the advisory database cannot be reached from this machine"));
    }
    bail!("`cargo deny check advisories` failed:\n{text}");
}

/// The workspace builds with the `rust-version` that it claims.
fn msrv() -> Result<Tally> {
    let metadata = sh::output(&mut sh::cargo(&["metadata", "--no-deps", "--format-version=1"])?)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).context("failed to parse `cargo metadata`")?;
    let claimed = metadata["packages"][0]["rust_version"].as_str().context("`Cargo.toml` has no `rust-version`")?;
    let wanted = parse_version(&format!("rustc {claimed}.0"));
    let in_use = sh::output(Command::new("rustc").arg("-V"))?;
    if parse_version(&in_use) == wanted {
        println!("the toolchain in use is the minimum: {in_use}");
        return Ok(Tally::PASSED);
    }
    let toolchains = sh::output(Command::new("rustup").args(["toolchain", "list"])).unwrap_or_default();
    let Some(toolchain) =
        toolchains.lines().filter_map(|line| line.split_whitespace().next()).find(|name| name.starts_with(claimed))
    else {
        return Ok(Tally::skipped(&format!(
            "Rust {claimed} is not installed here, so the minimum version is not built"
        )));
    };
    let mut check = sh::command("rustup")?;
    check
        .args(["run", toolchain, "cargo", "check", "--workspace", "--all-targets", "--target-dir"])
        .arg(sh::target()?.join("msrv"));
    for name in ["RUSTUP_TOOLCHAIN", "RUSTC", "CARGO"] {
        check.env_remove(name);
    }
    passes(&mut check)
}
