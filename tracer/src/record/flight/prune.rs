//! Old dumps, and segments that a killed run has left: the oldest go.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// What dumps may take, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// How many.
    pub count: usize,
    /// Bytes. The newest dump stays in any case.
    pub bytes: u64,
    /// Age, nanoseconds.
    pub age_ns: u64,
}

struct Old {
    path: PathBuf,
    changed_ns: u64,
    bytes: u64,
}

/// Takes away what is beyond the caps. `own` are the segments of this run.
pub(super) fn prune(folder: &Path, own: &Path, caps: &Caps, now_unix_ns: u64) {
    let mut all = match olds(folder, own) {
        Ok(all) => all,
        Err(error) => {
            log::warn!("failed to look for old dumps in `{}`: {error}", folder.display());
            return;
        }
    };
    // Newest first; of two of the same moment the name knows more.
    all.sort_by(|a, b| (b.changed_ns, &b.path).cmp(&(a.changed_ns, &a.path)));
    let mut bytes = 0u64;
    for (at, old) in all.iter().enumerate() {
        bytes = bytes.saturating_add(old.bytes);
        let age_ns = now_unix_ns.saturating_sub(old.changed_ns);
        let beyond = at >= caps.count || bytes > caps.bytes || age_ns > caps.age_ns;
        if beyond && at > 0 {
            remove(&old.path);
        }
    }
}

/// Gives what lies where this run is to have its segments another name, under which it is an old dump like others: a killed run
/// had the same process id, as after the machine was started anew.
pub(super) fn make_way(own: &Path) -> io::Result<()> {
    let Ok(found) = own.metadata() else { return Ok(()) };
    let stem = own.file_stem().unwrap_or_default().to_string_lossy();
    fs::rename(own, own.with_file_name(format!("{stem}-{}.segments", found.mtime())))
}

fn remove(path: &Path) {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Ok(()) => log::info!("removed the old dump `{}`", path.display()),
        Err(error) => log::warn!("failed to remove the old dump `{}`: {error}", path.display()),
    }
}

/// Dumps, and segments of runs that have ended, in a folder.
fn olds(folder: &Path, own: &Path) -> io::Result<Vec<Old>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let Ok(found) = entry.metadata() else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix("fdtide-") else { continue };
        let bytes = match rest.strip_suffix(".segments") {
            Some(pid) if found.is_dir() && path != own && !Path::new("/proc").join(pid).exists() => size(&path)?,
            None if found.is_file() && rest.ends_with(".fdtide") => found.len(),
            _ => continue,
        };
        all.push(Old { path, changed_ns: changed(&found), bytes });
    }
    Ok(all)
}

fn changed(found: &Metadata) -> u64 {
    let seconds = u64::try_from(found.mtime()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec().unsigned_abs())
}

fn size(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata().map_or(0, |found| found.len());
    }
    Ok(bytes)
}
