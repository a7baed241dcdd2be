//! What this process may do, and giving it up.

use std::{io, ptr};

use caps::{CapSet, Capability, CapsHashSet, errors::CapsError};

/// Needed to load programs and to read kernel memory with them.
pub const NEEDED: [Capability; 2] = [Capability::CAP_BPF, Capability::CAP_PERFMON];

/// The effective set.
#[must_use]
pub fn effective() -> CapsHashSet {
    caps::read(None, CapSet::Effective).unwrap_or_default()
}

/// What is needed and not there. CAP_SYS_ADMIN stands for both.
#[must_use]
pub fn missing() -> Vec<Capability> {
    let have = effective();
    if have.contains(&Capability::CAP_SYS_ADMIN) {
        return Vec::new();
    }
    NEEDED.into_iter().filter(|capability| !have.contains(capability)).collect()
}

/// Names, for people.
#[must_use]
pub fn names<'a>(capabilities: impl IntoIterator<Item = &'a Capability>) -> String {
    capabilities.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What a trace keeps to which targets may be added for as long as it runs, whoever it runs as: beside [`NEEDED`] what it takes to
/// see whose program a process of another user is, and to read files of root's that name containers.
/// `deploy/systemd/fdtide-agent.service` gives exactly these.
pub const UNATTENDED: [Capability; 4] =
    [Capability::CAP_BPF, Capability::CAP_PERFMON, Capability::CAP_SYS_PTRACE, Capability::CAP_DAC_READ_SEARCH];

/// What root keeps beside [`UNATTENDED`]: to write results into folders of others, and to end a command that runs as somebody
/// else.
pub const FOR_ROOT: [Capability; 2] = [Capability::CAP_DAC_OVERRIDE, Capability::CAP_KILL];

/// Gives up everything but what an attached trace still needs: reading its maps, looking at tables again after a miss,
/// with `keep_kill` passing signals on to a command, putting the results where `keep_files` says that they are to go, and, with
/// `keep_maps`, seeing what processes have mapped, to name their stacks.
///
/// # Errors
///
/// When the kernel refuses.
pub fn drop_unneeded(keep_kill: bool, keep_files: bool, keep_maps: bool) -> Result<(), CapsError> {
    let mut keep: Vec<Capability> = NEEDED.to_vec();
    if keep_kill {
        keep.push(Capability::CAP_KILL);
    }
    if keep_files {
        keep.push(Capability::CAP_DAC_OVERRIDE);
    }
    if keep_maps {
        keep.extend(UNATTENDED);
    }
    keep_only(&keep).map(drop)
}

/// Gives up what is not in `keep`, in this thread and those that it starts from now on. Gives what is left, which is less than
/// `keep` where less was there.
///
/// # Errors
///
/// When the kernel refuses.
pub fn keep_only(keep: &[Capability]) -> Result<CapsHashSet, CapsError> {
    let have = caps::read(None, CapSet::Permitted)?;
    // Before 5.8 and where the two were not given apart, this one stands for them.
    let mut left: CapsHashSet = keep.iter().copied().filter(|capability| have.contains(capability)).collect();
    if !NEEDED.iter().all(|capability| have.contains(capability)) && have.contains(&Capability::CAP_SYS_ADMIN) {
        left.insert(Capability::CAP_SYS_ADMIN);
    }
    caps::set(None, CapSet::Inheritable, &CapsHashSet::new())?;
    caps::set(None, CapSet::Effective, &left)?;
    caps::set(None, CapSet::Permitted, &left)?;
    Ok(left)
}

/// Becomes this user and group for good, without other groups, and keeps [`UNATTENDED`] of what it had. For a process that
/// was started as root. Other threads that run already become the user too, and keep nothing.
///
/// # Errors
///
/// When the kernel refuses.
pub fn become_user(uid: u32, gid: u32) -> io::Result<CapsHashSet> {
    let done = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: integers only.
    done(unsafe { libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0) })?;
    // SAFETY: a list without entries.
    done(unsafe { libc::setgroups(0, ptr::null()) })?;
    // SAFETY: integers only.
    done(unsafe { libc::setresgid(gid, gid, gid) })?;
    // SAFETY: integers only.
    done(unsafe { libc::setresuid(uid, uid, uid) })?;
    // SAFETY: integers only.
    done(unsafe { libc::prctl(libc::PR_SET_KEEPCAPS, 0, 0, 0, 0) })?;
    keep_only(&UNATTENDED).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_gives_exactly_what_the_agent_keeps() {
        let unit = include_str!("../../../deploy/systemd/fdtide-agent.service");
        for key in ["CapabilityBoundingSet=", "AmbientCapabilities="] {
            let lines: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix(key)).collect();
            assert_eq!(lines.len(), 1, "{key}");
            let given: Vec<Capability> = lines[0].split(' ').map(|name| name.parse().unwrap()).collect();
            assert_eq!(given, UNATTENDED, "{key}");
        }
    }

    #[test]
    fn what_is_needed_is_kept_and_root_keeps_more() {
        assert!(NEEDED.iter().all(|needed| UNATTENDED.contains(needed)));
        assert!(FOR_ROOT.iter().all(|more| !UNATTENDED.contains(more)));
    }
}
