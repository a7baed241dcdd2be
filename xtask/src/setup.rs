//! `cargo xtask setup`: installs what is missing, and only that.

use std::{env, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::{
    needs::{LLVM_PREFIX, NEEDS, Need, Purpose, Source},
    python, sh,
};

/// Without a flag: everything but what `dist` needs.
#[derive(clap::Args, Default)]
pub struct Options {
    /// What building the kernel object needs
    #[arg(long)]
    pub ebpf: bool,
    /// What lints and tests need
    #[arg(long)]
    pub test: bool,
    /// What fuzzing needs
    #[arg(long)]
    pub fuzz: bool,
    /// What the demo needs: the stable toolchain and a C linker
    #[arg(long)]
    pub demo: bool,
    /// What packages are made and tried with
    #[arg(long)]
    pub dist: bool,
}

impl Options {
    fn wants(&self, purpose: Purpose) -> bool {
        let all = !(self.ebpf || self.test || self.fuzz || self.demo || self.dist);
        match purpose {
            Purpose::Build => true,
            Purpose::Ebpf => all || self.ebpf,
            Purpose::Test => all || self.test,
            Purpose::Fuzz => all || self.test || self.fuzz,
            Purpose::Dist => self.dist,
        }
    }
}

pub fn run(options: &Options) -> Result<()> {
    let mut installer = Installer::new();
    let mut problems = Vec::new();
    for need in NEEDS.iter().filter(|need| options.wants(need.purpose)) {
        if let Some(found) = (need.found)() {
            println!("found      {}: {found}", need.what);
            continue;
        }
        println!("missing    {}", need.what);
        let result = installer
            .install(need)
            .and_then(|()| (need.found)().with_context(|| format!("`{}` is still missing", need.what)));
        match result {
            Ok(found) => println!("installed  {}: {found}", need.what),
            Err(error) if need.optional => {
                println!("without    {}: what needs it is skipped ({error:#})", need.what)
            }
            Err(error) => {
                problems.push(format!("{}: {error:#}; {}", need.what, need.otherwise));
            }
        }
    }
    if !problems.is_empty() {
        bail!("missing on this machine:\n  {}", problems.join("\n  "));
    }
    Ok(())
}

/// Installs, and remembers that apt's lists are fresh.
struct Installer {
    lists_are_fresh: bool,
}

impl Installer {
    const fn new() -> Self {
        Self { lists_are_fresh: false }
    }

    fn install(&mut self, need: &Need) -> Result<()> {
        match need.source {
            Source::Apt(packages) => self.apt(packages),
            Source::Crate(name, version, features) => install_crate(name, version, features),
            Source::Python(packages) => python::install(packages),
            Source::Component(name) => sh::run(Command::new("rustup").args(["component", "add", name])),
            Source::Target(name) => sh::run(Command::new("rustup").args(["target", "add", name])),
        }
    }

    fn apt(&mut self, packages: &[&str]) -> Result<()> {
        if sh::which("apt-get").is_none() {
            bail!("no apt here");
        }
        if sh::output(Command::new("id").arg("-u"))? != "0" {
            bail!("only root can install packages: run `apt-get install {}` as root", packages.join(" "));
        }
        if !self.lists_are_fresh {
            sh::run(&mut apt_get(&["update"]))?;
            self.lists_are_fresh = true;
        }
        sh::run(apt_get(&["install", "--yes", "--no-install-recommends"]).args(packages))
    }
}

fn apt_get(args: &[&str]) -> Command {
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet").args(args);
    apt
}

fn install_crate(name: &str, version: &str, features: &[&str]) -> Result<()> {
    let mut cargo = sh::cargo(&["install", "--locked", name, "--version", version])?;
    // Not in the workspace's target folder, nor with what the cargo around us set for this package.
    cargo.env_remove("CARGO_TARGET_DIR");
    if !features.is_empty() {
        cargo.arg("--no-default-features").arg("--features").arg(features.join(","));
        if let Some(prefix) = llvm_prefix() {
            cargo.env("LLVM_PREFIX", prefix);
        }
    }
    sh::run(&mut cargo)
}

/// Where LLVM 22 is; only bpf-linker asks.
fn llvm_prefix() -> Option<String> {
    if env::var_os("LLVM_PREFIX").is_some() {
        return None;
    }
    if Path::new(LLVM_PREFIX).is_dir() {
        return Some(LLVM_PREFIX.to_owned());
    }
    sh::output(Command::new("llvm-config-22").arg("--prefix")).ok()
}
