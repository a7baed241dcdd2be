//! Records between the ring and whoever takes them.
//!
//! The ring is memory that every trace pays for, twice as far as the agent's resident memory shows it, and it has to hold
//! what comes while records are being made sense of, which takes far longer than copying them. So everything that waits is
//! copied out first, and again after every few records: what a burst needs beyond the ring is the agent's own memory, for as
//! long as the burst lasts.

use std::collections::VecDeque;

/// Bytes kept at most; what comes then waits in the ring, and is counted there if it finds no room.
const MOST: usize = 64 << 20;
/// Bytes of one piece.
const PIECE: usize = 256 << 10;

/// Copies of records, first in first out.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    pieces: VecDeque<Piece>,
}

/// Records one after the other, each after its length.
#[derive(Debug, Default)]
struct Piece {
    bytes: Vec<u8>,
    read: usize,
}

impl Backlog {
    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.pieces.len() < MOST / PIECE
    }

    /// Adds a copy of a record.
    pub(super) fn push(&mut self, record: &[u8]) {
        let needed = size_of::<u32>() + record.len();
        if self.pieces.back().is_none_or(|piece| piece.bytes.len() + needed > PIECE) {
            self.pieces.push_back(Piece { bytes: Vec::with_capacity(PIECE.max(needed)), read: 0 });
        }
        if let Some(piece) = self.pieces.back_mut() {
            piece.bytes.extend_from_slice(&(record.len() as u32).to_ne_bytes());
            piece.bytes.extend_from_slice(record);
        }
    }

    /// Hands over the first record. False if there is none.
    pub(super) fn pop(&mut self, sink: impl FnOnce(&[u8])) -> bool {
        let Some(piece) = self.pieces.front_mut() else { return false };
        let Some((length, rest)) = piece.bytes.get(piece.read..).and_then(|bytes| bytes.split_first_chunk()) else {
            return false;
        };
        let length = u32::from_ne_bytes(*length) as usize;
        sink(rest.get(..length).unwrap_or_default());
        piece.read += size_of::<u32>() + length;
        if piece.read == piece.bytes.len() {
            self.used_up();
        }
        true
    }

    /// The first piece has been read. The last one is kept for what comes next, so that quiet times allocate nothing.
    fn used_up(&mut self) {
        if self.pieces.len() > 1 {
            self.pieces.pop_front();
        } else if let Some(piece) = self.pieces.front_mut() {
            piece.bytes.clear();
            piece.read = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_as_and_in_the_order_in_which_they_went_in() {
        let mut backlog = Backlog::default();
        let record = |i: usize| vec![i as u8; i * 37 % 4099];
        let mut next = 0;
        for i in 0..3000 {
            backlog.push(&record(i));
            if i % 3 == 0 {
                assert!(backlog.pop(|bytes| assert_eq!(bytes, record(next))));
                next += 1;
            }
        }
        while backlog.pop(|bytes| assert_eq!(bytes, record(next))) {
            next += 1;
        }
        assert_eq!(next, 3000);
        assert_eq!(backlog.pieces.len(), 1, "one piece is kept");
    }

    #[test]
    fn it_is_full_at_some_point_and_has_room_again_later() {
        let mut backlog = Backlog::default();
        let mut pushed = 0;
        while backlog.has_room() {
            backlog.push(&[7; 4000]);
            pushed += 1;
        }
        let a_piece = PIECE / (4000 + size_of::<u32>());
        assert_eq!(pushed, (MOST / PIECE - 1) * a_piece + 1);
        let mut popped = 0;
        while !backlog.has_room() {
            assert!(backlog.pop(|bytes| assert_eq!(bytes, [7; 4000])));
            popped += 1;
        }
        assert_eq!(popped, a_piece);
    }
}
