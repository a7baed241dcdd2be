//! From the object in the tree to attached programs.

use std::{fs, path::PathBuf};

use aya::{Btf, Ebpf, EbpfLoader, maps::Array};
use fdtide_abi::{Config, Offsets, TableState, config::want};

use super::{error::ProbeError, privileges};
use crate::kernel::{btf, features, offsets};

/// The kernel object, built by `cargo xtask build-ebpf`.
pub(super) static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/fdtide.bpf.o");

/// Names an object file to load instead of the one built in; for proving a fresh build.
pub const OBJECT_ENV: &str = "FDTIDE_BPF_OBJECT";

/// Bytes of the ring. Mapped twice, it counts twice as the agent's memory; see [`super::backlog`] for bursts.
const RING: u32 = 2 << 20;

/// What the loader is told.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// How long `live` must be still to count as settled, nanoseconds.
    pub settle_ns: u64,
    /// Where the kernel's types are.
    pub btf: PathBuf,
    /// Log of the kernel program to the `log` crate.
    pub debug: bool,
    /// A rise and fall of at least so many descriptors is a crest.
    pub crest_min: u32,
    /// A crest of at least so many descriptors gets a census.
    pub census_at: Option<u32>,
    /// The first failure of each kind gets a census.
    pub census_failed: bool,
    /// Note when each descriptor was installed, for the ages in a census.
    pub ages: bool,
    /// Take the user stack of each install.
    pub stacks: bool,
    /// A record of every install and close.
    pub slots: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            settle_ns: 50_000_000,
            btf: PathBuf::from("/sys/kernel/btf/vmlinux"),
            debug: false,
            crest_min: 16,
            census_at: None,
            census_failed: false,
            ages: false,
            stacks: false,
            slots: false,
        }
    }
}

/// A boundary type that aya may copy as bytes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Wire<T>(pub T);

// SAFETY: only used with `#[repr(C)]` boundary types of integers without padding.
unsafe impl<T: Copy + 'static> aya::Pod for Wire<T> {}

/// Loads the object with this kernel's offsets, and gives those too; nothing is attached yet.
pub(super) fn load(options: &LoadOptions, btf: &Btf) -> Result<(Ebpf, Offsets), ProbeError> {
    let path = options.btf.display().to_string();
    let bytes = fs::read(&options.btf).map_err(|source| ProbeError::NoBtf { path: path.clone(), source })?;
    let types = btf::Btf::parse(&bytes).map_err(|source| ProbeError::BadBtf { path, source })?;
    features::check(&types)?;
    let offsets = Wire::<Offsets>(offsets::resolve(&types)?);
    let config = Wire::<Config>(config(options));
    drop(types);

    let replacement = match std::env::var_os(OBJECT_ENV) {
        Some(path) => Some(
            fs::read(&path)
                .map_err(|source| ProbeError::Object { path: path.to_string_lossy().into_owned(), source })?,
        ),
        None => None,
    };
    let object = replacement.as_deref().unwrap_or(OBJECT);
    let mut loader = EbpfLoader::new();
    loader.btf(Some(btf)).override_global("OFFSETS", &offsets, true).override_global("CONFIG", &config, true);
    loader.map_max_entries("RING", RING);
    // What is not asked for takes no memory.
    if !options.slots {
        loader.map_max_entries("EVENTS", 4096);
    }
    if !options.stacks {
        loader.map_max_entries("STACKS", 1);
    }
    if !options.debug {
        loader.override_global("AYA_LOG_LEVEL", &0u8, false);
    }
    let mut ebpf = loader.load(object).map_err(refused)?;

    // A new table is copied from this one and must not be looked at before it is filled.
    let mut empty = Wire(zeroed_table());
    empty.0.head.lock = 1;
    let map = ebpf.map_mut("EMPTY").ok_or(ProbeError::NotInObject("EMPTY"))?;
    Array::<_, Wire<TableState>>::try_from(map)
        .and_then(|mut map| map.set(0, empty, 0))
        .map_err(|source| ProbeError::Map { map: "EMPTY", source: Box::new(source) })?;
    Ok((ebpf, offsets.0))
}

fn config(options: &LoadOptions) -> Config {
    let bit = |on: bool, bit: u32| if on { bit } else { 0 };
    Config {
        settle_ns: options.settle_ns,
        agent: std::process::id(),
        want: bit(options.slots, want::SLOTS)
            | bit(options.ages, want::AGES)
            | bit(options.stacks, want::STACKS)
            | bit(options.census_failed, want::CENSUS_FAILED),
        crest_min: options.crest_min,
        census_at: options.census_at.unwrap_or(u32::MAX),
    }
}

fn zeroed_table() -> TableState {
    // SAFETY: integers and arrays of integers; zero is a value of each.
    unsafe { std::mem::zeroed() }
}

fn refused(error: aya::EbpfError) -> ProbeError {
    if std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source()).any(|error| {
        error.downcast_ref::<std::io::Error>().is_some_and(|error| error.raw_os_error() == Some(libc::EPERM))
    }) {
        return not_permitted();
    }
    ProbeError::Load(Box::new(error))
}

/// Says what is missing, or that it is not a capability.
pub(super) fn not_permitted() -> ProbeError {
    let missing = privileges::missing();
    let missing = if missing.is_empty() {
        "the capabilities are there, so a security module denies it".to_owned()
    } else {
        format!("{} missing", privileges::names(&missing))
    };
    ProbeError::NotPermitted { missing }
}
