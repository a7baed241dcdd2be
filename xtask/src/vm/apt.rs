//! Debian's kernels, through an apt with folders of its own: nothing of this machine's apt is changed, signatures are
//! checked by apt, and the mirrors are those that this machine uses already.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::kernels::Kernel;
use crate::sh;

/// What boots the guests: program, Debian package.
const TOOLS: [(&str, &str); 3] =
    [("qemu-system-x86_64", "qemu-system-x86"), ("busybox", "busybox-static"), ("strip", "binutils")];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Depends on the concrete kernel of a suite.
const META_PACKAGE: &str = "linux-image-cloud-amd64";

/// Installs the tools that are not there.
pub fn install_missing() -> Result<()> {
    let missing: Vec<_> = TOOLS.iter().filter(|(program, _)| sh::which(program).is_none()).map(|tool| tool.1).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if sh::which("apt-get").is_none() || sh::output(Command::new("id").arg("-u"))? != "0" {
        bail!("missing: run `apt-get install {}` as root", missing.join(" "));
    }
    sh::run(Command::new("apt-get").args(["--quiet", "update"]))?;
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive").args(["--quiet", "install", "--yes", "--no-install-recommends"]);
    sh::run(apt.args(missing))
}

/// Fetches the kernel's image to `folder`'s `<name>/vmlinuz` if it is not there.
pub fn fetch(kernel: &Kernel, folder: &Path) -> Result<()> {
    let folder = folder.join(kernel.name);
    let image = folder.join("vmlinuz");
    if image.is_file() {
        println!("cached     {}", fs::read_to_string(folder.join("packages")).unwrap_or_default().trim());
        return Ok(());
    }
    if sh::which("apt-get").is_none() || !Path::new(KEYRING).is_file() {
        bail!("Debian's kernels are fetched with apt and checked with `{KEYRING}`; this machine lacks one of them");
    }
    let apt = Apt::new(&folder.join("apt"), kernel.suites)?;
    let packages = apt.kernel_packages()?;
    println!("fetching   {}", packages.join(" "));
    let unpacked = apt.unpack(&packages)?;
    let found = find_image(&unpacked)?.with_context(|| format!("no kernel image in {}", packages.join(", ")))?;
    fs::write(folder.join("packages"), packages.join(" ")).context("failed to note the kernel's packages")?;
    // The image comes last: it is what says that the cache is complete. The rest, modules above all, is not needed.
    fs::rename(&found, &image).with_context(|| format!("failed to move `{}`", found.display()))?;
    fs::remove_dir_all(&apt.root).context("failed to remove apt's private folder")
}

/// An apt that has its state in `root`.
struct Apt {
    root: PathBuf,
}

impl Apt {
    fn new(root: &Path, suites: &[&str]) -> Result<Self> {
        let apt = Self { root: root.to_owned() };
        // What an interrupted run left behind.
        if root.exists() {
            fs::remove_dir_all(root).context("failed to clear apt's private folder")?;
        }
        for folder in ["lists/partial", "cache/archives/partial", "state", "none", "debs", "unpacked"] {
            fs::create_dir_all(root.join(folder)).context("failed to create apt's private folder")?;
        }
        let sources = sources(suites, &mirrors()?)?;
        let at = |name: &str| root.join(name).display().to_string();
        let config = format!(
            "Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"{none}\";\nDir::Etc::preferences \"{none}\";\n\
             Dir::Etc::preferencesparts \"{none}\";\nDir::State \"{}\";\nDir::State::lists \"{}\";\n\
             Dir::State::status \"{}\";\nDir::Cache \"{}\";\nAcquire::Languages \"none\";\n",
            at("sources.list"),
            at("state"),
            at("lists"),
            at("status"),
            at("cache"),
            none = at("none"),
        );
        for (name, text) in [("sources.list", sources.as_str()), ("status", ""), ("apt.conf", &config)] {
            fs::write(root.join(name), text).with_context(|| format!("failed to write apt's `{name}`"))?;
        }
        sh::output(&mut apt.command("apt-get", &["update", "--error-on=any"]))?;
        Ok(apt)
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.root.join("apt.conf")).current_dir(self.root.join("debs")).args(args);
        command
    }

    /// The package that stands for the newest kernel, and those below it that may hold the image.
    fn kernel_packages(&self) -> Result<Vec<String>> {
        let mut packages = vec![META_PACKAGE.to_owned()];
        let mut next = 0;
        while let Some(package) = packages.get(next) {
            let record = sh::output(&mut self.command("apt-cache", &["show", "--no-all-versions", package]))?;
            for name in kernel_dependencies(&record) {
                if !packages.contains(&name) {
                    packages.push(name);
                }
            }
            next += 1;
        }
        packages.remove(0);
        Ok(packages)
    }

    fn unpack(&self, packages: &[String]) -> Result<PathBuf> {
        let names: Vec<_> = packages.iter().map(String::as_str).collect();
        sh::output(self.command("apt-get", &["download"]).args(names))?;
        let unpacked = self.root.join("unpacked");
        for file in fs::read_dir(self.root.join("debs")).context("failed to list the packages")? {
            let file = file.context("failed to list the packages")?.path();
            sh::output(Command::new("dpkg-deb").arg("-x").arg(file).arg(&unpacked))?;
        }
        Ok(unpacked)
    }
}

/// A line for each index of this machine's apt: label of the archive, its address.
fn mirrors() -> Result<String> {
    let indexes = || {
        let format = ["indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages", "Origin: Debian"];
        sh::output(Command::new("apt-get").args(format))
    };
    let known = indexes()?;
    if !known.is_empty() {
        return Ok(known);
    }
    // Labels are known only once there are lists.
    sh::run(Command::new("apt-get").args(["--quiet", "update"]))?;
    indexes()
}

/// This machine's mirror of Debian.
pub fn mirror() -> Result<String> {
    find(&mirrors()?, "Debian").map(str::to_owned).context("this machine's apt knows no mirror of Debian")
}

fn find<'a>(mirrors: &'a str, label: &str) -> Option<&'a str> {
    mirrors.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(' '))
}

/// The sources list for `suites`.
fn sources(suites: &[&str], mirrors: &str) -> Result<String> {
    let mut sources = String::new();
    for suite in suites {
        let security = suite.ends_with("-security");
        match find(mirrors, if security { "Debian-Security" } else { "Debian" }) {
            Some(uri) => sources += &format!("deb [arch=amd64 signed-by={KEYRING}] {uri} {suite} main\n"),
            // Not every machine uses the security archive; the main archive's kernel serves as well.
            None if security => {}
            None => bail!("this machine's apt knows no mirror of Debian"),
        }
    }
    Ok(sources)
}

/// Dependencies that are parts of the same kernel: `linux-image-…`, or `linux-binary-…` where the image lives apart.
fn kernel_dependencies(record: &str) -> Vec<String> {
    let lines = record.lines().filter_map(|line| line.strip_prefix("Depends: "));
    let names = lines.flat_map(|line| line.split([',', '|'])).filter_map(|part| part.split_whitespace().next());
    let ours = |name: &&str| {
        name.ends_with("-cloud-amd64") && (name.starts_with("linux-image-") || name.starts_with("linux-binary-"))
    };
    names.filter(ours).map(str::to_owned).collect()
}

/// `/boot/vmlinuz-…`, or `/usr/lib/modules/…/vmlinuz`.
fn find_image(folder: &Path) -> Result<Option<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("failed to list `{}`", folder.display()))?;
        let (path, kind) = (entry.path(), entry.file_type().context("failed to look at a file")?);
        if kind.is_file() && entry.file_name().to_string_lossy().starts_with("vmlinuz") {
            return Ok(Some(path));
        }
        if kind.is_dir()
            && let Some(found) = find_image(&path)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_use_the_mirrors_of_this_machine() {
        let mirrors = "Debian http://a.example/debian/\nDebian-Security http://b.example/s/\nDebian http://c.example/";
        let suites = ["bookworm", "bookworm-security"];
        let want = format!(
            "deb [arch=amd64 signed-by={KEYRING}] http://a.example/debian/ bookworm main\n\
             deb [arch=amd64 signed-by={KEYRING}] http://b.example/s/ bookworm-security main\n"
        );
        assert_eq!(sources(&suites, mirrors).unwrap(), want);
    }

    #[test]
    fn without_a_security_archive_the_main_one_serves() {
        let sources_of = |mirrors| sources(&["bullseye", "bullseye-security"], mirrors);
        assert_eq!(sources_of("Debian http://a.example/").unwrap().lines().count(), 1);
        assert!(sources_of("Debian-Security http://b.example/").is_err());
    }

    #[test]
    fn only_parts_of_the_kernel_are_followed() {
        let record = "Package: linux-image-7.2.13+deb14-cloud-amd64\n\
            Depends: dracut | linux-initramfs-tool, linux-base-7.2.13+deb14-cloud-amd64 (= 7.2.13-1), \
            linux-binary-7.2.13+deb14-cloud-amd64 (= 7.2.13-1), linux-modules-7.2.13+deb14-cloud-amd64 (= 7.2.13-1)\n\
            Recommends: linux-image-other-cloud-amd64\n";
        assert_eq!(kernel_dependencies(record), ["linux-binary-7.2.13+deb14-cloud-amd64"]);
    }
}
