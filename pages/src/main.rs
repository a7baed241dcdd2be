//! `fdtide-pages FOLDER [DATE]`: manual pages and shell completions, from the definitions that the tool parses with.
//!
//! A program of its own, so that neither the tool nor `xtask` carries the generators; `cargo xtask dist` runs it.

mod after_help;
#[cfg(test)]
mod commands;
mod fields;
mod page;
mod words;

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use clap_complete::Shell;

fn main() -> Result<()> {
    let mut args = env::args_os().skip(1);
    let (Some(folder), date) = (args.next(), args.next().map(OsString::into_string)) else {
        bail!("usage: fdtide-pages FOLDER [DATE]")
    };
    let date = date.transpose().map_err(|_| anyhow::anyhow!("the date is not UTF-8"))?.unwrap_or_default();
    write_all(&PathBuf::from(folder), &date)
}

/// The tool's definitions, with those of `fdtide fleet` in the place of what only hands its words on.
fn command() -> clap::Command {
    let about = |verb: &clap::Command| verb.get_about().cloned().unwrap_or_default();
    fdtide::cli::command().mut_subcommand("fleet", |verb| fdtide_fleet::command().name("fleet").about(about(&verb)))
}

/// `man/` and `completions/` in `folder`.
fn write_all(folder: &Path, date: &str) -> Result<()> {
    let man = folder.join("man");
    fs::create_dir_all(&man).context("failed to create `man`")?;
    for (name, text) in page::all(command(), date)?.into_iter().chain([fields::page(date)?]) {
        fs::write(man.join(&name), text).with_context(|| format!("failed to write `{name}`"))?;
    }
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).context("failed to create `completions`")?;
    for (shell, name) in [(Shell::Bash, "fdtide"), (Shell::Zsh, "_fdtide"), (Shell::Fish, "fdtide.fish")] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command(), "fdtide", &mut text);
        fs::write(completions.join(name), text).with_context(|| format!("failed to write `{name}`"))?;
    }
    Ok(())
}
