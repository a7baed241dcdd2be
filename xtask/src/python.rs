//! An environment of Python's in the target folder, with packages of fixed versions.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result};

use crate::sh;

/// Says what of `name[extras]==version` is installed there and where. A text, so that the environment's own Python runs it.
const INSTALLED: &str = "\
import importlib.metadata, sys
wanted = dict(pair.split('==') for pair in sys.argv[1:])
version = lambda name: importlib.metadata.version(name.split('[')[0])
if any(version(name) != wanted[name] for name in wanted): sys.exit(1)
print(' '.join(sys.argv[1:]))";

/// Where it is: `venv` in the target folder, where tests look for it too.
fn folder() -> Result<PathBuf> {
    Ok(sh::target()?.join("venv"))
}

/// Its interpreter.
pub fn python() -> Result<Command> {
    Ok(Command::new(folder()?.join("bin/python")))
}

/// A program of one of its packages, if it is there.
pub fn program(name: &str) -> Option<PathBuf> {
    Some(folder().ok()?.join("bin").join(name)).filter(|file| file.is_file())
}

/// The packages, if all of them are there in their versions.
pub fn found(packages: &[&str]) -> Option<String> {
    let python = folder().ok()?.join("bin/python");
    let found = sh::output(Command::new(python).args(["-c", INSTALLED]).args(packages)).ok()?;
    found.lines().next().map(str::to_owned)
}

/// Makes the environment and installs the packages.
pub fn install(packages: &[&str]) -> Result<()> {
    let folder = folder()?;
    sh::run(sh::command("python3")?.args(["-m", "venv"]).arg(&folder))
        .context("failed to make a Python environment")?;
    let python = folder.join("bin/python");
    sh::run(
        Command::new(python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages),
    )
}
