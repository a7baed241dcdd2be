//! What is followed just now, read from the kernel program's maps: for recordings that begin in the middle of a trace.

use std::collections::BTreeMap;

use aya::maps::{HashMap, MapError};
use fdtide_abi::{
    OFFSET_NONE, Offsets, ProcRow, TableState,
    event::{Header, ProcRecord, record},
};

use super::{
    error::ProbeError,
    load::Wire,
    session::{Session, boot_ns, bytes_of, map, map_error},
};

impl Session {
    /// The processes that are followed now, as records of the ring's form, oldest first. Not for the hot path.
    ///
    /// # Errors
    ///
    /// When a map can't be read.
    pub fn processes(&self, mut sink: impl FnMut(&[u8])) -> Result<(), ProbeError> {
        let at_ns = boot_ns();
        let rows = HashMap::<_, u32, Wire<ProcRow>>::try_from(map(&self.ebpf, "PROCS")?).map_err(map_error("PROCS"))?;
        let tables =
            HashMap::<_, u64, Wire<TableState>>::try_from(map(&self.ebpf, "TABLES")?).map_err(map_error("TABLES"))?;
        let mut found = Vec::new();
        for entry in rows.iter() {
            match entry {
                Ok((_, row)) => found.push(row.0),
                Err(MapError::KeyNotFound) => {}
                Err(error) => return Err(map_error("PROCS")(error)),
            }
        }
        // The map may be walked twice in part while it changes.
        found.sort_by_key(|row| (row.start_ns, row.tgid));
        found.dedup_by_key(|row| (row.start_ns, row.tgid));
        for row in found {
            let head = tables.get(&row.files, 0).ok().map(|state| state.0.head);
            let record = ProcRecord {
                header: Header { kind: record::PROC, len: size_of::<ProcRecord>() as u32, at_ns },
                row,
                live: head.map_or(0, |head| head.live),
                soft: head.map_or(0, |head| head.soft),
            };
            sink(bytes_of(&record));
        }
        Ok(())
    }

    /// Where the members of kernel structures were found, byte offsets.
    #[must_use]
    pub fn offsets(&self) -> BTreeMap<String, u32> {
        let found = |wish: &fdtide_abi::offsets::Wish| {
            let offset = (wish.get)(&self.offsets);
            (offset != OFFSET_NONE).then(|| (wish.field.to_owned(), offset))
        };
        Offsets::WISHES.iter().filter_map(found).collect()
    }
}
