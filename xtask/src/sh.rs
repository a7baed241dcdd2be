//! Running other programs from the repository's root.

use std::{
    env,
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use crate::room;

/// The repository's root, absolute.
///
/// Read at run time (cargo sets the variable), so that a shared target folder never leads into another clone.
pub fn root() -> Result<PathBuf> {
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").context("`CARGO_MANIFEST_DIR` is not set: start this as `cargo xtask`")?;
    let root = Path::new(&manifest).parent().context("failed to find the repository's root")?;
    Ok(root.to_owned())
}

/// The target folder of the workspace, absolute.
pub fn target() -> Result<PathBuf> {
    Ok(match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root()?.join(folder),
        None => root()?.join("target"),
    })
}

/// A command that starts in the repository's root.
pub fn command(program: impl AsRef<OsStr>) -> Result<Command> {
    let mut command = Command::new(program);
    command.current_dir(root()?);
    Ok(command)
}

/// The cargo that runs us. In a target folder where nobody is at work it keeps nothing for the next build.
pub fn cargo(args: &[&str]) -> Result<Command> {
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))?;
    cargo.args(args);
    // What cargo told us about this package is none of its builds' business: some build scripts look there, and all that stands
    // on them would be built anew each time somebody calls cargo without us in between.
    for (name, _) in env::vars_os().filter(|(name, _)| is_about_package(name)) {
        cargo.env_remove(name);
    }
    if env::var_os("CARGO_INCREMENTAL").is_none() && !room::builds_go_on() {
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    Ok(cargo)
}

/// Whether cargo sets a variable of this name for the program that it runs.
fn is_about_package(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_")
}

/// Where `program` is on `PATH`, or where root's tools are.
pub fn which(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Runs with this program's own streams, after printing the command line.
pub fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", show(command));
    let status = command.status().with_context(|| format!("failed to start `{}`", show(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", show(command));
    }
    Ok(())
}

/// What the command prints on stdout, trimmed; its stderr becomes part of the error.
pub fn output(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("failed to start `{}`", show(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed: {}: {}", show(command), output.status, stderr.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs while passing stdout on line by line, and hands each line to `see`. Returns whether it succeeded.
pub fn tee(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    println!("$ {}", show(command));
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("failed to start `{}`", show(command)))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("failed to read a program's output")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            see(&line);
        }
    }
    Ok(child.wait().context("failed to wait for a program")?.success())
}

/// The command line as a person would read it: program name without folder, then the arguments.
fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(name).chain(command.get_args()).map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
