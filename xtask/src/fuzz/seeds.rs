//! What each target begins with: made by an example of the tracer from what is in the tree, and from a real trace where one can be had.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::sh;

/// A shell that opens, forks, execs, comes to its limit and fails, in little time: every kind of record.
const SCRIPT: &str = "exec 3</etc/passwd 4</etc/group 5</dev/null; ls /proc/self/fd | cat >/dev/null; (exec 6</etc/passwd; true); \
                      ulimit -n 5; cat /etc/passwd </dev/null >/dev/null 2>&1; sh -c 'exec 7</etc/passwd' 2>/dev/null; exit 0";

/// Makes them anew in this folder.
pub fn make(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("failed to empty `{}`", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    // Of the whole workspace, as for its tests: of one package other features would be asked for, and every crate built again.
    sh::run(&mut sh::cargo(&["build", "--workspace", "--bins", "--example=fuzz-seeds"])?)?;
    let built = sh::target()?.join("debug");
    let mut recordings = Vec::new();
    for depth in ["records", "events"] {
        match record(&built.join("fdtide"), depth, folder) {
            Ok(path) => recordings.push(path),
            Err(error) => println!("without a real recording ({depth}) among the seeds: {error:#}"),
        }
    }
    sh::run(Command::new(built.join("examples/fuzz-seeds")).arg(folder).args(&recordings))
}

/// A recording of the script, with a census at its end.
fn record(fdtide: &Path, depth: &str, folder: &Path) -> Result<PathBuf> {
    let path = folder.join(format!("{depth}.fdt"));
    let mut run = Command::new(fdtide);
    run.args(["run", "--census", "4", "--depth", depth, "--format", "json", "-o", "/dev/null", "--record"]).arg(&path);
    sh::output(run.args(["--", "sh", "-c", SCRIPT]))?;
    Ok(path)
}
