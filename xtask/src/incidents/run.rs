//! Running fdtide over a fixture: the report beside the fixture's own lines.

use std::{
    fs, io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::sh;

/// A census at crests of so many.
const CENSUS: &str = "900";

/// The built programs, and a folder for what they write.
pub struct Bench {
    programs: PathBuf,
    folder: tempfile::TempDir,
}

/// One run: what was measured, and what the fixture counted itself.
pub struct Ran {
    /// `fdtide.report/1`.
    pub report: Value,
    /// The fixture's lines.
    pub lines: Vec<Value>,
}

impl Bench {
    /// Builds both packages.
    pub fn build(release: bool) -> Result<Self> {
        let mut args = vec!["build", "--package=fdtide", "--package=fdtide-fixtures"];
        args.extend(release.then_some("--release"));
        sh::run(&mut sh::cargo(&args)?)?;
        let programs = sh::target()?.join(if release { "release" } else { "debug" });
        let folder = tempfile::tempdir().context("failed to create a temporary folder")?;
        Ok(Self { programs, folder })
    }

    /// Path of a built program.
    pub fn program(&self, name: &str) -> String {
        self.programs.join(name).to_string_lossy().into_owned()
    }

    /// Path in the temporary folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `fdtide run` over a fixture, which must end with `code`.
    pub fn trace(&self, fixture: &str, args: &[&str], code: i32) -> Result<Ran> {
        let file = self.file("report.json");
        let text = self.run(fixture, args, "json", &file, code)?;
        let report = read(&file)?;
        for (key, what) in [("lost", "records lost"), ("missed", "hook runs missed")] {
            ensure!(report["loss"][key] == 0, "{fixture}: {} {what}", report["loss"][key]);
        }
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Ran { report, lines })
    }

    /// What the text report says of the same run in sentences, and where it tells failures and orphans.
    pub fn said(&self, fixture: &str, args: &[&str], code: i32) -> Result<Vec<String>> {
        let file = self.file("report.txt");
        self.run(fixture, args, "text", &file, code)?;
        Ok(sentences(&fs::read_to_string(&file).context("failed to read the text report")?))
    }

    fn run(&self, fixture: &str, args: &[&str], format: &str, file: &Path, code: i32) -> Result<String> {
        let mut fdtide = sh::command(self.program("fdtide"))?;
        // What the caller left open would be in every count.
        close_inherited(&mut fdtide);
        fdtide
            .args(["run", "--census", CENSUS, "--format", format, "-o"])
            .arg(file)
            .arg("--")
            .arg(self.program(fixture))
            .args(args);
        let output = fdtide.stdin(Stdio::null()).output().context("failed to start fdtide")?;
        if output.status.code() != Some(code) {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("`fdtide run -- {fixture} {}` ended with {}: {}", args.join(" "), output.status, stderr.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// One JSON document of another verb of fdtide, which must end with one of `codes`.
    pub fn verb(&self, args: &[&str], codes: &[i32]) -> Result<Value> {
        let mut fdtide = sh::command(self.program("fdtide"))?;
        close_inherited(&mut fdtide);
        let output = fdtide.args(args).stdin(Stdio::null()).output()?;
        if !output.status.code().is_some_and(|code| codes.contains(&code)) {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("`fdtide {}` ended with {}: {}", args.join(" "), output.status, stderr.trim());
        }
        serde_json::from_slice(&output.stdout).context("failed to parse fdtide's JSON")
    }

    /// The last line of a fixture that runs by itself.
    pub fn alone(&self, fixture: &str, args: &[&str]) -> Result<Value> {
        let mut command = sh::command(self.program(fixture))?;
        close_inherited(&mut command);
        let text = sh::output(command.args(args))?;
        let last = text.lines().last().with_context(|| format!("`{fixture}` told nothing"))?;
        serde_json::from_str(last).context("failed to parse a fixture's line")
    }
}

/// The program gets nothing but its three streams.
fn close_inherited(command: &mut Command) {
    let mark = || {
        // SAFETY: no memory is touched. They are closed at the exec, which `std` needs one of them to report on.
        match unsafe { libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: one system call, which may be made between fork and exec.
    unsafe { command.pre_exec(mark) };
}

/// A file that holds one JSON document.
pub fn read(file: &Path) -> Result<Value> {
    let bytes = fs::read(file).with_context(|| format!("failed to read `{}`", file.display()))?;
    serde_json::from_slice(&bytes).context("failed to parse JSON")
}

impl Ran {
    /// The fixture's line of this step; the last one if there are several.
    pub fn line(&self, step: &str) -> Result<&Value> {
        let line = self.lines.iter().rev().find(|line| line["step"] == step);
        line.with_context(|| format!("the fixture has no line `{step}`"))
    }

    /// The last table that was this process's first.
    pub fn table(&self, pid: &Value) -> Result<&Value> {
        let tables = self.report["tables"].as_array().context("the report has no tables")?;
        let table = tables.iter().rev().find(|table| table["pids"][0] == *pid);
        table.with_context(|| format!("the report has no table of process {pid}"))
    }

    /// Execs of this process.
    pub fn image(&self, pid: &Value) -> Result<&Value> {
        let execs = self.report["execs"].as_array().context("the report has no execs")?;
        let exec = execs.iter().rev().find(|exec| exec["pid"] == *pid);
        exec.map(|exec| &exec["image"]).with_context(|| format!("the report has no exec of process {pid}"))
    }
}

/// How often a call was refused in a table, by name; all together with an empty name.
pub fn refused(table: &Value, syscall: &str) -> u64 {
    let rows = table["failures"].as_array().into_iter().flatten();
    let rows = rows.filter(|row| syscall.is_empty() || row["syscall"] == syscall);
    rows.filter_map(|row| row["count"].as_u64()).sum()
}

/// Prose, and the entries that tell of crests, failures and orphans, each on one line.
fn sentences(text: &str) -> Vec<String> {
    const LABEL: usize = 22;
    const LABELS: [&str; 3] = ["at the crest", "failed", "orphan"];
    let mut said: Vec<String> = Vec::new();
    let (mut open, mut in_prose) = (false, false);
    for line in text.lines() {
        let deep = line.len() - line.trim_start().len();
        let prose = deep == 2 && line.trim_start().starts_with(char::is_uppercase);
        let labelled = deep == 2 && LABELS.iter().any(|label| line[deep..].starts_with(label));
        // An entry goes on in its column, a sentence where it began.
        let on = if in_prose { deep == 2 && !prose && !labelled } else { deep >= LABEL };
        let goes_on = open && !line.trim().is_empty() && on;
        if prose && !goes_on || labelled {
            said.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
            (open, in_prose) = (true, prose);
        } else if goes_on || prose {
            if let Some(last) = said.last_mut() {
                last.push(' ');
                last.push_str(&line.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        } else {
            open = false;
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_failures_and_orphans_are_what_a_report_says() {
        let text = "burst[1]  100 execs of true\n\n  high-water          7 of 9\n  at the crest        7 pipe\n  \
            settled             3\n  failed              EMFILE ×2\n\
            \x20                     first at 0.5 s\n\n  Each exec lifts the table by 990, and it falls back: a burst,\n  \
            not a leak.\n\n  exec  when\n  orphan              x[2] lives on\n";
        let mut said = sentences(text);
        assert_eq!(said.remove(0), "at the crest 7 pipe");
        assert_eq!(said[0], "failed EMFILE ×2 first at 0.5 s");
        assert_eq!(said[1], "Each exec lifts the table by 990, and it falls back: a burst, not a leak.");
        assert_eq!(said[2], "orphan x[2] lives on");
        assert_eq!(said.len(), 3);
    }
}
