//! The Debian package: the same tree with a control file, built by dpkg-deb.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{
    Inputs, date,
    stage::{self, For},
};
use crate::sh;

const DESCRIPTION: &str = "eBPF descriptor tracer with exact high-water marks per exec
 fdtide follows the descriptor tables of a live process tree in the Linux
 kernel and tells, per exec, how many descriptors were open at most, what they
 pointed to, and how much room was left below the limit.
 .
 It needs Linux 6.1 or later with BTF, and root or CAP_BPF and CAP_PERFMON.
";

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: fdtide
Comment: The program is linked with crates that are listed with the texts of
 their licences in THIRD-PARTY.gz, and as SPDX in fdtide.spdx.json.gz.

Files: *
Copyright: AUTHORS
License: MIT or Apache-2.0

Files: tracer/bpf/*
Copyright: AUTHORS
License: MIT or GPL-2
Comment: The kernel object, which is inside the program.

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

License: GPL-2
 On Debian systems the text is in /usr/share/common-licenses/GPL-2.

License: MIT
";

/// An address that no machine has (RFC 2606).
const NOBODY: &str = "fdtide@fdtide.invalid";

/// The agent's unit.
pub const UNIT: &str = "fdtide-agent.service";
/// The agent's configuration, from `deploy`; dpkg keeps what the administrator made of it.
pub const CONFIG: &str = "etc/fdtide/agent.toml";
/// What dpkg runs, from `deploy/debian`.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Builds `fdtide_VERSION-REVISION_ARCH.deb` in `out`.
pub fn package(inputs: &Inputs, work: &Path, out: &Path, revision: u32) -> Result<PathBuf> {
    let version = format!("{}-{revision}", inputs.version);
    let root = work.join(format!("deb-{revision}"));
    stage::tree(inputs, work, &root.join("usr"), For::Debian)?;
    let authors = inputs.crates.tool()?.authors.join(", ");
    let maintainer = maintainer(&authors, env::var("DEBFULLNAME").ok(), env::var("DEBEMAIL").ok());
    let doc = root.join("usr/share/doc/fdtide");
    write(&doc.join("copyright"), &copyright(&format!("{} {authors}", date(inputs.epoch, "+%Y")?))?)?;
    let time = date(inputs.epoch, "+%a, %d %b %Y %T +0000")?;
    let entry = format!(
        "fdtide ({version}) unstable; urgency=medium\n\n  * Version {}; changelog.gz says what is new.\n\n \
         -- {maintainer}  {time}\n",
        inputs.version,
    );
    write(&doc.join("changelog.Debian"), &entry)?;
    stage::gzip(&doc.join("changelog.Debian"))?;
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control).context("failed to create the control folder")?;
    let mut installed = Vec::new();
    list(&root.join("usr"), &mut installed)?;
    installed.sort();
    write(&control.join("md5sums"), &md5sums(&root, &installed)?)?;
    service(&root, &control)?;
    write(&control.join("control"), &control_file(inputs, &version, &maintainer, &installed, work)?)?;
    stage::settle(&root, inputs.epoch)?;
    let file = out.join(format!("fdtide_{version}_{}.deb", arch(&inputs.program.triple)));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.env("SOURCE_DATE_EPOCH", inputs.epoch.to_string())
        // With several threads xz cuts its input into blocks.
        .env("DPKG_DEB_THREADS_MAX", "1");
    sh::output(dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&file))?;
    Ok(file)
}

/// Whoever gives the package away, by the variables of Debian's own tools. Without them there is nobody to write to.
fn maintainer(authors: &str, name: Option<String>, address: Option<String>) -> String {
    format!("{} <{}>", name.unwrap_or_else(|| authors.to_owned()), address.unwrap_or_else(|| NOBODY.to_owned()))
}

/// Configuration and scripts.
fn service(root: &Path, control: &Path) -> Result<()> {
    let deploy = sh::root()?.join("deploy");
    let read = |file: &Path| fs::read_to_string(file).with_context(|| format!("failed to read `{}`", file.display()));
    let config = root.join(CONFIG);
    fs::create_dir_all(config.parent().unwrap_or(root)).context("failed to create the configuration's folder")?;
    write(&config, &read(&deploy.join("agent.toml"))?)?;
    write(&control.join("conffiles"), &format!("/{CONFIG}\n"))?;
    for name in SCRIPTS {
        let to = control.join(name);
        write(&to, &read(&deploy.join("debian").join(name))?)?;
        fs::set_permissions(&to, Permissions::from_mode(0o755)).context("failed to set a script's mode")?;
    }
    Ok(())
}

fn control_file(
    inputs: &Inputs,
    version: &str,
    maintainer: &str,
    installed: &[PathBuf],
    work: &Path,
) -> Result<String> {
    let mut kib = 0;
    for file in installed {
        kib += fs::metadata(file).context("failed to look at a file")?.len().div_ceil(1024);
    }
    let mut text = format!(
        "Package: fdtide\nVersion: {version}\nArchitecture: {}\nMaintainer: {maintainer}\nInstalled-Size: {kib}\n",
        arch(&inputs.program.triple)
    );
    // `useradd` for the agent's user; certificates for stores, collectors and posts with TLS.
    text += "Depends: passwd";
    if !inputs.program.is_static() {
        text += &format!(", {}", libraries(&[&inputs.program.file, &inputs.program.fleet], work)?);
    }
    text += "\nRecommends: ca-certificates\nSection: admin\nPriority: optional\n";
    Ok(text + "Description: " + DESCRIPTION)
}

/// What dpkg-shlibdeps says of the programs: `libc6 (>= 2.34), …`.
fn libraries(programs: &[&Path], work: &Path) -> Result<String> {
    let source = work.join("source");
    fs::create_dir_all(source.join("debian")).context("failed to create a folder for dpkg-shlibdeps")?;
    write(&source.join("debian/control"), "Source: fdtide\n\nPackage: fdtide\nArchitecture: any\n")?;
    let mut command = Command::new("dpkg-shlibdeps");
    command.current_dir(&source).arg("-O");
    for program in programs {
        command.arg("-e").arg(program);
    }
    let text = sh::output(&mut command)?;
    let depends = text.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    Ok(depends.context("dpkg-shlibdeps names no library")?.to_owned())
}

/// Debian's name of a machine's architecture.
fn arch(triple: &str) -> &str {
    match triple.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        other => other.unwrap_or(triple),
    }
}

fn copyright(authors: &str) -> Result<String> {
    let text = fs::read_to_string(sh::root()?.join("LICENSE-MIT")).context("failed to read `LICENSE-MIT`")?;
    let mit = text.trim().lines().map(|line| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") });
    Ok(COPYRIGHT.replace("AUTHORS", authors) + &mit.collect::<String>())
}

/// As dpkg keeps them: paths from the root, without the slash.
fn md5sums(root: &Path, files: &[PathBuf]) -> Result<String> {
    let names = files.iter().filter_map(|file| file.strip_prefix(root).ok());
    sh::output(Command::new("md5sum").current_dir(root).args(names)).map(|text| text + "\n")
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))? {
        let path = entry.with_context(|| format!("failed to list `{}`", folder.display()))?.path();
        if path.is_dir() { list(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("failed to write `{}`", file.display()))?;
    fs::set_permissions(file, Permissions::from_mode(0o644)).context("failed to set a file's mode")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maintainer_is_whoever_the_variables_name() {
        assert_eq!(maintainer("us", None, None), "us <fdtide@fdtide.invalid>");
        let named = maintainer("us", Some("A B".into()), Some("a@b.example".into()));
        assert_eq!(named, "A B <a@b.example>");
    }

    #[test]
    fn architectures_have_debians_names() {
        assert_eq!(arch("x86_64-unknown-linux-gnu"), "amd64");
        assert_eq!(arch("aarch64-unknown-linux-musl"), "arm64");
        assert_eq!(arch("riscv64gc-unknown-linux-gnu"), "riscv64gc");
    }
}
