//! Everything that a process can be named by, each read when it is asked for.

use std::{
    cell::OnceCell,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{Cgroup, cgroups_of, file, ns_pids};
use crate::event::Name;

/// Words of a command line that are read: an interpreter, its options and the script.
const WORDS: usize = 4;
/// Longest part of a command line that is looked at, bytes.
const LONGEST: u64 = 8192;

/// One process. What can't be read, because it has gone, is empty.
#[derive(Debug)]
pub struct Facts<'a> {
    root: &'a Path,
    pid: u32,
    comm: OnceCell<Name>,
    exe: OnceCell<Option<PathBuf>>,
    words: OnceCell<Vec<Vec<u8>>>,
    uid: OnceCell<Option<u32>>,
    cgroups: OnceCell<Vec<Cgroup>>,
    path: Option<Name>,
}

impl<'a> Facts<'a> {
    /// Of the process with this id now.
    #[must_use]
    pub fn of(root: &'a Path, pid: u32) -> Facts<'a> {
        Facts {
            root,
            pid,
            comm: OnceCell::new(),
            exe: OnceCell::new(),
            words: OnceCell::new(),
            uid: OnceCell::new(),
            cgroups: OnceCell::new(),
            path: None,
        }
    }

    /// Of a process whose exec the kernel has told, with its name and the path that was handed to exec: that counts when the
    /// process has gone.
    #[must_use]
    pub fn told(root: &'a Path, pid: u32, comm: Name, path: Name) -> Facts<'a> {
        Facts { comm: OnceCell::from(comm), path: Some(path), ..Facts::of(root, pid) }
    }

    /// As [`Self::told`], of a process that has gone, so that nothing is read of another one with its id.
    #[must_use]
    pub fn gone(root: &'a Path, pid: u32, comm: Name, path: Name) -> Facts<'a> {
        Facts {
            exe: OnceCell::from(None),
            words: OnceCell::from(Vec::new()),
            uid: OnceCell::from(None),
            cgroups: OnceCell::from(Vec::new()),
            ..Facts::told(root, pid, comm, path)
        }
    }

    /// Its id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its name, at most 15 bytes.
    #[must_use]
    pub fn comm(&self) -> &Name {
        self.comm.get_or_init(|| {
            let text = fs::read(file(self.root, self.pid, "comm")).unwrap_or_default();
            Name::from_bytes(text.strip_suffix(b"\n").unwrap_or(&text))
        })
    }

    /// The program's file; of one that has gone the path that was handed to exec.
    #[must_use]
    pub fn exe(&self) -> Option<&Path> {
        let read = || {
            let link = fs::read_link(file(self.root, self.pid, "exe")).ok()?;
            // The kernel says so of a file that has been unlinked or replaced.
            let bytes = link.as_os_str().as_bytes();
            let bare = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
            Some(PathBuf::from(std::ffi::OsStr::from_bytes(bare)))
        };
        self.exe.get_or_init(read).as_deref().or_else(|| self.path())
    }

    /// The path that was handed to exec, where the kernel told it.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_ref().map(|path| Path::new(std::ffi::OsStr::from_bytes(path.as_bytes())))
    }

    /// The first words of its command line.
    #[must_use]
    pub fn words(&self) -> &[Vec<u8>] {
        self.words.get_or_init(|| {
            use std::io::Read as _;
            let mut text = Vec::new();
            let read = fs::File::open(file(self.root, self.pid, "cmdline"))
                .and_then(|file| file.take(LONGEST).read_to_end(&mut text));
            if read.is_err() || text.is_empty() {
                return Vec::new();
            }
            text.split(|byte| *byte == 0).take(WORDS).map(<[u8]>::to_vec).collect()
        })
    }

    /// Its real user.
    #[must_use]
    pub fn uid(&self) -> Option<u32> {
        *self.uid.get_or_init(|| {
            let status = fs::read(file(self.root, self.pid, "status")).ok()?;
            let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"))?;
            std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse().ok()
        })
    }

    /// Its cgroups.
    #[must_use]
    pub fn cgroups(&self) -> &[Cgroup] {
        self.cgroups.get_or_init(|| cgroups_of(self.root, self.pid))
    }

    /// Its ids in the namespaces below this one, its own last.
    #[must_use]
    pub fn inner_pids(&self) -> Vec<u32> {
        ns_pids(self.root, self.pid).into_iter().skip(1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::testing::{Machine, Made};

    #[test]
    fn everything_that_names_a_process_is_read() {
        let machine = Machine::new();
        machine.process(Made {
            pid: 7,
            comm: "a b",
            exe: "/opt/x/tool (deleted)",
            argv: &["tool", "--flag", "run.py", "4", "5"],
            uid: 1000,
            ns_pids: &[3],
            ..Made::default()
        });
        let facts = Facts::of(machine.root(), 7);
        assert_eq!(
            (facts.comm(), facts.exe(), facts.uid()),
            (&Name::from("a b"), Some(Path::new("/opt/x/tool")), Some(1000))
        );
        assert_eq!(facts.words(), ["tool", "--flag", "run.py", "4"].map(|word| word.as_bytes().to_vec()));
        assert_eq!((facts.inner_pids(), facts.cgroups().len()), (vec![3], 1));
    }

    #[test]
    fn of_a_process_that_has_gone_what_the_kernel_told_is_left() {
        let machine = Machine::new();
        let facts = Facts::gone(machine.root(), 7, Name::from("true"), Name::from("/bin/true"));
        assert_eq!((facts.comm(), facts.exe()), (&Name::from("true"), Some(Path::new("/bin/true"))));
        assert!(facts.words().is_empty() && facts.uid().is_none() && facts.cgroups().is_empty());
    }
}
