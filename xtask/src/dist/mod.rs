//! `cargo xtask dist`: what is given out, the same bytes whoever builds it wherever.

pub mod build;
mod compare;
mod crates;
mod deb;
mod sbom;
mod service;
mod stage;
mod trial;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    provenance, setup, sh,
    steps::{Steps, Tally},
};

#[derive(clap::Args)]
pub struct Options {
    /// Build and make everything a second time, from a copy of the tree in another folder, and compare the bytes
    #[arg(long)]
    check: bool,
    /// Install, run, upgrade and purge the package in a fresh Debian, as root
    #[arg(long = "try")]
    try_it: bool,
}

/// What goes in.
struct Inputs {
    program: build::Program,
    crates: crates::Crates,
    version: String,
    /// Seconds since 1970 that stand for "now" in everything made.
    epoch: u64,
}

pub fn run(options: &Options) -> Result<ExitCode> {
    let folder = sh::target()?.join("dist");
    let mut steps = Steps::default();
    let mut inputs = None;
    steps.step("set-up", || setup::run(&setup::Options { dist: true, ..Default::default() }).map(|()| Tally::NONE));
    steps.step("programs", || {
        inputs = Some(Inputs::collect(build::programs(&sh::root()?, &folder.join("build"))?)?);
        Ok(Tally::PASSED)
    });
    if let Some(inputs) = &inputs {
        let out = folder.join("out");
        steps.step("files", || inputs.make(&out));
        steps.step("lintian", || lintian(&out));
        if options.check {
            steps.step("the same bytes again", || again(&folder.join("again"), &out));
        }
        if options.try_it {
            steps.step("package in a fresh Debian", || trial::run(inputs, &out, &folder));
        }
    }
    Ok(steps.finish())
}

/// What is no fault of a package that is not for Debian's archive and that nobody has put an address in, and what older versions take
/// position-independent static programs for.
const NO_FAULT: &str = "--suppress-tags=bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs,\
    shared-library-lacks-prerequisites";

/// What Debian's own critic says of the package.
fn lintian(out: &Path) -> Result<Tally> {
    let Some(lintian) = sh::which("lintian") else { return Ok(Tally::skipped("run `apt-get install lintian`")) };
    let packages = files(out)?.into_iter().filter(|file| file.extension().is_some_and(|end| end == "deb"));
    let mut command = Command::new(lintian);
    command.args(["--allow-root", "--fail-on=error,warning", NO_FAULT]).args(packages);
    Ok(if sh::tee(&mut command, |_| ())? { Tally::PASSED } else { Tally::FAILED })
}

/// All of it from a copy of the tree, compared with what lies in `out`.
fn again(folder: &Path, out: &Path) -> Result<Tally> {
    // The copy is new each time; what was compiled may stay, as in the first build.
    let (source, made) = (folder.join("source"), folder.join("out"));
    copy_tree(&source)?;
    Inputs::collect(build::programs(&source, &folder.join("build"))?)?.make(&made)?;
    compare::same(out, &made)?;
    for folder in [&source, &made] {
        fs::remove_dir_all(folder).with_context(|| format!("failed to remove `{}`", folder.display()))?;
    }
    Ok(Tally::PASSED)
}

/// The files that git knows, as they are now.
fn copy_tree(to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("failed to clear `{}`", to.display()))?;
    }
    let root = sh::root()?;
    for name in sh::output(sh::command("git")?.args(["ls-files", "--cached"]))?.lines() {
        let (from, to) = (root.join(name), to.join(name));
        let folder = to.parent().context("a file without a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
        fs::copy(&from, &to).with_context(|| format!("failed to copy `{}`", from.display()))?;
    }
    Ok(())
}

impl Inputs {
    fn collect(program: build::Program) -> Result<Self> {
        let crates = crates::Crates::of(&program.triple)?;
        let version = crates.tool()?.version.clone();
        Ok(Self { program, crates, version, epoch: epoch()? })
    }

    /// What is neither in the tree nor compiled, for [`stage::tree`].
    fn parts(&self, work: &Path) -> Result<()> {
        pages(work, &date(self.epoch, "+%F")?)?;
        fs::write(work.join(sbom::NAME), sbom::document(self)?).context("failed to write the bill of materials")
    }

    /// Everything, into a folder that holds nothing else.
    fn make(&self, out: &Path) -> Result<Tally> {
        if out.exists() {
            fs::remove_dir_all(out).context("failed to clear the output folder")?;
        }
        fs::create_dir_all(out).context("failed to create the output folder")?;
        let work = tempfile::tempdir().context("failed to create a temporary folder")?;
        self.parts(work.path())?;
        fs::copy(work.path().join(sbom::NAME), out.join(format!("fdtide-{}.spdx.json", self.version)))
            .context("failed to copy the bill of materials")?;
        stage::archive(self, work.path(), out)?;
        let mut tally = Tally::PASSED;
        if sh::which("dpkg-deb").is_some() && sh::which("dpkg-shlibdeps").is_some() {
            deb::package(self, work.path(), out, 1)?;
        } else {
            tally = tally.plus(Tally::skipped("no Debian package: run `apt-get install dpkg-dev` on a Debian"));
        }
        sums(out)?;
        println!("{}:\n{}", out.display(), fs::read_to_string(out.join("SHA256SUMS")).unwrap_or_default().trim_end());
        Ok(tally)
    }
}

/// Manual pages and completions, of the development build: what they say does not depend on it.
fn pages(folder: &Path, date: &str) -> Result<()> {
    sh::run(sh::cargo(&["run", "--quiet", "--locked", "--package=fdtide-pages", "--"])?.arg(folder).arg(date))
}

/// `SOURCE_DATE_EPOCH`, or the time of the commit.
fn epoch() -> Result<u64> {
    let text = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => sh::output(sh::command("git")?.args(["log", "-1", "--format=%ct"]))
            .context("no commit to take the time from: set `SOURCE_DATE_EPOCH`")?,
    };
    text.parse().with_context(|| format!("`{text}` is no number of seconds since 1970"))
}

fn date(epoch: u64, format: &str) -> Result<String> {
    sh::output(Command::new("date").env("LC_ALL", "C").args(["-u", "-d", &format!("@{epoch}"), format]))
}

/// `SHA256SUMS` of every file, sorted by name, as `sha256sum -c` reads it.
fn sums(out: &Path) -> Result<()> {
    let mut text = String::new();
    for file in files(out)? {
        let name = file.file_name().context("a file without a name")?.to_string_lossy().into_owned();
        text += &format!("{}  {name}\n", provenance::sha256(&file)?);
    }
    fs::write(out.join("SHA256SUMS"), text).context("failed to write `SHA256SUMS`")
}

/// Files of a folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list `{}`", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    if files.iter().any(|file| !file.is_file()) {
        bail!("`{}` holds more than files", folder.display());
    }
    files.sort();
    Ok(files)
}
