//! The toolchain that builds the kernel object: rustc with the library's source, bpf-linker, llvm-strip.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{needs::LLVM_PREFIX, sh};

/// Oldest compiler that is tried, as (major, minor); the workspace's `rust-version` is checked by cargo itself.
const OLDEST: (u32, u32) = (1, 95);

/// Everything that a build of the kernel object runs, by absolute path.
pub struct Toolchain {
    pub cargo: PathBuf,
    pub rustc: PathBuf,
    /// Where the standard library's source is, as rustc says it.
    pub source: PathBuf,
    pub linker: PathBuf,
    pub strip: PathBuf,
}

impl Toolchain {
    /// The first complete one: the distribution's packages, then rustup's nightly.
    pub fn find() -> Result<Self> {
        let (folder, source) =
            compiler().context("no rustc with the library's source; run `cargo xtask setup --ebpf`")?;
        Ok(Self {
            cargo: folder.join("cargo"),
            rustc: folder.join("rustc"),
            strip: strip(&source).context("no `llvm-strip`; run `cargo xtask setup --ebpf`")?,
            source,
            linker: linker().context("no `bpf-linker`; run `cargo xtask setup --ebpf`")?,
        })
    }

    /// A cargo command of this toolchain that hears nothing of the cargo and the rustup around us.
    pub fn cargo(&self) -> Result<Command> {
        let mut cargo = sh::command(&self.cargo)?;
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(leaks) {
                cargo.env_remove(name);
            }
        }
        let folders = [self.linker.parent(), self.rustc.parent()];
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(folders.into_iter().flatten().map(Path::to_owned).chain(env::split_paths(&path)))
            .context("failed to build `PATH`")?;
        cargo.env("PATH", path).env("RUSTC", &self.rustc).env("RUSTC_WRAPPER", "").env("RUSTC_BOOTSTRAP", "1");
        Ok(cargo)
    }

    /// Folders whose names must not reach the object, each with what stands for it.
    pub fn remap(&self) -> Result<Vec<(PathBuf, &'static str)>> {
        let mut pairs = vec![(sh::root()?, ".")];
        let registry = cargo_home()?.join("registry/src");
        let entries = fs::read_dir(&registry).with_context(|| format!("failed to list `{}`", registry.display()))?;
        for entry in entries {
            pairs.push((entry.context("failed to list the registry's folder")?.path(), "/cargo"));
        }
        // The source may be a link, and rustc names it both ways.
        let real = self.source.canonicalize();
        pairs.push((real.context("failed to resolve the library's source")?, "/rust"));
        pairs.push((self.source.clone(), "/rust"));
        Ok(pairs)
    }
}

/// Folder of `rustc` and `cargo`, and the library's source that goes with them.
pub fn compiler() -> Option<(PathBuf, PathBuf)> {
    let nightly = sh::output(Command::new("rustup").args(["which", "--toolchain", "nightly", "rustc"]));
    let nightly = nightly.ok().and_then(|rustc| Some(Path::new(&rustc).parent()?.to_owned()));
    [Some(PathBuf::from("/usr/bin")), nightly].into_iter().flatten().find_map(|folder| {
        let rustc = folder.join("rustc");
        if !folder.join("cargo").is_file() || version(&rustc)? < OLDEST {
            return None;
        }
        let sysroot = sh::output(Command::new(&rustc).args(["--print", "sysroot"])).ok()?;
        let source = Path::new(&sysroot).join("lib/rustlib/src/rust");
        source.join("library/core/Cargo.toml").is_file().then_some((folder, source))
    })
}

/// Where the standard library for a platform is, of the toolchain that runs us.
pub fn library(triple: &str) -> Option<String> {
    let root = sh::output(Command::new("rustc").args(["--print", "sysroot"])).ok()?;
    let folder = Path::new(&root).join("lib/rustlib").join(triple).join("lib");
    folder.is_dir().then(|| folder.display().to_string())
}

/// `bpf-linker`, in cargo's folder or on `PATH`.
pub fn linker() -> Option<PathBuf> {
    let own = cargo_home().ok()?.join("bin/bpf-linker");
    if own.is_file() { Some(own) } else { sh::which("bpf-linker") }
}

/// `llvm-strip` of the LLVM that the linker was built with, else any; `source` leads to rustup's own.
pub fn strip(source: &Path) -> Option<PathBuf> {
    let debian = Path::new(LLVM_PREFIX).join("bin/llvm-strip");
    if debian.is_file() {
        return Some(debian);
    }
    let rustup = source.ancestors().nth(2)?.join(format!("{}-unknown-linux-gnu/bin/llvm-strip", env::consts::ARCH));
    if rustup.is_file() {
        return Some(rustup);
    }
    sh::which("llvm-strip-22").or_else(|| sh::which("llvm-strip"))
}

/// `CARGO_HOME`, or where it is by default.
pub fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    match env::var_os("HOME") {
        Some(home) => Ok(Path::new(&home).join(".cargo")),
        None => bail!("neither `CARGO_HOME` nor `HOME` is set"),
    }
}

fn version(rustc: &Path) -> Option<(u32, u32)> {
    parse_version(&sh::output(Command::new(rustc).arg("-V")).ok()?)
}

/// (major, minor) of a line like `rustc 1.96.0 (ac68faa20 2026-05-25)`.
pub fn parse_version(line: &str) -> Option<(u32, u32)> {
    let mut parts = line.split_whitespace().nth(1)?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Whether a variable would carry the outer cargo's or rustup's choices into the inner build.
pub fn leaks(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_", "RUSTUP_HOME"];
    (name.starts_with("CARGO") || name.starts_with("RUST") || name == "LD_LIBRARY_PATH")
        && !KEPT.iter().any(|kept| name.starts_with(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_build_does_not_leak_in() {
        for name in ["CARGO", "CARGO_PKG_NAME", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"] {
            assert!(leaks(name), "{name}");
        }
        for name in ["PATH", "HOME", "CARGO_HOME", "CARGO_HTTP_CAINFO", "RUSTUP_HOME"] {
            assert!(!leaks(name), "{name}");
        }
    }

    #[test]
    fn a_compiler_says_its_version() {
        assert_eq!(parse_version("rustc 1.96.0 (ac68faa20 2026-05-25)"), Some((1, 96)));
        assert_eq!(parse_version("rustc 1.97.0-nightly (e50aa6fba 2026-05-19)"), Some((1, 97)));
        assert_eq!(parse_version("error"), None);
    }
}
