//! The life of the package in a fresh Debian: installed, run, upgraded, purged, nothing left.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{
    Inputs, deb,
    service::{self, Who},
};
use crate::{sh, steps::Tally, vm::apt};

/// What dpkg itself leaves of any package, its log and the last status but one; what `useradd` leaves of any user, the files of users as they
/// were before; and what we put there.
const NOT_OURS: [&str; 8] = [
    "/var/lib/dpkg/status-old",
    "/var/log/dpkg.log",
    "/etc/passwd-",
    "/etc/shadow-",
    "/etc/group-",
    "/etc/gshadow-",
    "/etc/.pwd.lock",
    "/tmp/",
];
/// What an administrator has changed in the configuration.
const CHANGE: &str = "# ours\n";
/// `sh -c THIS - ROOT COMMAND…`: in namespaces of its own, so that no mount outlives it.
const INSIDE: &str = r#"
root=$1
shift
mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && exec chroot "$root" "$@""#;

/// A fresh Debian in a folder.
pub struct Debian {
    /// Its root.
    pub folder: PathBuf,
}

pub fn run(inputs: &Inputs, out: &Path, dist: &Path) -> Result<Tally> {
    if let Some(reason) = missing() {
        return Ok(Tally::skipped(&reason));
    }
    let temp = tempfile::Builder::new().prefix("fdtide-debian").tempdir().context("failed to create a folder")?;
    let debian = match Debian::make(&temp.path().join("root"), dist) {
        Ok(debian) => debian,
        Err(error) => return Ok(Tally::skipped(&format!("no Debian can be had: {error:#}"))),
    };
    // The same program as a later revision of the package.
    let work = temp.path().join("work");
    fs::create_dir_all(&work).context("failed to create a folder")?;
    inputs.parts(&work)?;
    let higher = deb::package(inputs, &work, temp.path(), 2)?;
    let first = higher.file_name().context("a package without a name")?.to_string_lossy().replace("-2_", "-1_");
    debian.life(inputs, &out.join(first), &higher)?;
    Ok(Tally::PASSED)
}

fn missing() -> Option<String> {
    if sh::output(Command::new("id").arg("-u")).ok().as_deref() != Some("0") {
        return Some("only root can make a fresh Debian".to_owned());
    }
    for (program, package) in
        [("debootstrap", "debootstrap"), ("dpkg-shlibdeps", "dpkg-dev"), ("unshare", "util-linux")]
    {
        if sh::which(program).is_none() {
            return Some(format!("run `apt-get install {package}`"));
        }
    }
    None
}

impl Debian {
    /// The suite of this machine, whose C library the package was made for; packages are kept for the next time.
    fn make(folder: &Path, dist: &Path) -> Result<Self> {
        let release = fs::read_to_string("/etc/os-release").context("failed to read `/etc/os-release`")?;
        let value = |key: &str| release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        ensure!(value("ID") == Some("debian"), "this machine runs another distribution, with a C library of its own");
        let suite = value("VERSION_CODENAME").context("`/etc/os-release` has no suite")?;
        let cache = dist.join("debootstrap");
        fs::create_dir_all(&cache).context("failed to create a folder for packages")?;
        let mut command = Command::new(sh::which("debootstrap").context("no debootstrap")?);
        command.arg("--variant=minbase").arg(format!("--cache-dir={}", cache.display())).arg(suite);
        let mirror = apt::mirror()?;
        println!("debootstrap {suite} …");
        sh::output(command.arg(folder).arg(mirror))?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn life(&self, inputs: &Inputs, first: &Path, higher: &Path) -> Result<()> {
        let (before, users) = (self.files()?, self.users()?);
        self.install(first)?;
        self.tool(inputs, "-1")?;
        service::not_enabled(self)?;
        if self.looks(inputs)? {
            service::agent(self, Who::Unit)?;
            service::agent(self, Who::Pod)?;
        }
        println!("installed: {}", first.display());
        service::enable(self)?;
        let config = self.folder.join(deb::CONFIG);
        let text = fs::read_to_string(&config).context("failed to read the configuration")? + CHANGE;
        fs::write(&config, &text).context("failed to change the configuration")?;
        self.install(higher)?;
        self.tool(inputs, "-2")?;
        service::enabled(self)?;
        ensure!(fs::read_to_string(&config).ok() == Some(text), "the upgrade took the administrator's configuration");
        println!("upgraded: {}", higher.display());
        self.inside(&["dpkg", "--remove", "fdtide"])?;
        ensure!(config.is_file(), "removed, and the configuration went with it");
        self.inside(&["dpkg", "--purge", "fdtide"])?;
        let after = self.files()?;
        let left: Vec<_> = after.symmetric_difference(&before).collect();
        ensure!(left.is_empty(), "purged, and yet there are differences: {left:?}");
        ensure!(self.users()? == users, "purged, and its user is still there");
        let known = self.inside(&["dpkg-query", "--show", "fdtide"]);
        ensure!(known.is_err(), "purged, and dpkg still knows it");
        println!("purged: {} files and folders, and the users, as before", after.len());
        Ok(())
    }

    fn users(&self) -> Result<String> {
        self.inside(&["cat", "/etc/passwd", "/etc/group"])
    }

    /// Whether the kernel lets fdtide look: where it does not, it does not from inside either.
    fn looks(&self, inputs: &Inputs) -> Result<bool> {
        if sh::output(Command::new(&inputs.program.file).arg("doctor")).is_err() {
            println!("this kernel does not let fdtide look, so nothing is traced");
            return Ok(false);
        }
        let doctor = self.inside(&["fdtide", "doctor"])?;
        println!("{}", doctor.lines().next().unwrap_or_default());
        let report = self.inside(&["fdtide", "run", "--format", "json", "--", "true"])?;
        let report: serde_json::Value = serde_json::from_str(&report).context("the report is no JSON")?;
        let (execs, lost) = (&report["execs"], &report["loss"]["lost"]);
        ensure!(execs.as_array().map(Vec::len) == Some(1) && lost == 0, "of `true` there is {execs}, lost {lost}");
        Ok(true)
    }

    /// dpkg alone: a dependency that a minimal Debian lacks is an error.
    fn install(&self, package: &Path) -> Result<()> {
        let name = package.file_name().context("a package without a name")?;
        fs::copy(package, self.folder.join("tmp").join(name)).context("failed to copy the package")?;
        self.inside(&["dpkg", "--install", &format!("/tmp/{}", name.to_string_lossy())]).map(|_| ())
    }

    /// Everything that was installed is as it was packed, and works.
    fn tool(&self, inputs: &Inputs, revision: &str) -> Result<()> {
        let version = self.inside(&["dpkg-query", "--show", "--showformat=${Version}", "fdtide"])?;
        ensure!(version == format!("{}{revision}", inputs.version), "`{version}` is installed");
        let changed = self.inside(&["dpkg", "--verify", "fdtide"])?;
        let changed: Vec<&str> = changed.lines().filter(|line| !line.ends_with(deb::CONFIG)).collect();
        ensure!(changed.is_empty(), "dpkg finds other files than it installed: {changed:?}");
        let says = self.inside(&["fdtide", "--version"])?;
        ensure!(says == format!("fdtide {}", inputs.version), "`fdtide --version` says `{says}`");
        let says = self.inside(&["fdtide", "fleet", "--version"])?;
        ensure!(says == format!("fdtide-fleet {}", inputs.version), "`fdtide fleet --version` says `{says}`");
        let completion = ". /usr/share/bash-completion/completions/fdtide && complete -p fdtide";
        self.inside(&["bash", "-c", completion])?;
        self.inside(&["gzip", "--test", "/usr/share/man/man1/fdtide-run.1.gz"])?;
        Ok(())
    }

    /// What a command says in it.
    pub fn inside(&self, command: &[&str]) -> Result<String> {
        sh::output(&mut self.command(command))
    }

    /// The same, to be started.
    pub fn command(&self, command: &[&str]) -> Command {
        let mut outer = Command::new("unshare");
        outer.args(["--mount", "--fork", "sh", "-c", INSIDE, "-"]).arg(&self.folder).args(command);
        outer.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
        outer
    }

    /// Every path, but for [`NOT_OURS`].
    fn files(&self) -> Result<BTreeSet<String>> {
        let text = sh::output(Command::new("find").arg(&self.folder).args(["-xdev", "-printf", "/%P\\n"]))?;
        if text.is_empty() {
            bail!("the fresh Debian is empty");
        }
        let ours = |path: &&str| !NOT_OURS.iter().any(|own| path.starts_with(own));
        Ok(text.lines().filter(ours).map(str::to_owned).collect())
    }
}
