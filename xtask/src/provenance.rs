//! What the kernel object was made of: the record that stands beside it.

use std::{fs, io::Write as _, path::Path, process::Command, process::Stdio};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::{sh, toolchain::Toolchain};

/// Contents of `tracer/bpf/toolchain.json`.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Record {
    /// SHA-256 of the object, in hex.
    pub object: String,
    /// SHA-256 over the sums and names of the kernel program's sources, in hex.
    pub sources: String,
    /// Two builds from the same sources give the same bytes when these agree.
    pub toolchain: Versions,
    /// `name version` of every crate that goes in, procedural macros included.
    pub crates: Vec<String>,
}

/// The versions of the programs that took part.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Versions {
    /// Machine that the object's register accesses are for, as `uname -m` says it.
    pub arch: String,
    pub rustc: String,
    pub rustc_llvm: String,
    pub bpf_linker: String,
    /// LLVM of the packages around the linker, as its `llvm-strip` says.
    pub llvm: String,
    /// Compiler flags, without the path remapping.
    pub flags: Vec<String>,
}

impl Versions {
    /// Asks each program.
    pub fn of(toolchain: &Toolchain, flags: &[String]) -> Result<Self> {
        let verbose = sh::output(Command::new(&toolchain.rustc).arg("-vV"))?;
        let strip = sh::output(Command::new(&toolchain.strip).arg("--version"))?;
        let linker = sh::output(Command::new(&toolchain.linker).arg("--version"))?;
        Ok(Self {
            arch: std::env::consts::ARCH.to_owned(),
            rustc: verbose.lines().next().unwrap_or_default().to_owned(),
            rustc_llvm: after(&verbose, "LLVM version: "),
            bpf_linker: after(&linker, "bpf-linker "),
            llvm: after(&strip, "LLVM version "),
            flags: flags.to_vec(),
        })
    }
}

impl Versions {
    /// What differs, as `name: ours, not theirs`; empty when nothing does.
    pub fn difference(&self, other: &Self) -> String {
        let text = |flags: &[String]| flags.join(" ");
        [
            ("machine", self.arch.clone(), other.arch.clone()),
            ("rustc", self.rustc.clone(), other.rustc.clone()),
            ("its LLVM", self.rustc_llvm.clone(), other.rustc_llvm.clone()),
            ("bpf-linker", self.bpf_linker.clone(), other.bpf_linker.clone()),
            ("LLVM", self.llvm.clone(), other.llvm.clone()),
            ("flags", text(&self.flags), text(&other.flags)),
        ]
        .into_iter()
        .filter(|(_, ours, theirs)| ours != theirs)
        .map(|(name, ours, theirs)| format!("{name}: {ours}, not {theirs}"))
        .collect::<Vec<_>>()
        .join("; ")
    }
}

/// SHA-256 of a file, in hex.
pub fn sha256(file: &Path) -> Result<String> {
    let line = sh::output(Command::new("sha256sum").arg(file))?;
    Ok(first_word(&line))
}

/// One sum over everything in `tracer-ebpf/`, by name and content.
pub fn sources() -> Result<String> {
    let root = sh::root()?;
    let mut files = Vec::new();
    list(&root.join("tracer-ebpf"), &mut files)?;
    let mut names: Vec<_> = files.iter().filter_map(|file| file.strip_prefix(&root).ok()).collect();
    names.sort();
    let sums = sh::output(sh::command("sha256sum")?.args(names))?;
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start `sha256sum`")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(sums.as_bytes()).context("failed to write to `sha256sum`")?;
    }
    let output = child.wait_with_output().context("failed to wait for `sha256sum`")?;
    Ok(first_word(&String::from_utf8_lossy(&output.stdout)))
}

/// `name version` of every crate in the kernel program, sorted.
pub fn crates() -> Result<Vec<String>> {
    let tree = sh::output(&mut sh::cargo(&[
        "tree",
        "--package=fdtide-ebpf",
        "--features=kernel",
        "--target=bpfel-unknown-none",
        "--edges=normal",
        "--prefix=none",
    ])?)?;
    let mut crates: Vec<_> = tree.lines().filter_map(crate_line).collect();
    crates.sort();
    crates.dedup();
    Ok(crates)
}

/// `aya-ebpf v0.2.1 (proc-macro)` becomes `aya-ebpf 0.2.1`.
pub fn crate_line(line: &str) -> Option<String> {
    let (name, rest) = line.split_once(" v")?;
    Some(format!("{name} {}", rest.split_whitespace().next()?))
}

fn list(folder: &Path, files: &mut Vec<std::path::PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("failed to list `{}`", folder.display()))?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn first_word(line: &str) -> String {
    line.split_whitespace().next().unwrap_or_default().to_owned()
}

/// What follows `label` on the first line that has it.
fn after(text: &str, label: &str) -> String {
    text.lines().find_map(|line| line.split_once(label)).map(|(_, rest)| rest.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_gives_name_and_version() {
        assert_eq!(crate_line("aya-ebpf v0.2.1").as_deref(), Some("aya-ebpf 0.2.1"));
        assert_eq!(crate_line("syn v2.0.1 (proc-macro) (*)").as_deref(), Some("syn 2.0.1"));
        assert_eq!(crate_line(""), None);
    }

    #[test]
    fn only_what_differs_is_named() {
        let ours = Versions {
            arch: "x86_64".to_owned(),
            rustc: "rustc 1.96.0".to_owned(),
            rustc_llvm: "22.1.8".to_owned(),
            bpf_linker: "0.13.0".to_owned(),
            llvm: "22.1.8".to_owned(),
            flags: vec!["-Ctarget-cpu=v3".to_owned()],
        };
        let theirs = Versions { bpf_linker: "0.12.0".to_owned(), flags: Vec::new(), ..ours.clone() };
        assert_eq!(ours.difference(&theirs), "bpf-linker: 0.13.0, not 0.12.0; flags: -Ctarget-cpu=v3, not ");
        assert_eq!(ours.difference(&ours), "");
    }

    #[test]
    fn a_label_gives_the_rest_of_its_line() {
        assert_eq!(after("x\n  Debian LLVM version 22.1.8\ny", "LLVM version "), "22.1.8");
        assert_eq!(after("x", "LLVM version "), "");
    }
}
