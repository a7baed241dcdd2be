//! Records of the ring in few bytes, so that a fuzzer changes what they say, and not only their length.
//!
//! A record is the byte of its kind, a count, and so many patches: offset (two bytes, little-endian), length, bytes. They are put
//! over zeros with the right header, and may change that too. A kind that there is not gives a record without a header.

use std::mem::offset_of;

use fdtide_abi::event::{
    CensusRecord, DescriptorRecord, ExecRecord, ExitRecord, Header, MoveRecord, ProcRecord, SlotRecord, TableRecord,
    record,
};

/// Bit of the kind's byte: a look of the agent, not a record.
pub const LOOK: u8 = 0x80;
/// Records of one input that are read.
const MOST: usize = 200;
/// Equal bytes between two patches that are not worth a new one.
const GAP: usize = 12;

/// Bytes of a record of this kind.
fn size(kind: u8) -> Option<usize> {
    Some(match u32::from(kind) {
        record::PROC => size_of::<ProcRecord>(),
        record::EXEC => size_of::<ExecRecord>(),
        record::EXIT | record::REMOVED => size_of::<ExitRecord>(),
        record::TABLE => size_of::<TableRecord>(),
        record::MOVE => size_of::<MoveRecord>(),
        record::CENSUS => size_of::<CensusRecord>(),
        record::DESCRIPTOR => size_of::<DescriptorRecord>(),
        record::SLOT => size_of::<SlotRecord>(),
        _ => return None,
    })
}

/// Zeros with the right header.
fn blank(kind: u8) -> Vec<u8> {
    let Some(size) = size(kind) else { return vec![0; usize::from(kind)] };
    let mut bytes = vec![0; size];
    bytes[offset_of!(Header, kind)] = kind;
    bytes[offset_of!(Header, len)..][..2].copy_from_slice(&(size as u16).to_le_bytes());
    bytes
}

/// The records of an input, each with whether it is a look. Every input has some meaning.
#[must_use]
pub fn unpack(mut input: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut records = Vec::new();
    while let [head, count, rest @ ..] = input
        && records.len() < MOST
    {
        input = rest;
        let mut record = blank(head & !LOOK);
        for _ in 0..*count {
            let [low, high, length, rest @ ..] = input else { break };
            let (patch, rest) = rest.split_at(rest.len().min(usize::from(*length)));
            input = rest;
            let at = usize::from(u16::from_le_bytes([*low, *high]));
            let room = record.get_mut(at..).unwrap_or_default();
            room.iter_mut().zip(patch).for_each(|(to, from)| *to = *from);
        }
        records.push((head & LOOK != 0, record));
    }
    records
}

/// The opposite, for records that have a known kind and fit.
#[must_use]
pub fn pack(look: bool, record: &[u8]) -> Vec<u8> {
    let kind = record.first().copied().unwrap_or(0);
    let blank = blank(kind);
    let differs: Vec<usize> = (0..blank.len().min(record.len())).filter(|at| blank[*at] != record[*at]).collect();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in differs {
        match runs.last_mut() {
            Some((start, end)) if at < *end + GAP && at < *start + 255 => *end = at + 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs.truncate(255);
    let mut out = vec![kind | if look { LOOK } else { 0 }, runs.len() as u8];
    for (start, end) in runs {
        out.extend_from_slice(&(start as u16).to_le_bytes());
        out.push((end - start) as u8);
        out.extend_from_slice(&record[start..end]);
    }
    out
}
