//! The crates that are in the program, or were needed to build it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::{provenance::crate_line, sh};

/// One crate.
pub struct Crate {
    pub name: String,
    pub version: String,
    /// An SPDX expression.
    pub licence: String,
    pub authors: Vec<String>,
    /// Where its source is on this machine.
    pub folder: PathBuf,
    /// SHA-256 of what the registry gave; none for our own.
    pub checksum: Option<String>,
    /// Keys of what it needs, and whether only to be built.
    pub needs: BTreeMap<String, bool>,
}

/// All of them, by name and version.
pub struct Crates {
    pub all: BTreeMap<String, Crate>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dep>,
}

#[derive(Deserialize)]
struct Dep {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// None for what is linked.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Crates {
    /// For a platform.
    pub fn of(triple: &str) -> Result<Self> {
        let metadata =
            sh::output(&mut sh::cargo(&["metadata", "--locked", "--format-version=1", "--filter-platform", triple])?)?;
        let metadata: Metadata = serde_json::from_str(&metadata).context("failed to parse `cargo metadata`")?;
        let lock = fs::read_to_string(sh::root()?.join("Cargo.lock")).context("failed to read `Cargo.lock`")?;
        let lock: Lock = toml::from_str(&lock).context("failed to parse `Cargo.lock`")?;
        let key = |name: &str, version: &str| format!("{name} {version}");
        let mut sums: BTreeMap<_, _> =
            lock.package.into_iter().map(|one| (key(&one.name, &one.version), one.checksum)).collect();
        let built = built(triple)?;
        let keys: BTreeMap<_, _> =
            metadata.packages.iter().map(|one| (one.id.as_str(), key(&one.name, &one.version))).collect();
        let mut needs: BTreeMap<_, _> =
            metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node.needs(&keys, &built))).collect();
        let all = metadata.packages.iter().filter_map(|one| {
            let key = keys.get(one.id.as_str()).filter(|key| built.contains(*key))?;
            Some((
                key.clone(),
                Crate {
                    name: one.name.clone(),
                    version: one.version.clone(),
                    // What Cargo took before it took SPDX expressions.
                    licence: one.license.as_deref().unwrap_or("NOASSERTION").replace('/', " OR "),
                    authors: one.authors.clone(),
                    folder: one.manifest_path.parent().map(ToOwned::to_owned).unwrap_or_default(),
                    checksum: sums.remove(key).flatten(),
                    needs: needs.remove(one.id.as_str()).unwrap_or_default(),
                },
            ))
        });
        Ok(Self { all: all.collect() })
    }

    /// The tool itself.
    pub fn tool(&self) -> Result<&Crate> {
        self.all.values().find(|one| one.name == "fdtide").context("`cargo metadata` does not know the tool")
    }
}

impl Node {
    fn needs(&self, keys: &BTreeMap<&str, String>, built: &BTreeSet<String>) -> BTreeMap<String, bool> {
        let deps = self.deps.iter().filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev")));
        deps.filter_map(|dep| {
            let key = keys.get(dep.pkg.as_str()).filter(|key| built.contains(*key))?;
            Some((key.clone(), dep.dep_kinds.iter().all(|kind| kind.kind.is_some())))
        })
        .collect()
    }
}

/// What cargo takes for the two programs, each alone: `cargo metadata` adds what other members of the workspace ask for.
fn built(triple: &str) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for package in ["--package=fdtide", "--package=fdtide-fleet"] {
        let args = ["tree", "--locked", package, "--edges=normal,build", "--prefix=none", "--target"];
        let tree = sh::output(sh::cargo(&args)?.arg(triple))?;
        found.extend(tree.lines().filter_map(crate_line));
    }
    Ok(found)
}
