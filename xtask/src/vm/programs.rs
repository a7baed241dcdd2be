//! What goes into the guest besides its script: the tool, the fixtures, the kernel tests and a few of this machine's
//! programs, all dynamically linked and at the paths that they have here, with the libraries that they load.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::{Target, archive::Archive};
use crate::sh;

/// Real programs for tests to start; what is not here is busybox's there.
const REAL: [&str; 9] = ["cat", "env", "false", "setpriv", "sh", "sleep", "strace", "true", "unshare"];

pub struct Programs {
    pub archive: Archive,
    /// The binaries of the test targets asked for.
    pub tests: Vec<PathBuf>,
    pub fdtide: PathBuf,
}

/// Packages whose programs go into the guest.
const PACKAGES: [&str; 2] = ["fdtide", "fdtide-fixtures"];

/// What is read of cargo's messages.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    package_id: String,
    target: Option<Made>,
    executable: Option<PathBuf>,
}

impl Message {
    /// `path+file:///…/tracer#fdtide@0.1.0`: the package, if it is one of ours in the guest.
    fn goes_along(&self) -> Option<&'static str> {
        let name = self.package_id.rsplit(['#', '/']).next().and_then(|rest| rest.split('@').next())?;
        PACKAGES.into_iter().find(|known| *known == name)
    }
}

#[derive(Deserialize)]
struct Made {
    name: String,
    kind: Vec<String>,
}

/// A built binary.
#[derive(Debug, PartialEq)]
struct Built {
    package: String,
    name: String,
    is_test: bool,
    file: PathBuf,
}

pub fn build(targets: &[Target]) -> Result<Programs> {
    let tests: Vec<String> = targets.iter().map(|target| format!("--test={target}")).collect();
    // The whole workspace, as for its tests: of fewer packages other features would be asked for, and every crate built again.
    let mut args = vec!["build", "--workspace", "--bins"];
    args.extend(tests.iter().map(String::as_str));
    let built = cargo(&args)?;
    let find = |name: &str, test: bool| {
        // The fixtures have tests of their own, one of the same name.
        let is = |built: &&Built| built.package == PACKAGES[0] && built.name == name && built.is_test == test;
        let found = built.iter().find(is);
        found.map(|built| built.file.clone()).with_context(|| format!("cargo built no `{name}`"))
    };
    let files: Vec<_> = built.iter().map(|built| built.file.as_path()).collect();
    let mut archive = archive(&files)?;
    for name in REAL {
        for file in ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name)) {
            if file.is_file() {
                archive.copy(&file)?;
                copy_libraries(&mut archive, &file)?;
            }
        }
    }
    let tests = targets.iter().map(|target| find(&target.to_string(), true)).collect::<Result<_>>()?;
    Ok(Programs { archive, tests, fdtide: find("fdtide", false)? })
}

/// These programs with their libraries, and busybox for the script.
pub fn archive(programs: &[&Path]) -> Result<Archive> {
    let mut archive = Archive::default();
    for file in programs {
        archive.file(file, true, &stripped(file)?)?;
        copy_libraries(&mut archive, file)?;
    }
    let busybox = sh::which("busybox").context("`busybox` is missing")?;
    let content = fs::read(&busybox).context("failed to read `busybox`")?;
    archive.file(Path::new("/bin/busybox"), true, &content)?;
    Ok(archive)
}

/// Builds, and gives the executables.
fn cargo(args: &[&str]) -> Result<Vec<Built>> {
    let mut cargo = sh::cargo(args)?;
    println!("$ cargo {}", args.join(" "));
    let messages = cargo.arg("--message-format=json-render-diagnostics").stderr(std::process::Stdio::inherit());
    let output = messages.output().context("failed to start cargo")?;
    if !output.status.success() {
        bail!("`cargo {}` failed: {}", args.join(" "), output.status);
    }
    Ok(executables(&String::from_utf8_lossy(&output.stdout)))
}

fn executables(messages: &str) -> Vec<Built> {
    let built = |line: &str| {
        let message: Message = serde_json::from_str(line).ok()?;
        let package = message.goes_along()?.to_owned();
        let target = message.target?;
        let is_test = target.kind.iter().any(|kind| kind == "test");
        Some(Built { package, name: target.name, is_test, file: message.executable? })
    };
    messages.lines().filter_map(built).collect()
}

/// Without the debug information, which is most of the file; the guest's memory holds all of it twice.
fn stripped(file: &Path) -> Result<Vec<u8>> {
    let small = tempfile::NamedTempFile::new().context("failed to create a temporary file")?;
    sh::output(Command::new("strip").arg("--strip-debug").arg("-o").arg(small.path()).arg(file))?;
    fs::read(small.path()).with_context(|| format!("failed to read `{}` without debug information", file.display()))
}

fn copy_libraries(archive: &mut Archive, file: &Path) -> Result<()> {
    // ldd fails for a program that is linked statically.
    let list = sh::output(Command::new("ldd").arg(file)).unwrap_or_default();
    libraries(&list).into_iter().try_for_each(|library| archive.copy(library))
}

/// `name => /path (0x…)`, or `/path (0x…)` for the loader; the rest is not a file.
fn libraries(list: &str) -> Vec<&Path> {
    let paths = list.lines().filter_map(|line| line.split(" => ").last()?.split_whitespace().next());
    paths.filter(|path| path.starts_with('/')).map(Path::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_found() {
        let list = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1a)\n\
            \tlibgone.so => not found\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f1b)\n";
        let want = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(Path::new);
        assert_eq!(libraries(list), want);
    }

    #[test]
    fn executables_that_go_along_are_read_from_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","package_id":"registry+x#serde@1.0.1","target":{"name":"serde","kind":["lib"]},"executable":null}
            {"reason":"compiler-artifact","package_id":"path+file:///s/tracer#fdtide@0.1.0","target":{"name":"kernel","kind":["test"]},"executable":"/t/deps/kernel-1"}
            {"reason":"compiler-artifact","package_id":"path+file:///s/fleet#fdtide-fleet@0.1.0","target":{"name":"fdtide-fleet","kind":["bin"]},"executable":"/t/fdtide-fleet"}
            {"reason":"build-finished","success":true}"#;
        let kernel = Built {
            package: "fdtide".to_owned(),
            name: "kernel".to_owned(),
            is_test: true,
            file: PathBuf::from("/t/deps/kernel-1"),
        };
        assert_eq!(executables(messages), [kernel]);
    }
}
