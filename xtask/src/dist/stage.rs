//! The files as they lie on a machine, and the archive of them.

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result};

use super::{Inputs, crates::Crates, deb, files, sbom};
use crate::sh;

/// Folders of `deploy` that are given out as they are.
const EXAMPLES: [&str; 5] = ["ci", "grafana", "kubernetes", "prometheus", "systemd"];

/// Who lays the files out. They agree on most places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    Archive,
    Debian,
}

/// `fdtide-VERSION-PLATFORM.tar.gz`: one folder to copy to `/usr/local`.
pub fn archive(inputs: &Inputs, work: &Path, out: &Path) -> Result<()> {
    let name = format!("fdtide-{}-{}", inputs.version, inputs.program.platform());
    let parent = work.join("archive");
    tree(inputs, work, &parent.join(&name), For::Archive)?;
    let tar = out.join(format!("{name}.tar"));
    let mtime = format!("--mtime=@{}", inputs.epoch);
    let mut command = Command::new("tar");
    command.args([
        "--sort=name",
        "--format=gnu",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u=rwX,go=rX",
        &mtime,
    ]);
    sh::output(command.arg("-C").arg(&parent).arg("-cf").arg(&tar).arg(&name))?;
    gzip(&tar)
}

/// The program and all that goes with it, below a prefix.
pub fn tree(inputs: &Inputs, work: &Path, prefix: &Path, who: For) -> Result<()> {
    let put = |from: &Path, folder: &str, packed: bool| -> Result<()> {
        let name = from.file_name().context("a file without a name")?;
        let to = prefix.join(folder).join(name);
        fs::create_dir_all(prefix.join(folder)).with_context(|| format!("failed to create `{folder}`"))?;
        fs::copy(from, &to).with_context(|| format!("failed to copy `{}`", from.display()))?;
        let mode = if folder == "bin" { 0o755 } else { 0o644 };
        fs::set_permissions(&to, Permissions::from_mode(mode)).context("failed to set a file's mode")?;
        if packed { gzip(&to) } else { Ok(()) }
    };
    put(&inputs.program.file, "bin", false)?;
    put(&inputs.program.fleet, "bin", false)?;
    for page in files(&work.join("man"))? {
        let section = page.extension().context("a page without a section")?.to_string_lossy().into_owned();
        put(&page, &format!("share/man/man{section}"), true)?;
    }
    let completions = work.join("completions");
    let zsh = if who == For::Debian { "share/zsh/vendor-completions" } else { "share/zsh/site-functions" };
    put(&completions.join("fdtide"), "share/bash-completion/completions", false)?;
    put(&completions.join("_fdtide"), zsh, false)?;
    put(&completions.join("fdtide.fish"), "share/fish/vendor_completions.d", false)?;
    let doc = "share/doc/fdtide";
    let root = sh::root()?;
    for text in files(&root.join("docs"))?.iter().filter(|file| file.extension().is_some_and(|end| end == "md")) {
        put(text, doc, false)?;
    }
    put(&root.join("README.md"), doc, false)?;
    // To copy from, each in its folder: rules, dashboard, DaemonSet, jobs for CI.
    let deploy = root.join("deploy");
    put(&deploy.join("agent.toml"), &format!("{doc}/examples"), false)?;
    for folder in EXAMPLES {
        for file in files(&deploy.join(folder))? {
            put(&file, &format!("{doc}/examples/{folder}"), false)?;
        }
    }
    if who == For::Debian {
        put(&deploy.join("systemd").join(deb::UNIT), "lib/systemd/system", false)?;
        let users = work.join("fdtide.conf");
        fs::copy(deploy.join("systemd/fdtide.sysusers"), &users).context("failed to copy `fdtide.sysusers`")?;
        put(&users, "lib/sysusers.d", false)?;
    }
    put(&work.join(sbom::NAME), doc, true)?;
    let (licences, changes) = (work.join("THIRD-PARTY"), work.join("changelog"));
    fs::write(&licences, third_party(&inputs.crates)?).context("failed to write the licences")?;
    fs::copy(root.join("CHANGELOG.md"), &changes).context("failed to copy the changelog")?;
    put(&licences, doc, true)?;
    put(&changes, doc, true)?;
    if who == For::Archive {
        put(&root.join("LICENSE-MIT"), doc, false)?;
        put(&root.join("LICENSE-APACHE"), doc, false)?;
    }
    Ok(())
}

/// Folders get the usual mode, and everything the time that stands for now.
pub fn settle(folder: &Path, epoch: u64) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))?;
    let set = |path: &Path| -> Result<()> {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(epoch);
        let file = File::open(path).with_context(|| format!("failed to open `{}`", path.display()))?;
        file.set_modified(time).with_context(|| format!("failed to set the time of `{}`", path.display()))
    };
    for entry in entries {
        let path = entry.with_context(|| format!("failed to list `{}`", folder.display()))?.path();
        if path.is_dir() { settle(&path, epoch)? } else { set(&path)? }
    }
    fs::set_permissions(folder, Permissions::from_mode(0o755)).context("failed to set a folder's mode")?;
    set(folder)
}

/// In place, to `FILE.gz`, without name and time.
pub fn gzip(file: &Path) -> Result<()> {
    sh::output(Command::new("gzip").args(["-9", "-n", "-f"]).arg(file)).map(|_| ())
}

/// Every licence text of every crate, each text once.
fn third_party(crates: &Crates) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::from("Crates that fdtide is built with, and the licences that they come under:\n\n");
    for (key, one) in crates.all.iter().filter(|(_, one)| one.checksum.is_some()) {
        list += &format!("  {key}: {}\n", one.licence);
        for file in fs::read_dir(&one.folder).with_context(|| format!("failed to list the source of `{key}`"))? {
            let path = file.with_context(|| format!("failed to list the source of `{key}`"))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            let known = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
            if path.is_file() && known.iter().any(|start| name.starts_with(start)) {
                let text = fs::read(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
                texts.entry(String::from_utf8_lossy(&text).trim().to_owned()).or_default().push(key.clone());
            }
        }
    }
    // By the first crate, not by the text.
    let mut texts: Vec<_> = texts.into_iter().map(|(text, of)| (of, text)).collect();
    texts.sort();
    for (mut of, text) in texts {
        of.dedup();
        list += &format!("\n{}\n{}\n\n{text}\n", "-".repeat(80), of.join(", "));
    }
    Ok(list)
}
