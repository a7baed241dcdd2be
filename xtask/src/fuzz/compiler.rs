//! The compiler that fuzz targets are built with: coverage and sanitizers are unstable options of rustc.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{sh, toolchain};

/// Why there may be none.
pub const NONE: &str = "neither rustup's nightly nor a compiler in use that has a sanitizer's runtime is here: run \
                        `rustup toolchain install nightly --profile minimal`";

pub struct Compiler {
    /// Rustup's name of it; without one it is the one in use, told to take unstable options.
    toolchain: Option<String>,
    /// The machine that it builds for.
    host: String,
    /// Its runtime finds what reads beyond its memory.
    sanitizer: &'static str,
}

impl Compiler {
    /// Rustup's nightly, else the compiler in use.
    pub fn find() -> Option<Compiler> {
        let toolchains = sh::output(Command::new("rustup").args(["toolchain", "list"])).unwrap_or_default();
        let names = toolchains.lines().filter_map(|line| line.split_whitespace().next());
        let nightly = names.filter(|name| name.starts_with("nightly")).min_by_key(|name| name.len());
        let of = |toolchain: Option<String>| {
            let found = Compiler { toolchain, host: String::new(), sanitizer: "none" };
            let text = sh::output(found.command("rustc").ok()?.arg("-vV")).ok()?;
            let host = text.lines().find_map(|line| line.strip_prefix("host: "))?.to_owned();
            let libraries = sh::output(found.command("rustc").ok()?.args(["--print", "target-libdir"])).ok()?;
            let sanitizer = if has_runtime(Path::new(&libraries)) { "address" } else { "none" };
            Some(Compiler { host, sanitizer, ..found })
        };
        let nightly = nightly.and_then(|name| of(Some(name.to_owned())));
        nightly.or_else(|| of(None).filter(|compiler| compiler.sanitizer != "none"))
    }

    /// A program of this toolchain, which hears nothing of the cargo around us.
    fn command(&self, program: &str) -> Result<Command> {
        let mut command = match &self.toolchain {
            Some(name) => {
                let mut rustup = sh::command("rustup")?;
                rustup.args(["run", name, program]);
                rustup
            }
            None => sh::command(program)?,
        };
        // What chose the toolchain in use chooses it here too.
        let kept = |name: &str| self.toolchain.is_none() && name == "RUSTUP_TOOLCHAIN";
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|name| toolchain::leaks(name) && !kept(name)) {
                command.env_remove(name);
            }
        }
        if self.toolchain.is_none() {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        Ok(command)
    }

    /// Builds all targets, without debug information: a panic names its line without it.
    pub fn build(&self, folder: &Path) -> Result<()> {
        let name = self.toolchain.as_deref().unwrap_or("the compiler in use");
        println!("fuzzing with {name}, sanitizer {}", self.sanitizer);
        let mut cargo = self.command("cargo")?;
        cargo.args(["fuzz", "build", "--fuzz-dir", "fuzz", "--features", "link", "--codegen-units", "16"]);
        cargo.args(["--sanitizer", self.sanitizer, "--target", &self.host, "--target-dir"]).arg(folder);
        cargo
            .env("RUSTFLAGS", "-Cdebuginfo=0")
            .env("CARGO_INCREMENTAL", "0")
            // What a minute of fuzzing gains by more optimisation, the build loses many times.
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_LTO", "off");
        sh::run(&mut cargo)
    }

    /// Where the built targets are.
    pub fn programs(&self, folder: &Path) -> Result<PathBuf> {
        let programs = self.built(folder).join("release");
        fs::metadata(&programs).with_context(|| format!("`cargo fuzz` built nothing in `{}`", programs.display()))?;
        Ok(programs)
    }

    /// Takes away what the build made on its way: more than a gigabyte. The programs stay.
    pub fn keep(&self, folder: &Path, names: &[&str]) -> Result<()> {
        let programs = self.programs(folder)?;
        let failed = |path: &Path| format!("failed to tidy up `{}`", path.display());
        for entry in fs::read_dir(&programs).with_context(|| failed(&programs))? {
            let path = entry.with_context(|| failed(&programs))?.path();
            if path.is_dir() {
                fs::remove_dir_all(&path).with_context(|| failed(&path))?;
            } else if !names.iter().any(|name| path.ends_with(name)) {
                fs::remove_file(&path).with_context(|| failed(&path))?;
            }
        }
        let host = folder.join("release");
        if host.exists() { fs::remove_dir_all(&host).with_context(|| failed(&host)) } else { Ok(()) }
    }

    fn built(&self, folder: &Path) -> PathBuf {
        folder.join(&self.host)
    }
}

/// The prebuilt part of the address sanitizer, which not every distribution of the compiler has.
fn has_runtime(libraries: &Path) -> bool {
    let files = fs::read_dir(libraries).into_iter().flatten().flatten();
    files.map(|file| file.file_name()).any(|name| name.to_string_lossy().ends_with("_rt.asan.a"))
}
