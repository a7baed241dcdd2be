//! Recordings without their names, for verbs that read them.

use std::{
    fs::OpenOptions,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use tempfile::TempDir;

use super::args;
use crate::redact::{Redactor, rewrite};

/// Recordings on their way to a reader: as they are, or rewritten in a folder that goes with this.
pub(super) struct Redacted {
    pub paths: Vec<PathBuf>,
    _folder: Option<TempDir>,
}

/// Without names if that is asked for, all of them under the same key.
pub(super) fn of(paths: &[PathBuf], asked: bool) -> anyhow::Result<Redacted> {
    if !asked {
        return Ok(Redacted { paths: paths.to_vec(), _folder: None });
    }
    let redactor = args::redactor()?;
    let folder = tempfile::tempdir().context("failed to make a folder for recordings without names")?;
    let one = |(at, path): (usize, &PathBuf)| rewritten(path, &folder.path().join(at.to_string()), &redactor);
    let paths = paths.iter().enumerate().map(one).collect::<anyhow::Result<_>>()?;
    Ok(Redacted { paths, _folder: Some(folder) })
}

/// Under its own name, which is told, in a folder of its own.
fn rewritten(path: &Path, folder: &Path, redactor: &Redactor) -> anyhow::Result<PathBuf> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let made = folder.join(name);
    std::fs::create_dir(folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&made);
    let file = file.with_context(|| format!("failed to make `{}`", made.display()))?;
    rewrite(path, file, redactor).with_context(|| path.display().to_string())?;
    Ok(made)
}
