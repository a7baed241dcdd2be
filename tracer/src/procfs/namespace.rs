//! PID namespaces: a process has an id in its own and in each one above, up to the machine's.

use std::{fs, path::Path};

use super::file;

/// Inode of the machine's own PID namespace (`PROC_PID_INIT_INO`, include/linux/proc_ns.h, v6.12).
const HOST: &str = "pid:[4026531836]";

/// Why fdtide can't tell which process is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotHost {
    /// The kernel counts processes otherwise than this process sees them.
    #[error(
        "fdtide runs in a PID namespace of its own (`{0}`), and the kernel tells processes by their ids outside: start its \
         container with the machine's PID namespace (`--pid=host`; in Kubernetes `hostPID: true`)"
    )]
    Inner(String),
    /// No /proc, or that of another namespace.
    #[error(
        "`/proc` does not show fdtide itself: mount the procfs of the PID namespace that fdtide runs in (`mount -t proc proc \
         /proc`)"
    )]
    NoProc,
}

/// Whether ids mean the same here and in the kernel.
///
/// # Errors
///
/// When they don't.
pub fn check(root: &Path) -> Result<(), NotHost> {
    let own = fs::read_link(root.join("proc/self/ns/pid")).map_err(|_| NotHost::NoProc)?;
    let own = own.to_string_lossy();
    if own == HOST { Ok(()) } else { Err(NotHost::Inner(own.into_owned())) }
}

/// Whether a process may have other ids than the machine's: not if it is in the machine's own namespace, which costs less to see than
/// its ids.
#[must_use]
pub fn may_be_inside(root: &Path, pid: u32) -> bool {
    fs::read_link(file(root, pid, "ns/pid")).map_or(true, |namespace| namespace.as_os_str() != HOST)
}

/// The ids of a process, the machine's first and its own last; empty if it has gone.
#[must_use]
pub fn ns_pids(root: &Path, pid: u32) -> Vec<u32> {
    let status = fs::read(file(root, pid, "status")).unwrap_or_default();
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"NSpid:"));
    let words = line.unwrap_or_default().split(u8::is_ascii_whitespace);
    words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::procfs::testing::{Machine, Made};

    #[test]
    fn a_process_has_an_id_in_every_namespace_down_to_its_own() {
        let machine = Machine::new();
        machine.process(Made { pid: 4242, ns_pids: &[17, 1], ..Made::default() });
        assert_eq!(ns_pids(machine.root(), 4242), [4242, 17, 1]);
        assert!(ns_pids(machine.root(), 1).is_empty());
    }

    #[test]
    fn a_namespace_of_ones_own_is_told_with_what_to_do() {
        let machine = Machine::new();
        assert_eq!(check(machine.root()), Err(NotHost::NoProc));
        machine.write("proc/self/ns/x", "");
        symlink("pid:[4026532000]", machine.root().join("proc/self/ns/pid")).unwrap();
        let told = check(machine.root()).unwrap_err().to_string();
        assert!(told.contains("hostPID") && told.contains("4026532000"), "{told}");
    }

    #[test]
    fn who_is_in_the_machines_own_namespace_has_one_id() {
        let machine = Machine::new();
        for (pid, namespace, inside) in
            [(10, Some(HOST), false), (11, Some("pid:[4026532000]"), true), (12, None, true)]
        {
            machine.process(Made { pid, ..Made::default() });
            let link = file(machine.root(), pid, "ns/pid");
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            if let Some(namespace) = namespace {
                symlink(namespace, &link).unwrap();
            }
            assert_eq!(may_be_inside(machine.root(), pid), inside, "{namespace:?}");
        }
    }
}
