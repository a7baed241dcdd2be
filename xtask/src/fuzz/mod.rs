//! `cargo xtask fuzz`: any bytes from outside do no harm. The targets are in `fuzz/`.

mod campaign;
mod compiler;
mod seeds;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};

use crate::{
    room, setup, sh,
    steps::{Steps, Tally},
};
use campaign::Target;
use compiler::Compiler;

/// Seconds for each target: here and in CI, and with `--long`.
const SHORT: u64 = 60;
const LONG: u64 = 3600;

const TARGETS: [Target; 5] = [
    Target { name: "config", max_len: 4096, words: true },
    Target { name: "control", max_len: 20 << 10, words: true },
    Target { name: "recording", max_len: 64 << 10, words: false },
    Target { name: "redact", max_len: 32 << 10, words: false },
    Target { name: "ring", max_len: 32 << 10, words: false },
];

#[derive(clap::Args)]
pub struct Options {
    /// An hour for each target instead of a minute
    #[arg(long)]
    long: bool,
    /// Only this one: config, control, recording, redact, ring
    #[arg(long, value_name = "NAME", value_parser = ["config", "control", "recording", "redact", "ring"])]
    target: Option<String>,
    /// So long for each target
    #[arg(long, value_name = "N", conflicts_with = "long")]
    seconds: Option<u64>,
    /// Give one input to the target and do nothing else
    #[arg(long, value_name = "FILE", requires = "target")]
    replay: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<ExitCode> {
    let seconds = options.seconds.unwrap_or(if options.long { LONG } else { SHORT });
    let targets: Vec<&Target> =
        TARGETS.iter().filter(|target| options.target.as_ref().is_none_or(|name| name == target.name)).collect();
    // Relative to where the command was typed, not to the repository's root.
    let replay = options.replay.as_ref().map(|path| path.canonicalize().context("failed to find the input"));
    let replay = replay.transpose()?;
    let mut steps = Steps::default();
    steps.step("set-up", || setup::run(&setup::Options { fuzz: true, ..Default::default() }).map(|()| Tally::NONE));
    let Some(compiler) = Compiler::find() else {
        steps.step("build", || Ok(Tally::skipped(compiler::NONE)));
        return Ok(steps.finish());
    };
    let folder = folder()?;
    let mut built = false;
    steps.step("build", || {
        compiler.build(&folder)?;
        built = true;
        Ok(Tally::NONE)
    });
    if !built {
        return Ok(steps.finish());
    }
    let programs = compiler.programs(&folder)?;
    if let Some(input) = replay {
        steps.step("replay", || {
            targets.iter().try_fold(Tally::NONE, |sum, t| Ok(sum.plus(t.replay(&programs, &input)?)))
        });
        return Ok(steps.finish());
    }
    steps.step("seeds", || seeds::make(&folder.join("seeds")).map(|()| Tally::NONE));
    for target in targets {
        steps.step(target.name, || target.run(&programs, &folder, seconds));
    }
    Ok(steps.finish())
}

/// For [`step`]: builds the targets; where nobody is at work it keeps of all that was built only them.
pub fn prepare() -> Result<()> {
    let Some(compiler) = Compiler::find() else { return Ok(()) };
    let folder = folder()?;
    compiler.build(&folder)?;
    if room::builds_go_on() { Ok(()) } else { compiler.keep(&folder, &TARGETS.map(|target| target.name)) }
}

/// A minute for each target, as a step of `cargo xtask test`.
pub fn step() -> Result<Tally> {
    let Some(compiler) = Compiler::find() else { return Ok(Tally::skipped(compiler::NONE)) };
    let folder = folder()?;
    let programs = compiler.programs(&folder)?;
    seeds::make(&folder.join("seeds"))?;
    TARGETS.iter().try_fold(Tally::NONE, |sum, target| Ok(sum.plus(target.run(&programs, &folder, SHORT)?)))
}

/// Where everything of this verb is: what is built, seeds, corpora and inputs that fail.
fn folder() -> Result<PathBuf> {
    let folder = sh::target()?.join("fuzz");
    fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_target_of_the_fuzz_crate_is_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let files = fs::read_dir(root.join("fuzz/fuzz_targets")).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(names, TARGETS.map(|target| target.name.to_owned()));
        let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        for name in names {
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        }
    }
}
