//! Messages of an Arrow IPC stream, each with a checksum.
//!
//! A message is a marker, the length of its metadata, the metadata and the body. Metadata may be padded, and no reader of
//! Arrow looks into the padding: its last eight bytes here are `fdt1` and the CRC-32 of metadata and body, so that a flipped
//! bit is found before anything is made of it.

use std::io::{self, Read, Write};

use arrow_ipc::{root_as_message, writer::EncodedData};

const CONTINUES: [u8; 4] = [0xff; 4];
const SEAL: &[u8; 4] = b"fdt1";
/// Seal and checksum.
const TRAILER: usize = 8;
/// No metadata of ours is longer.
const METADATA: usize = 64 << 20;

/// Writes one message and gives its length, bytes.
pub(super) fn write(out: &mut impl Write, message: &EncodedData) -> io::Result<usize> {
    let metadata = &message.ipc_message;
    let padding = metadata.len().next_multiple_of(8) - metadata.len();
    let length = metadata.len() + padding + TRAILER;
    let mut bytes = Vec::with_capacity(8 + length + message.arrow_data.len());
    bytes.extend_from_slice(&CONTINUES);
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    bytes.extend_from_slice(metadata);
    bytes.resize(bytes.len() + padding, 0);
    let sum = sum(&bytes[8..], &message.arrow_data);
    bytes.extend_from_slice(SEAL);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes.extend_from_slice(&message.arrow_data);
    // In one go: what a full disk cuts off is one message.
    out.write_all(&bytes)?;
    Ok(bytes.len())
}

/// Writes the end of the stream.
pub(super) fn write_end(out: &mut impl Write) -> io::Result<()> {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&CONTINUES);
    out.write_all(&bytes)
}

/// Why there is no next message.
#[derive(Debug)]
pub(super) enum Stop {
    /// The stream ends here, in order.
    Over,
    /// The bytes end in the middle of a message, or without an end.
    Cut,
    /// What is there is not what was written.
    Damaged,
    /// The message is none of fdtide's.
    Unsealed,
    /// The bytes could not be read.
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Stop::Cut } else { Stop::Io(error) }
    }
}

/// The next message, whole and with a good checksum.
pub(super) fn read(from: &mut impl Read) -> Result<Vec<u8>, Stop> {
    let mut head = [0; 8];
    from.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    if head[..4] != CONTINUES {
        return Err(Stop::Damaged);
    }
    if length == 0 {
        return Err(Stop::Over);
    }
    if !(TRAILER..=METADATA).contains(&length) {
        return Err(Stop::Damaged);
    }
    let mut bytes = head.to_vec();
    append(from, &mut bytes, length)?;
    let start = bytes.len();
    let (metadata, trailer) = bytes[8..].split_at(length - TRAILER);
    if !trailer.starts_with(SEAL) {
        return Err(Stop::Unsealed);
    }
    let expected = [trailer[4], trailer[5], trailer[6], trailer[7]];
    let message = root_as_message(metadata).map_err(|_| Stop::Damaged)?;
    let body = usize::try_from(message.bodyLength()).map_err(|_| Stop::Damaged)?;
    append(from, &mut bytes, body)?;
    let found = sum(&bytes[8..start - TRAILER], &bytes[start..]);
    if found.to_le_bytes() == expected { Ok(bytes) } else { Err(Stop::Damaged) }
}

/// Metadata and body of a whole message.
pub(super) fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = bytes.get(4..8)?.first_chunk::<4>().map(|length| u32::from_le_bytes(*length))? as usize;
    bytes.get(8..)?.split_at_checked(length)
}

fn sum(metadata: &[u8], body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(metadata);
    sum.update(body);
    sum.finalize()
}

/// Reads so many bytes more, without trusting the length with memory.
fn append(from: &mut impl Read, bytes: &mut Vec<u8>, length: usize) -> Result<(), Stop> {
    let read = from.by_ref().take(length as u64).read_to_end(bytes)?;
    if read == length { Ok(()) } else { Err(Stop::Cut) }
}

/// Puts a good checksum on every message that can be made out.
#[cfg(test)]
pub(super) fn reseal(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 8) {
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let Some(sealed) = (at + 8 + length).checked_sub(TRAILER).filter(|end| *end <= bytes.len()) else { return };
        let Some(metadata) = bytes.get(at + 8..sealed) else { return };
        let Ok(message) = root_as_message(metadata) else { return };
        let body = usize::try_from(message.bodyLength()).unwrap_or(usize::MAX);
        let Some(body) = bytes.get(sealed + TRAILER..).and_then(|rest| rest.get(..body)) else { return };
        let (end, sum) = (sealed + TRAILER + body.len(), sum(metadata, body));
        bytes[sealed..sealed + 4].copy_from_slice(SEAL);
        bytes[sealed + 4..sealed + TRAILER].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
}
