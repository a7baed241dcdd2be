//! Walks over all tasks: what they find, and what they bring back.

use std::io::Read as _;

use aya::{maps::Array, programs::Iter};
use fdtide_abi::{
    control::{Errand, glance},
    event::{TableRecord, census_reason},
};

use super::{
    attach,
    error::ProbeError,
    hooks::WALK,
    session::{Session, map_error, map_mut},
};

/// Bytes of the longest piece that a walk writes.
pub(super) const LONG: usize = size_of::<TableRecord>();
/// Signs of life of a few processes.
pub(super) const SHORT: usize = 64;

/// Why a census is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// Somebody asked.
    Asked,
    /// The trace ends.
    End,
}

impl Session {
    /// Runs the iterator program over every task.
    pub(super) fn walk(&mut self) -> Result<(), ProbeError> {
        self.walk_with(LONG, |_, _| {})
    }

    /// As [`Self::walk`], where it may tell more than the ring has room for: it stops whenever it has written so many bytes, and what
    /// is in the ring is put by.
    pub(super) fn walk_in_steps(&mut self, most: usize) -> Result<(), ProbeError> {
        self.walk_with(most, |session, _| session.empty_ring())
    }

    /// Hands over what the walk writes, in pieces of at most so many bytes; the ring can be emptied between them.
    fn walk_with(&mut self, most: usize, mut each: impl FnMut(&mut Self, &[u8])) -> Result<(), ProbeError> {
        let program = self.ebpf.program_mut(WALK.program).ok_or(ProbeError::NotInObject(WALK.program))?;
        let file = <&mut Iter>::try_from(program)
            .and_then(|program| {
                let id = program.attach()?;
                program.take_link(id)
            })
            .map_err(|source| attach::program_error(WALK.program, source))?
            .into_file();
        let mut file = file.map_err(|error| ProbeError::Walk(std::io::Error::other(error)))?;
        let mut room = [0; LONG];
        let piece = room.get_mut(..most).unwrap_or_default();
        loop {
            match file.read(&mut *piece).map_err(ProbeError::Walk)? {
                0 => return Ok(()),
                bytes => each(self, &piece[..bytes]),
            }
        }
    }

    /// The table of every traced process as it is now, as records of the ring's form, without touching a map.
    ///
    /// # Errors
    ///
    /// When the walk can't be made.
    pub fn glance(&mut self, mut sink: impl FnMut(&[u8])) -> Result<(), ProbeError> {
        self.errand(Errand::Glance, glance::LOOK_ONLY)?;
        let mut bytes = Vec::new();
        let walked = self.walk_with(LONG, |_, piece| bytes.extend_from_slice(piece));
        self.errand(Errand::Glance, 0)?;
        walked?;
        bytes.chunks_exact(size_of::<TableRecord>()).for_each(&mut sink);
        Ok(())
    }

    /// Takes a census of every traced process's table. Its records, and all that wait before them, go to `sink`.
    ///
    /// # Errors
    ///
    /// When the walk can't be made.
    pub fn census(&mut self, occasion: Occasion, mut sink: impl FnMut(&[u8])) -> Result<(), ProbeError> {
        let reason = match occasion {
            Occasion::Asked => census_reason::ASKED,
            Occasion::End => census_reason::END,
        };
        self.drain(&mut sink);
        self.errand(Errand::Census, reason)?;
        // With something to write after each process the walk stops there, and the ring is emptied before the next one.
        self.errand(Errand::Glance, glance::LOOK_ONLY)?;
        let walked = self.walk_with(LONG, |session, _| {
            session.drain(&mut sink);
        });
        self.errand(Errand::Glance, 0)?;
        self.errand(Errand::Census, 0)?;
        self.drain(&mut sink);
        walked
    }

    pub(super) fn errand(&mut self, errand: Errand, value: u32) -> Result<(), ProbeError> {
        Array::<_, u32>::try_from(map_mut(&mut self.ebpf, "ERRANDS")?)
            .and_then(|mut map| map.set(errand as u32, value, 0))
            .map_err(map_error("ERRANDS"))
    }
}
