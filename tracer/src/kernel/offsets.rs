//! The wish list of [`fdtide_abi::Offsets`] against a kernel's BTF.

use fdtide_abi::{Offsets, offsets::Wish};

use super::btf::Btf;

/// Members that fdtide can't count without and that this kernel does not describe.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("this kernel's BTF lacks {}", .0.join(", "))]
pub struct MissingMembers(pub Vec<String>);

/// Looks every wish up.
///
/// # Errors
///
/// When a required member is missing; optional ones stay [`fdtide_abi::OFFSET_NONE`].
pub fn resolve(btf: &Btf<'_>) -> Result<Offsets, MissingMembers> {
    let mut offsets = Offsets::NONE;
    let mut missing = Vec::new();
    for Wish { strukt, path, required, set, .. } in Offsets::WISHES {
        match btf.offset(strukt, path) {
            Some(offset) => set(&mut offsets, offset),
            None if *required => missing.push(format!("`{strukt}.{path}`")),
            None => {}
        }
    }
    if missing.is_empty() { Ok(offsets) } else { Err(MissingMembers(missing)) }
}
