//! What each purpose needs on a machine, how to see that it is there, and how to get it.

use std::{path::Path, process::Command};

use crate::{sh, toolchain};

/// The LLVM that the kernel object is linked with: where Debian's packages put it.
pub const LLVM_PREFIX: &str = "/usr/lib/llvm-22";
pub const BPF_LINKER: &str = "0.13.0";
/// Newest at the time of writing; builds with the MSRV.
pub const CARGO_DENY: &str = "0.20.2";
pub const CARGO_FUZZ: &str = "0.13.2";

/// Linked against nothing, so that a program runs on any distribution.
pub const STATIC: &str = "x86_64-unknown-linux-musl";

/// What a thing is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Building the kernel object.
    Ebpf,
    /// Lints and tests.
    Test,
    /// Fuzzing, which tests do too.
    Fuzz,
    /// Building and running the tool at all.
    Build,
    /// What is given out: static programs, the package, and its trial.
    Dist,
}

/// How to get a thing.
pub enum Source {
    /// Debian packages.
    Apt(&'static [&'static str]),
    /// A crate with a binary: name, version, features.
    Crate(&'static str, &'static str, &'static [&'static str]),
    /// Python packages, each with its version, in an environment of their own in the target folder.
    Python(&'static [&'static str]),
    /// A component of rustup's toolchain in use.
    Component(&'static str),
    /// A platform of rustup's toolchain in use.
    Target(&'static str),
}

pub struct Need {
    pub what: &'static str,
    pub purpose: Purpose,
    /// Says what was found, or nothing.
    pub found: fn() -> Option<String>,
    pub source: Source,
    /// Where the source does not serve: what to do instead.
    pub otherwise: &'static str,
    /// Without it something is skipped with a printed reason, nothing fails.
    pub optional: bool,
}

const fn need(
    purpose: Purpose,
    what: &'static str,
    found: fn() -> Option<String>,
    source: Source,
    otherwise: &'static str,
) -> Need {
    Need { what, purpose, found, source, otherwise, optional: false }
}

const fn optional(need: Need) -> Need {
    Need { optional: true, ..need }
}

/// What recordings, exports and verdicts are read with in tests: the newest at the time of writing.
const READERS: &[&str] = &[
    // Schemas of GitHub's and GitLab's jobs, and of Kubernetes.
    "check-jsonschema==0.39.0",
    "duckdb==2.0.1",
    // Grafana's own types; the newest of its versions that there are.
    "grafana-foundation-sdk==1769699379!11.6.0",
    "hdrhistogram==0.10.8",
    "junitparser==5.0.3",
    "kubernetes-validate==1.37.0",
    // An S3 for segments.
    "moto[server,s3]==5.2.5",
    "perfetto==0.59.1",
    "polars==2.1.0",
    "protobuf==7.36.2",
    // Reads the SQL that is given for Spark.
    "sqlglot==30.30.0",
];

/// In the order in which they must be installed.
pub const NEEDS: [Need; 23] = [
    need(Purpose::Build, "C linker", || says("cc", "--version"), Source::Apt(&["gcc", "libc6-dev"]), "install gcc"),
    need(
        Purpose::Ebpf,
        "rustc with the library's source",
        || toolchain::compiler().and_then(|(folder, _)| says(folder.join("rustc"), "-V")),
        Source::Apt(&["rustc-web", "cargo-web", "rust-web-src"]),
        "run `rustup toolchain install nightly --component rust-src --component llvm-tools`",
    ),
    need(
        Purpose::Ebpf,
        "LLVM 22",
        || {
            says(Path::new(LLVM_PREFIX).join("bin/llvm-config"), "--version")
                .or_else(|| says("llvm-config-22", "--version"))
        },
        Source::Apt(&["llvm-22-dev"]),
        "install LLVM 22 with its headers, so that `llvm-config-22` is on PATH",
    ),
    need(
        Purpose::Ebpf,
        "bpf-linker",
        || says(toolchain::linker()?, "--version").filter(|line| line.ends_with(BPF_LINKER)),
        Source::Crate("bpf-linker", BPF_LINKER, &["llvm-22"]),
        "see why cargo failed to install it",
    ),
    need(
        Purpose::Test,
        "rustfmt",
        || says("cargo-fmt", "--version"),
        Source::Component("rustfmt"),
        "add rustfmt to this toolchain",
    ),
    need(
        Purpose::Test,
        "clippy",
        || says("cargo-clippy", "--version"),
        Source::Component("clippy"),
        "add clippy to this toolchain",
    ),
    need(
        Purpose::Test,
        "cargo-deny",
        || says("cargo-deny", "--version"),
        Source::Crate("cargo-deny", CARGO_DENY, &[]),
        "see why cargo failed to install it",
    ),
    // libFuzzer's own language.
    need(Purpose::Fuzz, "C++ compiler", || says("c++", "--version"), Source::Apt(&["g++"]), "install g++"),
    need(
        Purpose::Fuzz,
        "cargo-fuzz",
        || says("cargo-fuzz", "--version"),
        Source::Crate("cargo-fuzz", CARGO_FUZZ, &[]),
        "see why cargo failed to install it",
    ),
    need(Purpose::Test, "git", || says("git", "--version"), Source::Apt(&["git"]), "install git"),
    need(Purpose::Test, "bpftool", || says("bpftool", "version"), Source::Apt(&["bpftool"]), "install bpftool"),
    need(Purpose::Test, "strace", || says("strace", "--version"), Source::Apt(&["strace"]), "install strace"),
    need(
        Purpose::Test,
        "Prometheus and promtool",
        || says("prometheus", "--version").and(says("promtool", "--version")),
        Source::Apt(&["prometheus"]),
        "install Prometheus, with promtool",
    ),
    optional(need(
        Purpose::Test,
        "systemd-analyze",
        || says("systemd-analyze", "--version"),
        Source::Apt(&["systemd"]),
        "install systemd",
    )),
    optional(need(
        Purpose::Test,
        "python3",
        || says("python3", "--version"),
        Source::Apt(&["python3", "python3-venv"]),
        "install python3",
    )),
    optional(need(
        Purpose::Test,
        "polars, DuckDB, HdrHistogram, junitparser, moto, sqlglot, schemas, Perfetto's and Grafana's bindings for Python",
        || crate::python::found(READERS),
        Source::Python(READERS),
        "see why pip failed to install them",
    )),
    optional(need(Purpose::Test, "node", || says("node", "--version"), Source::Apt(&["nodejs"]), "install Node.js")),
    optional(need(Purpose::Test, "postgres", postgres, Source::Apt(&["postgresql"]), "install a PostgreSQL server")),
    optional(need(
        Purpose::Dist,
        "C compiler for static programs",
        || says("musl-gcc", "--version"),
        Source::Apt(&["musl-tools"]),
        "install musl's gcc",
    )),
    optional(need(
        Purpose::Dist,
        "Rust's library for static programs",
        || toolchain::library(STATIC),
        Source::Target(STATIC),
        "add the platform to this toolchain",
    )),
    optional(need(
        Purpose::Dist,
        "dpkg-dev",
        || says("dpkg-shlibdeps", "--version"),
        Source::Apt(&["dpkg-dev"]),
        "install dpkg-dev",
    )),
    optional(need(
        Purpose::Dist,
        "lintian",
        || says("lintian", "--version"),
        Source::Apt(&["lintian"]),
        "install lintian",
    )),
    optional(need(
        Purpose::Dist,
        "debootstrap",
        || says("debootstrap", "--version"),
        Source::Apt(&["debootstrap"]),
        "install debootstrap",
    )),
];

/// First line of what a program says of its version.
fn says(program: impl AsRef<Path>, flag: &str) -> Option<String> {
    let program = program.as_ref();
    let file = if program.is_absolute() { program.to_owned() } else { sh::which(program.to_str()?)? };
    let text = sh::output(Command::new(file).arg(flag)).ok()?;
    text.lines().next().map(str::to_owned)
}

/// Debian keeps the server off PATH, a folder for each version.
fn postgres() -> Option<String> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions
        .map(|version| version.path().join("bin/postgres"))
        .find_map(|server| says(server, "--version"))
        .or_else(|| says("postgres", "--version"))
}
