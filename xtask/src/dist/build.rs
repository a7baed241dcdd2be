//! The program, without a trace of the machine that built it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{needs::STATIC, sh, toolchain};

/// Release, without link-time optimisation of the query engine: `Cargo.toml` says why.
pub const FLEET_PROFILE: &str = "fleet";

/// The programs and what they run on.
pub struct Program {
    pub file: PathBuf,
    /// What answers `fdtide fleet`.
    pub fleet: PathBuf,
    pub triple: String,
}

impl Program {
    pub fn is_static(&self) -> bool {
        self.triple == STATIC
    }

    /// How files are called: `x86_64-linux-musl`.
    pub fn platform(&self) -> String {
        self.triple.replace("-unknown", "")
    }
}

/// Builds them below `target`, from the tree in `source`.
pub fn programs(source: &Path, target: &Path) -> Result<Program> {
    // First, so that the registry's folders exist and can be remapped.
    sh::run(sh::cargo(&["fetch", "--locked"])?.current_dir(source))?;
    let host = host()?;
    let triple = if has_static() { STATIC.to_owned() } else { host.clone() };
    if triple == STATIC {
        println!("a static program: the toolchain has `{STATIC}`");
    } else {
        println!("a program for this machine's C library: the toolchain has no `{STATIC}`");
    }
    let remap = remap(source, target)?;
    let folder = if triple == host { target.to_owned() } else { target.join(&triple) };
    let build = |package: &str, profile: &str| -> Result<PathBuf> {
        let mut cargo =
            sh::cargo(&["build", "--profile", profile, "--locked", "--package", package, "--bin", package])?;
        cargo.current_dir(source).arg("--target-dir").arg(target);
        if triple != host {
            cargo.args(["--target", &triple]);
        }
        flags(&mut cargo, &remap);
        sh::run(&mut cargo)?;
        let file = folder.join(profile).join(package);
        refuse_machine_paths(&file, &remap)?;
        Ok(file)
    };
    // One after the other, so that neither is built with what only the other asks of a crate.
    let (file, fleet) = (build("fdtide", "release")?, build("fdtide-fleet", FLEET_PROFILE)?);
    Ok(Program { file, fleet, triple })
}

fn flags(cargo: &mut Command, remap: &[(PathBuf, &str)]) {
    // Added to the flags of `.cargo/config.toml`, which the variable RUSTFLAGS would replace.
    let flags: Vec<_> =
        remap.iter().map(|(from, to)| format!("'--remap-path-prefix={}={to}'", from.display())).collect();
    cargo.args(["--config", "profile.release.strip='symbols'"]);
    cargo.args(["--config", &format!("target.'cfg(all())'.rustflags=[{}]", flags.join(","))]);
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
}

fn host() -> Result<String> {
    let text = sh::output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// Both the library and the compiler driver that C dependencies are built with.
fn has_static() -> bool {
    toolchain::library(STATIC).is_some() && sh::which("musl-gcc").is_some()
}

/// Folders whose names must not reach the program; of several that fit, rustc takes the last.
fn remap(source: &Path, target: &Path) -> Result<Vec<(PathBuf, &'static str)>> {
    let mut pairs = vec![(source.to_owned(), "/fdtide"), (target.to_owned(), "/target")];
    let home = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(env::var_os("HOME").context("`HOME` is not set")?).join(".cargo"),
    };
    let registry = home.join("registry/src");
    for entry in fs::read_dir(&registry).with_context(|| format!("failed to list `{}`", registry.display()))? {
        pairs.push((entry.context("failed to list the registry's folder")?.path(), "/crates"));
    }
    pairs.sort_by_key(|(_, to)| *to == "/crates");
    Ok(pairs)
}

fn refuse_machine_paths(program: &Path, remap: &[(PathBuf, &str)]) -> Result<()> {
    let bytes = fs::read(program).with_context(|| format!("failed to read `{}`", program.display()))?;
    for (folder, _) in remap {
        let name = folder.as_os_str().as_encoded_bytes();
        if bytes.windows(name.len()).any(|window| window == name) {
            bail!("`{}` names a folder of this machine: `{}`", program.display(), folder.display());
        }
    }
    Ok(())
}
