//! Which container a process is in: the name of its cgroup says it, for every runtime in a form of its own.

use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path},
};

use super::{Names, cgroup::cgroups_of};
use crate::event::{Container, Name};

/// How runtimes begin the name of a container's cgroup, before the id: under systemd, and for some under cgroupfs too.
const PREFIXES: &[(&str, &str)] = &[
    ("docker-", "docker"),
    ("cri-containerd-", "containerd"),
    ("nerdctl-", "containerd"),
    ("crio-", "cri-o"),
    ("libpod-", "podman"),
];
/// Folders that stand above bare ids.
const PARENTS: &[(&str, &str)] = &[("docker", "docker"), ("libpod_parent", "podman"), ("buildkit", "docker")];
/// Digits of an id.
const ID: usize = 64;

/// The container of a process. None for one in no container, in one that its cgroup does not tell, or one that has gone.
#[must_use]
pub fn container_of(root: &Path, pid: u32) -> Option<Container> {
    container_in(&cgroups_of(root, pid)).map(|container| Names::new(root).fill(container))
}

/// The container that these cgroups are of, without its name.
#[must_use]
pub fn container_in(cgroups: &[super::Cgroup]) -> Option<Container> {
    cgroups.iter().find_map(|cgroup| from_path(&cgroup.path))
}

/// The innermost container on a path: containers may hold others.
fn from_path(path: &Path) -> Option<Container> {
    let mut above: &[u8] = b"";
    let mut in_pod = false;
    let mut found = None;
    for part in path.components() {
        let Component::Normal(part) = part else { continue };
        let part = part.as_bytes();
        if let Some((runtime, id)) = one(part, above, in_pod) {
            found = Some(Container { runtime: runtime.to_owned(), id: Name::from_bytes(id), name: None });
        }
        in_pod |= part.starts_with(b"kubepods");
        above = part;
    }
    found
}

/// What one part of a path says, below the part `above`.
fn one<'a>(part: &'a [u8], above: &[u8], in_pod: bool) -> Option<(&'static str, &'a [u8])> {
    let bare = part.strip_suffix(b".scope").unwrap_or(part);
    if is_id(bare) {
        let parent = PARENTS.iter().find(|(folder, _)| folder.as_bytes() == above);
        let unknown = if in_pod { "kubernetes" } else { "containerd" };
        return Some((parent.map_or(unknown, |(_, runtime)| runtime), bare));
    }
    for (prefix, runtime) in PREFIXES {
        if let Some(id) = bare.strip_prefix(prefix.as_bytes()).filter(|id| is_id(id)) {
            return Some((runtime, id));
        }
    }
    // containerd, told to use systemd's names without systemd: `SLICE:PREFIX:ID`.
    let mut split = bare.rsplitn(3, |byte| *byte == b':');
    if let (Some(id), Some(b"cri-containerd"), Some(_)) = (split.next(), split.next(), split.next())
        && is_id(id)
    {
        return Some(("containerd", id));
    }
    let named = |prefix: &[u8]| bare.strip_prefix(prefix).filter(|name| !name.is_empty());
    if part.ends_with(b".scope")
        && let Some(name) = named(b"machine-")
    {
        return Some(("nspawn", name));
    }
    if let Some(name) = named(b"lxc.payload.") {
        return Some(("lxc", name));
    }
    (above == b"lxc" && !bare.is_empty()).then_some(("lxc", bare))
}

fn is_id(text: &[u8]) -> bool {
    text.len() == ID && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9";
    const B: &str = "00a9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fff";

    fn of(path: &str) -> Option<(String, String)> {
        from_path(Path::new(path)).map(|found| (found.runtime, found.id.to_string()))
    }

    #[test]
    fn every_runtime_is_told_by_the_name_of_its_cgroup() {
        let pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_3.slice";
        for (path, runtime) in [
            (format!("/docker/{A}"), "docker"),
            (format!("/system.slice/docker-{A}.scope"), "docker"),
            (format!("/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{A}.scope"), "docker"),
            (format!("{pod}/cri-containerd-{A}.scope"), "containerd"),
            (format!("/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:{A}"), "containerd"),
            (format!("/default/{A}"), "containerd"),
            (format!("/system.slice/nerdctl-{A}.scope"), "containerd"),
            (format!("{pod}/crio-{A}.scope"), "cri-o"),
            (format!("/kubepods/besteffort/pod1/crio-{A}"), "cri-o"),
            (format!("/machine.slice/libpod-{A}.scope/container"), "podman"),
            (format!("/libpod_parent/libpod-{A}"), "podman"),
            (format!("/kubepods/burstable/pod1/{A}"), "kubernetes"),
        ] {
            assert_eq!(of(&path), Some((runtime.to_owned(), A.to_owned())), "{path}");
        }
    }

    #[test]
    fn runtimes_without_ids_give_names() {
        let named = |runtime: &str, name: &str| Some((runtime.to_owned(), name.to_owned()));
        assert_eq!(of("/lxc.payload.web/init.scope"), named("lxc", "web"));
        assert_eq!(of("/lxc/web"), named("lxc", "web"));
        assert_eq!(of("/machine.slice/machine-deb.scope/payload"), named("nspawn", "deb"));
    }

    #[test]
    fn the_innermost_container_counts() {
        assert_eq!(of(&format!("/docker/{A}/docker/{B}")), Some(("docker".to_owned(), B.to_owned())));
        assert_eq!(of(&format!("/docker/{A}/system.slice")), Some(("docker".to_owned(), A.to_owned())));
    }

    #[test]
    fn what_looks_similar_is_no_container() {
        let short = &A[1..];
        for path in [
            "/".to_owned(),
            "/system.slice/docker.service".to_owned(),
            format!("/system.slice/docker-{short}.scope"),
            // The helper that watches a container, outside of it.
            format!("/machine.slice/libpod-conmon-{A}.scope"),
            format!("/kubepods.slice/crio-conmon-{A}.scope"),
            "/machine.slice/machine-.scope".to_owned(),
        ] {
            assert_eq!(of(&path), None, "{path}");
        }
    }

    #[test]
    fn people_read_twelve_digits_of_an_id_and_all_of_a_name() {
        let container = from_path(Path::new(&format!("/docker/{A}"))).unwrap();
        assert_eq!(container.short().to_string(), "3fa9c1d2e4b5");
        assert_eq!(
            from_path(Path::new("/lxc/a-long-name-of-a-machine")).unwrap().short().to_string(),
            "a-long-name-of-a-machine"
        );
    }
}
