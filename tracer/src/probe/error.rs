//! What can keep fdtide from looking into the kernel, and what to do about it.

use std::io;

use crate::{
    kernel::{btf::BtfError, features::TooOld, offsets::MissingMembers},
    procfs::NotHost,
};

/// Why the kernel program does not run.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No BTF to read.
    #[error(
        "failed to read `{path}`: fdtide needs the kernel's own type information; use a kernel built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf {
        /// What was read.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// BTF that can't be understood.
    #[error("failed to understand `{path}`")]
    BadBtf {
        /// What was read.
        path: String,
        /// Why not.
        source: BtfError,
    },
    /// Members that the kernel does not have.
    #[error("this kernel is not supported")]
    Members(#[from] MissingMembers),
    /// Helpers that the kernel does not have.
    #[error(transparent)]
    TooOld(#[from] TooOld),
    /// The rights to load programs are missing.
    #[error("not permitted to load BPF programs: {missing}; run as root, or with CAP_BPF and CAP_PERFMON")]
    NotPermitted {
        /// What is missing.
        missing: String,
    },
    /// Processes have other ids in the kernel.
    #[error(transparent)]
    Namespace(#[from] NotHost),
    /// The object file can't be used.
    #[error("failed to read the kernel object `{path}`")]
    Object {
        /// Its path.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// Maps could not be made, or the object is damaged.
    #[error("failed to load the kernel object")]
    Load(#[source] Box<aya::EbpfError>),
    /// A program was refused.
    #[error("the kernel refused program `{program}` {at}: {why}")]
    Program {
        /// Its name.
        program: &'static str,
        /// When.
        at: &'static str,
        /// Why, and what to do.
        why: String,
    },
    /// Backends were tried, and none works.
    #[error("no backend works on this kernel: {}", .0.iter().map(|(backend, why)| format!("{backend}: {why}")).collect::<Vec<_>>().join("; "))]
    NoBackend(Vec<(&'static str, String)>),
    /// Something that the object should have is not in it.
    #[error("the kernel object has no `{0}`: rebuild it with `cargo xtask build-ebpf`")]
    NotInObject(&'static str),
    /// A map could not be read or written.
    #[error("failed to access map `{map}`")]
    Map {
        /// Its name.
        map: &'static str,
        /// Why.
        source: Box<aya::maps::MapError>,
    },
    /// The walk over all tasks failed.
    #[error("failed to walk over the tasks of this machine")]
    Walk(#[source] io::Error),
    /// No such process.
    #[error("no process has the id `{0}`: it may have ended; check with `ps -p {0}`")]
    NoProcess(u32),
    /// A process that is not traced.
    #[error("process `{0}` is not traced, so it can't be removed")]
    NotTraced(u32),
    /// A process that is traced for another one's sake.
    #[error("process `{0}` is traced as a descendant of another target: remove that one")]
    NoTarget(u32),
    /// A map has no more room.
    #[error("no room for more {what}: at most {most} are followed at a time; name fewer targets")]
    Full {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: u32,
    },
    /// The numbers do not add up here.
    #[error(
        "the {backend} backend miscounts on this kernel: after `{step}` it saw {got} descriptors where {expected} are open"
    )]
    SelfTest {
        /// Backend tried.
        backend: &'static str,
        /// What the child had done.
        step: &'static str,
        /// What was read.
        got: String,
        /// What the child says.
        expected: u32,
    },
    /// The self-test's child did not work.
    #[error("failed to run the self-test")]
    SelfTestChild(#[source] io::Error),
}
