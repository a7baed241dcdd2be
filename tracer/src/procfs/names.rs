//! Names of containers, from the files that the runtimes keep on the machine: no daemon is asked.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::event::{Container, Name};

/// Longest file that is read, bytes.
const LONGEST: u64 = 4 << 20;
/// Names kept; more containers than a machine runs at a time.
const KEPT: usize = 4096;

/// Where podman lists its containers: those that stay, those of `--rm`, and of those too where its storage is transient
/// (`newContainerStore`, containers.go, containers/storage).
const PODMAN: [&str; 3] = [
    "var/lib/containers/storage/overlay-containers/containers.json",
    "var/lib/containers/storage/overlay-containers/volatile-containers.json",
    "run/containers/storage/overlay-containers/volatile-containers.json",
];

/// Looks names up, each container's once.
#[derive(Clone, Debug)]
pub struct Names {
    root: PathBuf,
    known: HashMap<Name, Option<Name>>,
}

impl Names {
    /// For the machine below this folder.
    #[must_use]
    pub fn new(root: &Path) -> Names {
        Names { root: root.to_owned(), known: HashMap::new() }
    }

    /// The container with its name, if there is a file that tells it.
    #[must_use]
    pub fn fill(&mut self, container: Container) -> Container {
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        let name = match self.known.get(&container.id) {
            Some(name) => name.clone(),
            None => {
                let name = find(&self.root, &container);
                self.known.insert(container.id.clone(), name.clone());
                name
            }
        };
        Container { name, ..container }
    }
}

fn find(root: &Path, container: &Container) -> Option<Name> {
    // Ids are hexadecimal digits, and nothing else becomes part of a path.
    let id =
        std::str::from_utf8(container.id.as_bytes()).ok().filter(|id| id.bytes().all(|b| b.is_ascii_hexdigit()))?;
    match container.runtime.as_str() {
        "docker" => docker(root, id),
        "podman" => podman(root, id),
        "cri-o" => crio(root, id),
        "containerd" => containerd(root, id),
        "kubernetes" => containerd(root, id).or_else(|| crio(root, id)).or_else(|| docker(root, id)),
        _ => None,
    }
}

fn json(path: &Path) -> Option<Value> {
    let length = fs::metadata(path).ok()?.len();
    (length <= LONGEST).then(|| fs::read(path).ok()).flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// Docker begins a name with a slash.
fn docker(root: &Path, id: &str) -> Option<Name> {
    let value = json(&root.join("var/lib/docker/containers").join(id).join("config.v2.json"))?;
    Some(Name::from(text(&value, "Name")?.trim_start_matches('/')))
}

fn podman(root: &Path, id: &str) -> Option<Name> {
    let listed = |list: &str| {
        let all = json(&root.join(list))?;
        let own = all.as_array()?.iter().find(|entry| text(entry, "id") == Some(id))?;
        own.get("names")?.get(0)?.as_str().map(Name::from)
    };
    PODMAN.into_iter().find_map(listed)
}

fn crio(root: &Path, id: &str) -> Option<Name> {
    let bundle = root.join("run/containers/storage/overlay-containers").join(id).join("userdata/config.json");
    let keys = ["io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name"];
    annotated(&bundle, keys)
}

/// containerd keeps a folder for each of its namespaces.
fn containerd(root: &Path, id: &str) -> Option<Name> {
    let spaces = fs::read_dir(root.join("run/containerd/io.containerd.runtime.v2.task")).ok()?;
    let keys =
        ["io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name"];
    spaces.flatten().find_map(|space| {
        let bundle = space.path().join(id).join("config.json");
        annotated(&bundle, keys).or_else(|| annotated(&bundle, ["", "", "nerdctl/name"]))
    })
}

/// The values of these annotations of a bundle, with slashes between; without the last one there is no name.
fn annotated(bundle: &Path, keys: [&str; 3]) -> Option<Name> {
    let value = json(bundle)?;
    let notes = value.get("annotations")?;
    let last = text(notes, keys[2])?;
    let parts: Vec<&str> = keys[..2].iter().filter_map(|key| text(notes, key)).chain([last]).collect();
    Some(Name::from(parts.join("/").as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::testing::Machine;

    const A: &str = "3fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9";

    fn name(machine: &Machine, runtime: &str) -> Option<String> {
        let container = Container { runtime: runtime.to_owned(), id: Name::from(A), name: None };
        Names::new(machine.root()).fill(container).name.map(|name| name.to_string())
    }

    #[test]
    fn every_runtime_keeps_names_in_its_own_way() {
        let machine = Machine::new();
        assert_eq!(name(&machine, "docker"), None);
        machine.write(&format!("var/lib/docker/containers/{A}/config.v2.json"), r#"{"Name":"/web","ID":"x"}"#);
        let list = format!(r#"[{{"id":"0","names":["no"]}},{{"id":"{A}","names":["api"]}}]"#);
        machine.write("var/lib/containers/storage/overlay-containers/containers.json", &list);
        machine.write(
            &format!("run/containers/storage/overlay-containers/{A}/userdata/config.json"),
            r#"{"annotations":{"io.kubernetes.pod.namespace":"prod","io.kubernetes.pod.name":"web-1","io.kubernetes.container.name":"nginx"}}"#,
        );
        let bundle = format!("run/containerd/io.containerd.runtime.v2.task/default/{A}/config.json");
        machine.write(&bundle, r#"{"annotations":{"nerdctl/name":"db"}}"#);
        assert_eq!(name(&machine, "docker").as_deref(), Some("web"));
        assert_eq!(name(&machine, "podman").as_deref(), Some("api"));
        assert_eq!(name(&machine, "cri-o").as_deref(), Some("prod/web-1/nginx"));
        assert_eq!(name(&machine, "containerd").as_deref(), Some("db"));
        assert_eq!(name(&machine, "lxc"), None);
    }

    #[test]
    fn containers_of_podman_that_go_with_their_end_have_lists_of_their_own() {
        for list in PODMAN {
            let machine = Machine::new();
            // The list of the others is there too, as it always is.
            machine.write(PODMAN[0], r#"[{"id":"0","names":["no"]}]"#);
            machine.write(list, &format!(r#"[{{"id":"{A}","names":["once"]}}]"#));
            assert_eq!(name(&machine, "podman").as_deref(), Some("once"), "{list}");
        }
    }

    #[test]
    fn a_damaged_file_gives_no_name() {
        let machine = Machine::new();
        machine.write(&format!("var/lib/docker/containers/{A}/config.v2.json"), r#"{"Name":7"#);
        assert_eq!(name(&machine, "docker"), None);
    }
}
