//! Recordings of other versions: what can be read, and what to say of the rest.
//!
//! Old formats are brought up to date here, version by version, from the first release on; there is one format so far.

use std::collections::BTreeMap;

use fdtide_abi::event::{
    CensusRecord, DescriptorRecord, ExecRecord, ExitRecord, MoveRecord, ProcRecord, SlotRecord, TableRecord, record,
};

use super::{FORMAT, Start, error::ReadError};

/// Version of the layout of the kernel program's records. To be raised when the bytes of a record get another meaning.
pub const ABI: u32 = 1;

/// Bytes of each kind of record in this version.
pub(super) fn layout() -> BTreeMap<u32, u32> {
    [
        (record::PROC, size_of::<ProcRecord>()),
        (record::EXEC, size_of::<ExecRecord>()),
        (record::EXIT, size_of::<ExitRecord>()),
        (record::TABLE, size_of::<TableRecord>()),
        (record::MOVE, size_of::<MoveRecord>()),
        (record::CENSUS, size_of::<CensusRecord>()),
        (record::DESCRIPTOR, size_of::<DescriptorRecord>()),
        (record::SLOT, size_of::<SlotRecord>()),
        (record::REMOVED, size_of::<ExitRecord>()),
    ]
    .into_iter()
    .map(|(kind, size)| (kind, size as u32))
    .collect()
}

/// Whether a recording that starts like this can be read here.
pub(super) fn check(start: &Start) -> Result<(), ReadError> {
    if start.format == 0 {
        return Err(ReadError::Foreign("its start record is not one of fdtide's".to_owned()));
    }
    if start.format > FORMAT {
        return Err(ReadError::Newer { format: start.format, version: start.version.clone() });
    }
    // A kind that only one of the two versions knows is no obstacle: such records count as skipped.
    let ours = layout();
    let differs = |(kind, size): (&u32, &u32)| ours.get(kind).is_some_and(|here| here != size);
    if start.abi != ABI || start.layout.iter().any(differs) {
        return Err(ReadError::Layout { abi: start.abi, version: start.version.clone() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Start {
        Start { format: FORMAT, abi: ABI, layout: layout(), version: "9.9".to_owned(), ..Start::default() }
    }

    #[test]
    fn this_version_reads_its_own() {
        assert!(check(&start()).is_ok());
    }

    #[test]
    fn newer_formats_and_other_layouts_are_refused_with_their_version() {
        let newer = check(&Start { format: FORMAT + 1, ..start() }).unwrap_err();
        assert!(newer.to_string().contains("9.9"), "{newer}");
        assert!(check(&Start { abi: ABI + 1, ..start() }).unwrap_err().to_string().contains("9.9"));
        let mut other = start();
        other.layout.insert(record::EXEC, 8);
        assert!(matches!(check(&other), Err(ReadError::Layout { .. })));
        assert!(matches!(check(&Start::default()), Err(ReadError::Foreign(_))));
    }

    #[test]
    fn a_kind_that_is_not_known_here_does_not_matter() {
        let mut later = start();
        later.layout.insert(99, 8);
        assert!(check(&later).is_ok());
    }
}
