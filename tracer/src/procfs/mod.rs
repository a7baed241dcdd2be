//! What /proc and the cgroup file systems say of processes: which one is meant, and where it runs. Never how many descriptors
//! it has.
//!
//! Every function takes the folder below which `proc`, `sys/fs/cgroup`, `var/lib` and `run` stand: `/` on a machine, a made one
//! in a test. Nothing that is read is trusted: processes choose their own names.

mod cgroup;
mod container;
mod facts;
mod names;
mod namespace;
mod stat;

pub use cgroup::{Cgroup, cgroups_of, id_of, ids_of};
pub use container::{container_in, container_of};
pub use facts::Facts;
pub use names::Names;
pub use namespace::{NotHost, check as check_namespace, may_be_inside, ns_pids};
pub use stat::{Stat, pids};

use std::path::{Path, PathBuf};

/// A file of one process.
fn file(root: &Path, pid: u32, name: &str) -> PathBuf {
    root.join("proc").join(pid.to_string()).join(name)
}

#[cfg(test)]
pub(crate) mod testing {
    //! A made machine: the files of its processes in a folder.

    use std::{fs, os::unix::fs::symlink, path::Path};

    /// A folder that has what [`super`] reads.
    pub(crate) struct Machine(tempfile::TempDir);

    /// A process of it.
    #[derive(Clone, Copy)]
    pub(crate) struct Made<'a> {
        pub pid: u32,
        pub comm: &'a str,
        pub exe: &'a str,
        pub argv: &'a [&'a str],
        pub uid: u32,
        pub cgroup: &'a str,
        pub ns_pids: &'a [u32],
        pub state: char,
    }

    impl Default for Made<'_> {
        fn default() -> Self {
            Made { pid: 1, comm: "init", exe: "", argv: &[], uid: 0, cgroup: "0::/\n", ns_pids: &[], state: 'S' }
        }
    }

    impl Machine {
        pub(crate) fn new() -> Self {
            Self(tempfile::TempDir::new().unwrap())
        }

        pub(crate) fn root(&self) -> &Path {
            self.0.path()
        }

        pub(crate) fn write(&self, path: &str, text: &str) {
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        pub(crate) fn process(&self, made: Made<'_>) {
            let Made { pid, comm, exe, argv, uid, cgroup, ns_pids, state } = made;
            let of = |name: &str| format!("proc/{pid}/{name}");
            self.write(&of("comm"), &format!("{comm}\n"));
            self.write(&of("cmdline"), &argv.iter().flat_map(|word| [*word, "\0"]).collect::<String>());
            self.write(&of("cgroup"), cgroup);
            let inside = ns_pids.iter().map(|pid| format!("\t{pid}")).collect::<String>();
            self.write(
                &of("status"),
                &format!("Name:\t{comm}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pid}{inside}\n"),
            );
            let rest = "0 ".repeat(17);
            self.write(&of("stat"), &format!("{pid} ({comm}) {state} 1 {rest}{} 0\n", pid * 100));
            if !exe.is_empty() {
                symlink(exe, self.root().join(of("exe"))).unwrap();
            }
        }
    }
}
