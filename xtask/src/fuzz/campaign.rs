//! One target for a while; and what is told of an input that fails.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use anyhow::{Context as _, Result};

use crate::{sh, steps::Tally};

/// Seconds that making a failing input smaller may take.
const SMALLER: u64 = 60;
/// Of a failing input so many bytes are shown.
const SHOWN: usize = 512;

pub struct Target {
    pub name: &'static str,
    /// Longest input, bytes.
    pub max_len: usize,
    /// There is a list of words that inputs are made of.
    pub words: bool,
}

impl Target {
    /// Runs it for so long. An input that fails is made smaller, shown, and counts as a failure.
    pub fn run(&self, programs: &Path, folder: &Path, seconds: u64) -> Result<Tally> {
        let corpus = made(&folder.join("corpus").join(self.name))?;
        let failing = made(&folder.join("failing").join(self.name))?;
        let began = SystemTime::now();
        let mut command = self.command(programs)?;
        command.arg(format!("-max_total_time={seconds}")).arg(prefix(&failing));
        if self.words {
            command.arg(format!("-dict={}", folder.join("seeds").join(format!("{}.dict", self.name)).display()));
        }
        command.arg(&corpus).arg(folder.join("seeds").join(self.name));
        // What it found before is kept for the next time; the newest inputs are the last lines of this.
        let done = run(&mut command)?;
        if done {
            return Ok(Tally::PASSED);
        }
        match newest(&failing, began)? {
            Some(input) => self.tell(programs, &input)?,
            None => println!("`{}` ended badly without an input to show for it", self.name),
        }
        Ok(Tally::FAILED)
    }

    /// Gives it one input.
    pub fn replay(&self, programs: &Path, input: &Path) -> Result<Tally> {
        Ok(if run(self.command(programs)?.arg(input))? { Tally::PASSED } else { Tally::FAILED })
    }

    fn command(&self, programs: &Path) -> Result<Command> {
        let mut command = sh::command(programs.join(self.name))?;
        command.args(["-timeout=25", "-rss_limit_mb=3072", "-print_final_stats=1", "-print_funcs=0", "-verbosity=0"]);
        command.arg(format!("-max_len={}", self.max_len));
        // As cargo-fuzz starts them: what is linked twice is no fault.
        command.env("ASAN_OPTIONS", "detect_odr_violation=0");
        Ok(command)
    }

    fn tell(&self, programs: &Path, input: &Path) -> Result<()> {
        let smaller = self.smaller(programs, input)?;
        let bytes = fs::read(&smaller).with_context(|| format!("failed to read `{}`", smaller.display()))?;
        println!("`{}` fails on {} bytes: {}", self.name, bytes.len(), smaller.display());
        if bytes.len() <= SHOWN {
            print!("{}", hexdump(&bytes));
        }
        println!("replay: cargo xtask fuzz --target {} --replay {}", self.name, smaller.display());
        Ok(())
    }

    /// The smallest input that was found to fail as well, else the first.
    fn smaller(&self, programs: &Path, input: &Path) -> Result<PathBuf> {
        let smaller = input.with_extension("smaller");
        let mut command = self.command(programs)?;
        command.arg("-minimize_crash=1").arg(format!("-max_total_time={SMALLER}"));
        command.arg(format!("-exact_artifact_path={}", smaller.display())).arg(input);
        // It tells every step at length, and its status says nothing.
        sh::output(&mut command).ok();
        Ok(if smaller.is_file() { smaller } else { input.to_owned() })
    }
}

/// Whether a program ended well; nothing is wrong with one that did not.
fn run(command: &mut Command) -> Result<bool> {
    sh::tee(command, |_| ())
}

fn made(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    Ok(folder.to_owned())
}

/// Where libFuzzer puts what fails.
fn prefix(folder: &Path) -> String {
    format!("-artifact_prefix={}/", folder.display())
}

/// The input that has come last since then.
fn newest(folder: &Path, since: SystemTime) -> Result<Option<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))?;
    let times = entries.flatten().filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
    Ok(times.filter(|(time, _)| *time >= since).max().map(|(_, path)| path))
}

/// Sixteen bytes a line, with what they are as text.
fn hexdump(bytes: &[u8]) -> String {
    let line = |(at, line): (usize, &[u8])| {
        let hex: String = line.iter().map(|byte| format!("{byte:02x} ")).collect();
        let text: String = line.iter().map(|byte| if (32..127).contains(byte) { *byte as char } else { '.' }).collect();
        format!("  {:04x}  {hex:<48} {text}\n", at * 16)
    };
    bytes.chunks(16).enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hexdump_has_every_byte_and_its_place() {
        let bytes: Vec<u8> = (b'A'..b'A' + 18).collect();
        let text = hexdump(&bytes);
        assert_eq!(text.lines().count(), 2);
        assert!(text.starts_with("  0000  41 42 ") && text.contains(" ABCDEFGHIJKLMNOP\n"), "{text}");
        assert!(text.ends_with("  0010  51 52                                            QR\n"), "{text}");
    }

    #[test]
    fn the_input_that_came_last_is_the_one_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(newest(folder.path(), SystemTime::UNIX_EPOCH).unwrap(), None);
        fs::write(folder.path().join("crash-1"), "x").unwrap();
        assert!(newest(folder.path(), SystemTime::UNIX_EPOCH).unwrap().unwrap().ends_with("crash-1"));
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert_eq!(newest(folder.path(), later).unwrap(), None);
    }
}
