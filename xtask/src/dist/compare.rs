//! Two folders, byte by byte.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail};

use super::files;

/// Fails with the names of the files that differ.
pub fn same(one: &Path, other: &Path) -> Result<()> {
    let names = |folder: &Path| -> Result<Vec<_>> {
        Ok(files(folder)?.iter().filter_map(|file| file.file_name().map(ToOwned::to_owned)).collect())
    };
    let (ours, theirs) = (names(one)?, names(other)?);
    if ours != theirs {
        bail!("not the same files: {ours:?} and {theirs:?}");
    }
    let read = |file: &Path| fs::read(file).with_context(|| format!("failed to read `{}`", file.display()));
    let mut different = Vec::new();
    for name in &ours {
        if read(&one.join(name))? != read(&other.join(name))? {
            different.push(name.to_string_lossy());
        }
    }
    if !different.is_empty() {
        bail!("not the same bytes: {}", different.join(", "));
    }
    println!("{} files, the same bytes twice", ours.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_is_named() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (folder, text) in [(&one, "a"), (&other, "b")] {
            fs::write(folder.path().join("same"), "x").unwrap();
            fs::write(folder.path().join("other"), text).unwrap();
        }
        assert_eq!(same(one.path(), other.path()).unwrap_err().to_string(), "not the same bytes: other");
        assert!(same(one.path(), one.path()).is_ok());
        fs::write(one.path().join("more"), "").unwrap();
        assert!(same(one.path(), other.path()).unwrap_err().to_string().starts_with("not the same files"));
    }
}
