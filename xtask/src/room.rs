//! Room on the disk of the target folder, before hours are spent on filling it; and what keeps the folder small.

use std::{
    ffi::CString,
    fs,
    mem::MaybeUninit,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::Path,
};

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// What `cargo xtask test` puts into the target folder of a fresh clone, bytes: the sizes of all that cargo's list of units names,
/// of the fuzz targets, of kernels and of Python's packages, with some room.
const WHOLE: u64 = 6_500_000_000;
/// What it needs in any case, for what changes and for what tests write.
const LEAST: u64 = 1_500_000_000;

/// Says how much is needed and how much there is.
pub fn check() -> Result<()> {
    let target = sh::target()?;
    fs::create_dir_all(&target).with_context(|| format!("failed to make `{}`", target.display()))?;
    let (used, free) = (size(&target.join("debug")), free(&target)?);
    let needed = needed(used);
    let folder = target.display();
    println!("{folder}: {} used, about {} more needed, {} free", gb(used), gb(needed), gb(free));
    if free < needed {
        bail!(
            "the disk of `{folder}` has {} free, and `cargo xtask test` needs about {}: free {} there, for example with \
             `cargo clean` for what an older build left, or name a folder on another disk with CARGO_TARGET_DIR",
            gb(free),
            gb(needed),
            gb(needed - free)
        );
    }
    Ok(())
}

/// Beyond what is there, of which most will be used again.
fn needed(used: u64) -> u64 {
    WHOLE.saturating_sub(used).max(LEAST)
}

/// Whether this folder has builds of ours that go on where the last one stopped. Where it has none nobody is at work, and what such
/// builds would keep (several gigabytes) is for nobody.
pub fn builds_go_on() -> bool {
    let folder = sh::target().map(|target| target.join("debug/incremental"));
    let entries = folder.and_then(|folder| Ok(fs::read_dir(folder)?));
    entries.into_iter().flatten().flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("fdtide-"))
}

/// Bytes free for this user.
fn free(folder: &Path) -> Result<u64> {
    let path = CString::new(folder.as_os_str().as_bytes()).context("a folder with a zero in its name")?;
    let mut found = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: a path that ends with a zero, and a place for the result, of which zeros are a value.
    let found = unsafe {
        if libc::statvfs(path.as_ptr(), found.as_mut_ptr()) != 0 {
            return Err(std::io::Error::last_os_error()).context("failed to look at the disk");
        }
        found.assume_init()
    };
    Ok(found.f_bavail * found.f_frsize)
}

/// Bytes on the disk below a folder; a file with several names counts once more for each.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.metadata().ok()?, entry.path())))
        .map(|(found, path)| if found.is_dir() { size(&path) } else { found.blocks() * 512 / found.nlink().max(1) })
        .sum()
}

fn gb(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_needs_no_room_again() {
        assert_eq!(needed(0), WHOLE);
        assert_eq!(needed(WHOLE / 2), WHOLE / 2);
        assert_eq!(needed(2 * WHOLE), LEAST);
    }

    #[test]
    fn sizes_are_those_of_files_and_a_disk_has_some_room() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/file"), vec![1; 100_000]).unwrap();
        fs::hard_link(folder.path().join("below/file"), folder.path().join("again")).unwrap();
        let found = size(folder.path());
        assert!((100_000..130_000).contains(&found), "{found}");
        assert!(free(folder.path()).unwrap() > 0);
        assert!(free(&folder.path().join("gone")).is_err());
    }
}
