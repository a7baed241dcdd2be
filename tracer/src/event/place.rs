//! Where a process runs: the container that its cgroup names.

use serde::{Deserialize, Serialize};

use super::{Name, ProcId};

/// A container, as the cgroup of its processes names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Container {
    /// Who made it: `docker`, `containerd`, `cri-o`, `podman`, `lxc`, `nspawn`, or `kubernetes` where the cgroup does not say.
    pub runtime: String,
    /// Its id: 64 hexadecimal digits, or its name where the runtime has no ids.
    pub id: Name,
    /// Its name, where the runtime's files on this machine tell it; in Kubernetes `namespace/pod/container`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
}

/// Digits of an id that people read.
const SHORT: usize = 12;

impl Container {
    /// The id as people write it: its first twelve digits, or all of a name.
    #[must_use]
    pub fn short(&self) -> Name {
        let id = self.id.as_bytes();
        let is_id = id.len() == 64 && id.iter().all(u8::is_ascii_hexdigit);
        Name::from_bytes(if is_id { id.get(..SHORT).unwrap_or(id) } else { id })
    }
}

/// A process was found to be in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Boot time, nanoseconds.
    pub at_ns: u64,
    /// The process. What it forks is in the same container, until another place says otherwise.
    pub process: ProcId,
    /// The container.
    pub container: Container,
}
