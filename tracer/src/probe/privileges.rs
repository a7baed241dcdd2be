//! What this process may do, and giving it up.

use caps::{CapSet, Capability, CapsHashSet};

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

/// Gives up everything but what an attached trace still needs: reading its maps, looking at tables again after a miss,
/// passing signals on, putting the results where `keep_files` says that they are to go, and, with `keep_maps`, seeing what
/// processes have mapped, to name their stacks.
///
/// # Errors
///
/// When the kernel refuses.
pub fn drop_unneeded(keep_files: bool, keep_maps: bool) -> Result<(), caps::errors::CapsError> {
    let mut keep: Vec<Capability> = NEEDED.to_vec();
    keep.push(Capability::CAP_KILL);
    if keep_files {
        keep.push(Capability::CAP_DAC_OVERRIDE);
    }
    if keep_maps {
        keep.extend([Capability::CAP_SYS_PTRACE, Capability::CAP_DAC_READ_SEARCH]);
    }
    let have = caps::read(None, CapSet::Permitted)?;
    // Before 5.8 and where the two were not given apart, this one stands for them.
    let mut left: CapsHashSet = keep.into_iter().filter(|capability| have.contains(capability)).collect();
    if !NEEDED.iter().all(|capability| have.contains(capability)) && have.contains(&Capability::CAP_SYS_ADMIN) {
        left.insert(Capability::CAP_SYS_ADMIN);
    }
    caps::set(None, CapSet::Inheritable, &CapsHashSet::new())?;
    caps::set(None, CapSet::Effective, &left)?;
    caps::set(None, CapSet::Permitted, &left)
}
