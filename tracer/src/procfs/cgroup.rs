//! Which cgroups a process is in: one in each hierarchy (version 1), one alone (version 2), or both kinds (hybrid).

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use super::file;

/// Where the cgroup file systems are.
const MOUNT: &str = "sys/fs/cgroup";
/// What the kernel appends where the folder has gone (kernel/cgroup/cgroup.c, v6.12).
const DELETED: &[u8] = b" (deleted)";

/// A process's place in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// Controllers of the hierarchy, comma-separated; empty for version 2.
    pub controllers: String,
    /// The cgroup, from the root of the hierarchy.
    pub path: PathBuf,
}

impl Cgroup {
    /// Whether it is this cgroup, or one below. `path` is written from the root of a hierarchy, or as a path of the file
    /// system: then it counts for that hierarchy alone.
    #[must_use]
    pub fn is_in(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(Path::new("/").join(MOUNT)) else { return self.is_below(path) };
        let mut parts = below.components();
        let mount = parts.next().map_or(OsStr::new(""), |part| part.as_os_str());
        // A version 1 hierarchy has a folder of its own, so has version 2 beside it (hybrid).
        if self.mounts().any(|name| OsStr::new(name) == mount) {
            return self.is_below(parts.as_path());
        }
        self.controllers.is_empty() && self.is_below(below)
    }

    fn mounts(&self) -> impl Iterator<Item = &str> {
        let whole = if self.controllers.is_empty() { "unified" } else { &self.controllers };
        let single = self.controllers.split(',').filter(|name| !name.is_empty());
        std::iter::once(whole).chain(single).map(|name| name.strip_prefix("name=").unwrap_or(name))
    }

    fn is_below(&self, path: &Path) -> bool {
        let bare = |path: &Path| -> PathBuf { path.strip_prefix("/").unwrap_or(path).to_path_buf() };
        bare(&self.path).starts_with(bare(path))
    }
}

/// The cgroups of a process; none if it has gone.
#[must_use]
pub fn cgroups_of(root: &Path, pid: u32) -> Vec<Cgroup> {
    fs::read(file(root, pid, "cgroup")).map(|text| parse(&text)).unwrap_or_default()
}

fn parse(text: &[u8]) -> Vec<Cgroup> {
    let line = |line: &[u8]| {
        let mut parts = line.splitn(3, |byte| *byte == b':').skip(1);
        let controllers = String::from_utf8_lossy(parts.next()?).into_owned();
        let path = parts.next()?;
        let path = path.strip_suffix(DELETED).unwrap_or(path);
        Some(Cgroup { controllers, path: PathBuf::from(OsStr::from_bytes(path)) })
    };
    text.split(|byte| *byte == b'\n').filter_map(line).collect()
}

/// Where version 2 is mounted: alone, or beside version 1. It alone has this file at the root of its mount.
fn unified(root: &Path) -> Option<PathBuf> {
    let mount = root.join(MOUNT);
    [mount.clone(), mount.join("unified")].into_iter().find(|at| at.join("cgroup.controllers").exists())
}

/// Cgroups below the root that are looked at; more than machines have.
const CGROUPS: usize = 100_000;

/// The kernel's identities of the version 2 cgroups that `fits` says yes to, from outside in: what is below one of them is not
/// looked at.
#[must_use]
pub fn ids_of(root: &Path, mut fits: impl FnMut(&Cgroup) -> bool) -> Vec<u64> {
    let Some(mount) = unified(root) else { return Vec::new() };
    let (mut ids, mut waiting, mut seen) = (Vec::new(), vec![PathBuf::from("/")], 0);
    while let Some(path) = waiting.pop() {
        seen += 1;
        if seen > CGROUPS {
            break;
        }
        let folder = mount.join(path.strip_prefix("/").unwrap_or(&path));
        let cgroup = Cgroup { controllers: String::new(), path };
        if fits(&cgroup) {
            ids.extend(fs::metadata(&folder).ok().map(|found| found.ino()));
            continue;
        }
        let below = fs::read_dir(&folder).into_iter().flatten().flatten();
        let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(below.map(|entry| cgroup.path.join(entry.file_name())));
    }
    ids
}

/// The kernel's identity of a version 2 cgroup: the inode of its folder. None if there is no such folder now, or only one of
/// version 1.
#[must_use]
pub fn id_of(root: &Path, path: &Path) -> Option<u64> {
    let below = path.strip_prefix(Path::new("/").join(MOUNT)).unwrap_or(path);
    let below = below.strip_prefix("/").unwrap_or(below);
    let below = below.strip_prefix("unified").unwrap_or(below);
    fs::metadata(unified(root)?.join(below)).ok().filter(fs::Metadata::is_dir).map(|folder| folder.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::testing::{Machine, Made};

    #[test]
    fn every_hierarchy_of_a_process_is_read() {
        let machine = Machine::new();
        let cgroup = "9:name=systemd:/a.slice\n4:cpu,cpuacct:/docker/x:y\n0::/a.slice/b (deleted)\nrubbish\n";
        machine.process(Made { pid: 7, cgroup, ..Made::default() });
        let found = cgroups_of(machine.root(), 7);
        let text: Vec<_> = found.iter().map(|at| (at.controllers.as_str(), at.path.to_str().unwrap())).collect();
        assert_eq!(text, [("name=systemd", "/a.slice"), ("cpu,cpuacct", "/docker/x:y"), ("", "/a.slice/b")]);
        assert!(cgroups_of(machine.root(), 8).is_empty());
    }

    #[test]
    fn a_cgroup_is_named_from_its_hierarchy_or_from_the_file_system() {
        let unified = Cgroup { controllers: String::new(), path: PathBuf::from("/web.slice/a.service/x") };
        for path in
            ["/web.slice", "web.slice/a.service", "/sys/fs/cgroup/web.slice", "/sys/fs/cgroup/unified/web.slice", "/"]
        {
            assert!(unified.is_in(Path::new(path)), "{path}");
        }
        // Neither a part of a name, nor another hierarchy.
        for path in ["/web", "/a.service", "/sys/fs/cgroup/memory/web.slice"] {
            assert!(!unified.is_in(Path::new(path)), "{path}");
        }
        let old = Cgroup { controllers: "cpu,cpuacct".to_owned(), path: PathBuf::from("/docker/1") };
        assert!(old.is_in(Path::new("/sys/fs/cgroup/cpu/docker")) && old.is_in(Path::new("/docker/1")));
        assert!(!old.is_in(Path::new("/sys/fs/cgroup/docker")));
    }

    #[test]
    fn the_kernels_identity_is_the_inode_of_a_version_two_folder() {
        let machine = Machine::new();
        assert_eq!(id_of(machine.root(), Path::new("/a")), None);
        for at in ["sys/fs/cgroup/unified", "sys/fs/cgroup/unified/a", "sys/fs/cgroup/memory/b"] {
            machine.write(&format!("{at}/cgroup.procs"), "");
        }
        machine.write("sys/fs/cgroup/unified/cgroup.controllers", "");
        let inode = fs::metadata(machine.root().join("sys/fs/cgroup/unified/a")).unwrap().ino();
        for path in ["/a", "a", "/sys/fs/cgroup/unified/a"] {
            assert_eq!(id_of(machine.root(), Path::new(path)), Some(inode), "{path}");
        }
        assert_eq!(id_of(machine.root(), Path::new("/b")), None);
        machine.write("sys/fs/cgroup/unified/x/a/cgroup.procs", "");
        let below = fs::metadata(machine.root().join("sys/fs/cgroup/unified/x/a")).unwrap().ino();
        let mut ids = ids_of(machine.root(), |cgroup| cgroup.path.ends_with("a"));
        ids.sort_unstable();
        let mut expected = [inode, below];
        expected.sort_unstable();
        assert_eq!(ids, expected);
    }
}
