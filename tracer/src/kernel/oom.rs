//! Whether the OOM killer was at work: a process that it ends looks like any other that got SIGKILL.
//!
//! The memory cgroup counts its kills (`memory.events`, hierarchical; Documentation/admin-guide/cgroup-v2.rst, v6.12; version
//! 1: `memory.oom_control`), the whole system its own (`oom_kill` in /proc/vmstat, mm/oom_kill.c, v6.12). Neither says whom.

use std::fs;
use std::path::{Path, PathBuf};

/// Kills since some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OomKills {
    /// How many.
    pub count: u64,
    /// Anywhere in the system; else in the cgroup of the process.
    pub whole_system: bool,
}

/// Where kills are counted for one process, and how many there were at the start.
#[derive(Clone, Debug)]
pub struct OomCounter {
    path: PathBuf,
    whole_system: bool,
    start: u64,
}

impl OomCounter {
    /// The counter of the process's cgroup, or the system's; `None` if there is neither. `proc` and `cgroups` are where procfs
    /// and the cgroup file systems are mounted.
    pub fn of(proc: &Path, cgroups: &Path, pid: u32) -> Option<OomCounter> {
        let own = fs::read_to_string(proc.join(pid.to_string()).join("cgroup")).unwrap_or_default();
        let mut paths: Vec<PathBuf> = own.lines().flat_map(|line| candidates(cgroups, line)).collect();
        paths.push(proc.join("vmstat"));
        paths.into_iter().find_map(|path| {
            let start = read(&path)?;
            Some(OomCounter { whole_system: path.ends_with("vmstat"), path, start })
        })
    }

    /// As [`Self::of`], where procfs and the cgroups usually are.
    pub fn here(pid: u32) -> Option<OomCounter> {
        Self::of(Path::new("/proc"), Path::new("/sys/fs/cgroup"), pid)
    }

    /// Kills since then; `None` once the cgroup has gone.
    pub fn kills(&self) -> Option<OomKills> {
        let count = read(&self.path)?.saturating_sub(self.start);
        Some(OomKills { count, whole_system: self.whole_system })
    }
}

/// Files of the memory controller for one line of `/proc/PID/cgroup`.
fn candidates(cgroups: &Path, line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let below = path.trim_start_matches('/');
    match controllers {
        "" => ["", "unified"].map(|mount| cgroups.join(mount).join(below).join("memory.events")).into(),
        list if list.split(',').any(|name| name == "memory") => {
            vec![cgroups.join("memory").join(below).join("memory.oom_control")]
        }
        _ => Vec::new(),
    }
}

/// The `oom_kill` line of a counter file.
fn read(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_cgroup_counts_its_own_kills() {
        let root = tempfile::TempDir::new().unwrap();
        let (proc, cgroups) = (root.path().join("proc"), root.path().join("cgroup"));
        write(&proc, "7/cgroup", "1:name=systemd:/x\n0::/app.slice/a:b\n");
        write(&cgroups, "app.slice/a:b/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
        let counter = OomCounter::of(&proc, &cgroups, 7).unwrap();
        assert_eq!(counter.kills(), Some(OomKills { count: 0, whole_system: false }));
        write(&cgroups, "app.slice/a:b/memory.events", "oom_kill 3\n");
        assert_eq!(counter.kills(), Some(OomKills { count: 1, whole_system: false }));
        fs::remove_dir_all(&cgroups).unwrap();
        assert_eq!(counter.kills(), None);
    }

    #[test]
    fn without_a_cgroup_the_system_counts() {
        let root = tempfile::TempDir::new().unwrap();
        let (proc, cgroups) = (root.path().join("proc"), root.path().join("cgroup"));
        assert!(OomCounter::of(&proc, &cgroups, 7).is_none());
        write(&proc, "7/cgroup", "0::/\nrubbish\n");
        write(&proc, "vmstat", "oom_kill 40\nnumber 1\n");
        let counter = OomCounter::of(&proc, &cgroups, 7).unwrap();
        assert_eq!(counter.kills(), Some(OomKills { count: 0, whole_system: true }));
    }

    #[test]
    fn version_one_is_read_too() {
        let root = tempfile::TempDir::new().unwrap();
        let (proc, cgroups) = (root.path().join("proc"), root.path().join("cgroup"));
        write(&proc, "7/cgroup", "4:cpu,memory:/a\n");
        write(&cgroups, "memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
        assert!(!OomCounter::of(&proc, &cgroups, 7).unwrap().whole_system);
    }
}
