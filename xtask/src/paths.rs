//! No file in git may name a folder of a machine, or a package registry's host.

use std::fs;

use anyhow::{Result, bail};

use crate::{sh, steps::Tally};

/// Folders that exist only on somebody's machine.
const FOLDERS: [&str; 5] = [
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/tmp/tar", "get"),
    concat!("/tmp/bash", "_jobs"),
];

/// Hosts that package clients know by themselves.
const HOSTS: [&str; 6] = [
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("deb.debian", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
];

/// (file, text) pairs that are right as they are, each with its reason.
const ALLOWED: [(&str, &str); 0] = [];

pub fn check() -> Result<Tally> {
    if !sh::root()?.join(".git").exists() {
        return Ok(Tally::skipped("not a git clone, so there is no list of files to check for paths"));
    }
    let names = sh::output(sh::command("git")?.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
    let mut hits = Vec::new();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        // A file that is in the index but deleted from the tree is no concern here.
        let Ok(bytes) = fs::read(sh::root()?.join(name)) else { continue };
        for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            if let Some(text) = machine_name(line)
                && !ALLOWED.contains(&(name, text))
            {
                hits.push(format!("{name}:{}: `{text}`", number + 1));
            }
        }
    }
    if !hits.is_empty() {
        bail!("files name this machine:\n  {}", hits.join("\n  "));
    }
    Ok(Tally::PASSED)
}

/// The first forbidden text in a line.
fn machine_name(line: &str) -> Option<&'static str> {
    let folder =
        FOLDERS.into_iter().find(|folder| line.match_indices(folder).any(|(at, _)| starts_a_path(&line[..at])));
    folder.or_else(|| HOSTS.into_iter().find(|host| line.contains(host)))
}

/// `/proc/1/root/etc` is not a path under root's home: what stands before must not be part of a path.
fn starts_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "._-/}>)*~".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_a_machine_is_seen() {
        for line in [
            concat!("cd /ro", "ot/x"),
            concat!("path = \"/wo", "rk/main\""),
            concat!("/tmp/tar", "get-x"),
            concat!("https://static.crates", ".io/x"),
        ] {
            assert!(machine_name(line).is_some(), "{line}");
        }
    }

    #[test]
    fn a_folder_below_another_is_not() {
        for line in [
            concat!("/proc/1/ro", "ot/etc"),
            concat!("{proc}/ro", "ot/etc"),
            concat!("src/wo", "rk/mod.rs"),
            "/tmp/x",
            "crates.io",
        ] {
            assert_eq!(machine_name(line), None, "{line}");
        }
    }
}
