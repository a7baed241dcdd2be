//! `cargo xtask build-ebpf`: the kernel object, from source, the same bytes in every folder.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    provenance::{self, Record, Versions},
    sh,
    toolchain::{self, Toolchain},
};

/// The object in the tree, and its record.
pub const OBJECT: &str = "tracer/bpf/fdtide.bpf.o";
pub const RECORD: &str = "tracer/bpf/toolchain.json";
const TARGET: &str = "bpfel-unknown-none";

#[derive(clap::Args)]
pub struct Options {
    /// Change nothing: compare a fresh build with the object in the tree
    #[arg(long)]
    check: bool,
}

/// What a fresh build said of the object in the tree.
pub enum Proof {
    /// Byte for byte the same.
    Same,
    /// Another toolchain: the bytes say nothing, so the kernel tests must run on the fresh build.
    OtherToolchain { fresh: PathBuf, difference: String },
}

pub fn run(options: &Options) -> Result<()> {
    if !options.check {
        let (fresh, record) = build()?;
        let root = sh::root()?;
        let object = root.join(OBJECT);
        fs::create_dir_all(root.join("tracer/bpf")).context("failed to create `tracer/bpf`")?;
        fs::copy(&fresh, &object).with_context(|| format!("failed to write `{OBJECT}`"))?;
        let json = serde_json::to_string_pretty(&record).context("failed to write JSON")?;
        fs::write(root.join(RECORD), json + "\n").with_context(|| format!("failed to write `{RECORD}`"))?;
        let size = fs::metadata(&object).context("failed to look at the object")?.len();
        println!("{OBJECT}: {} KiB, sha256 {}", size.div_ceil(1024), record.object);
        return Ok(());
    }
    match prove()? {
        Proof::Same => println!("{OBJECT} is what the source gives, byte for byte"),
        Proof::OtherToolchain { fresh, difference } => println!(
            "{OBJECT} was built by another toolchain ({difference}), so its bytes prove nothing here\n\
             run the kernel tests on the fresh build:\n\
             FDTIDE_BPF_OBJECT={} cargo test --package fdtide --test kernel",
            fresh.display()
        ),
    }
    Ok(())
}

/// Builds afresh and compares with the tree.
///
/// An error when the toolchain is the recorded one and the bytes differ.
pub fn prove() -> Result<Proof> {
    let recorded = recorded()?;
    let (fresh, record) = build()?;
    let object = sh::root()?.join(OBJECT);
    let committed = fs::read(&object).with_context(|| format!("failed to read `{OBJECT}`"))?;
    if committed == fs::read(&fresh).context("failed to read the fresh object")? {
        return Ok(Proof::Same);
    }
    let difference = record.toolchain.difference(&recorded.toolchain);
    if difference.is_empty() {
        bail!(
            "`{OBJECT}` is not what the source gives with the recorded toolchain: \
             run `cargo xtask build-ebpf` and commit the result"
        );
    }
    Ok(Proof::OtherToolchain { fresh, difference })
}

/// Whether object, record and sources in the tree belong together; needs no toolchain.
pub fn check_record() -> Result<()> {
    let recorded = recorded()?;
    if recorded.object != provenance::sha256(&sh::root()?.join(OBJECT))? {
        bail!("`{RECORD}` is not the record of `{OBJECT}`: run `cargo xtask build-ebpf`");
    }
    if recorded.sources != provenance::sources()? || recorded.crates != provenance::crates()? {
        bail!("the kernel program changed after `{OBJECT}` was built: run `cargo xtask build-ebpf`");
    }
    Ok(())
}

fn recorded() -> Result<Record> {
    let text = fs::read(sh::root()?.join(RECORD)).with_context(|| format!("failed to read `{RECORD}`"))?;
    serde_json::from_slice(&text).with_context(|| format!("failed to parse `{RECORD}`"))
}

/// Builds and strips into the target folder.
fn build() -> Result<(PathBuf, Record)> {
    let toolchain = Toolchain::find()?;
    // First, so that the registry's folders exist and can be remapped.
    sh::run(toolchain.cargo()?.args(["fetch", "--locked", "--quiet"]))?;
    let remap = toolchain.remap()?;
    let folder = sh::target()?.join("ebpf");
    let mut cargo = toolchain.cargo()?;
    cargo
        .args(["build", "--locked", "-Zbuild-std=core", "--release", "--target", TARGET])
        .args(["--package=fdtide-ebpf", "--bin=fdtide", "--features=kernel"])
        .arg("--target-dir")
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", encoded_flags(&remap));
    // The workspace's release profile is the agent's; this one is the object's.
    for (key, value) in [
        ("OPT_LEVEL", "3"),
        ("DEBUG", "full"), // what BTF is made from; stripped below
        ("STRIP", "none"),
        ("LTO", "off"), // bpf-linker does it
        ("CODEGEN_UNITS", "1"),
        ("INCREMENTAL", "false"),
        ("PANIC", "abort"),
        ("DEBUG_ASSERTIONS", "false"),
        ("OVERFLOW_CHECKS", "false"),
    ] {
        cargo.env(format!("CARGO_PROFILE_RELEASE_{key}"), value);
    }
    sh::run(&mut cargo)?;

    let object = folder.join("fdtide.bpf.o");
    let built = folder.join(TARGET).join("release/fdtide");
    // DWARF goes, BTF stays. The relocations of `.BTF.ext` repeat what stands in place, and loaders don't read them.
    let mut strip = sh::command(&toolchain.strip)?;
    strip.args(["--strip-debug", "--remove-section=.rel.BTF.ext", "-o"]);
    sh::run(strip.arg(&object).arg(built))?;
    refuse_machine_paths(&object, &remap)?;
    let record = Record {
        object: provenance::sha256(&object)?,
        sources: provenance::sources()?,
        toolchain: Versions::of(&toolchain, &flags())?,
        crates: provenance::crates()?,
    };
    Ok((object, record))
}

/// Flags that decide what the object is.
fn flags() -> Vec<String> {
    vec![
        format!("--cfg=bpf_target_arch=\"{}\"", std::env::consts::ARCH),
        // 32-bit registers and atomics, kernel 5.12.
        "-Ctarget-cpu=v3".to_owned(),
        "-Clink-arg=--btf".to_owned(),
    ]
}

/// Flags and remapping as cargo takes them, separated by 0x1f.
fn encoded_flags(remap: &[(PathBuf, &str)]) -> OsString {
    let mut encoded = OsString::from(flags().join("\x1f"));
    for (from, to) in remap {
        encoded.push("\x1f--remap-path-prefix=");
        encoded.push(from);
        encoded.push(format!("={to}"));
    }
    encoded
}

/// Fails when the object names a folder of the machine that built it.
fn refuse_machine_paths(object: &Path, remap: &[(PathBuf, &str)]) -> Result<()> {
    let bytes = fs::read(object).context("failed to read the fresh object")?;
    let home = toolchain::cargo_home()?;
    for folder in remap.iter().map(|(from, _)| from).chain([&home]) {
        let name = folder.as_os_str().as_encoded_bytes();
        if bytes.windows(name.len()).any(|window| window == name) {
            bail!("the object names `{}`, a folder of this machine", folder.display());
        }
    }
    Ok(())
}
