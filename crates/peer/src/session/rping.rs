//! The protocol of `rping`: the client names memory, the server reads it and writes it back.
//!
//! ```text
//! client                              server
//! SEND: address of the source   ──►   READ it
//!                               ◄──   SEND: go on
//! SEND: address of the target   ──►   WRITE what was read
//!                               ◄──   SEND: go on
//! ```

use wiremend_proto::engine::Op;

use crate::queue_pair::Post;
use crate::region::Slice;

/// A message of either end: the memory that the client names. The server's messages say nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Advertisement {
    pub(super) address: u64,
    pub(super) key: u32,
    pub(super) len: u32,
}

impl Advertisement {
    pub(super) const BYTES: usize = 16;

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Some(Self { address: u64::from(word(0)) << 32 | u64::from(word(4)), key: word(8), len: word(12) })
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.address.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.key.to_be_bytes());
        bytes[12..].copy_from_slice(&self.len.to_be_bytes());
        bytes
    }

    /// Work with the memory that it names.
    pub(super) fn post(&self, op: Op, local: Slice) -> Post {
        Post { id: 0, op, local, address: self.address, key: self.key, imm: None, operands: [0; 2] }
    }
}

/// What the server does at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Phase {
    #[default]
    AwaitsSource,
    Reads,
    AwaitsTarget,
    Writes,
}

/// The server of one client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RpingServer {
    phase: Phase,
    /// Bytes read.
    len: u32,
}

impl RpingServer {
    /// The operation that a message asks for, and its length. `None` if the message comes at a wrong time, or names
    /// more than `room`.
    pub(super) fn on_message(&mut self, advertisement: &Advertisement, room: u32) -> Option<(Op, u32)> {
        match self.phase {
            Phase::AwaitsSource if advertisement.len <= room => {
                (self.phase, self.len) = (Phase::Reads, advertisement.len);
                Some((Op::Read, self.len))
            }
            Phase::AwaitsTarget => {
                self.phase = Phase::Writes;
                Some((Op::Write, self.len.min(advertisement.len)))
            }
            _ => None,
        }
    }

    /// Whether the client may go on: the READ or WRITE is complete.
    pub(super) fn on_completion(&mut self, op: Op) -> bool {
        self.phase = match (self.phase, op) {
            (Phase::Reads, Op::Read) => Phase::AwaitsTarget,
            (Phase::Writes, Op::Write) => Phase::AwaitsSource,
            _ => return false,
        };
        true
    }

    /// Whether no ping is half done.
    pub(super) fn is_between(self) -> bool {
        self.phase == Phase::AwaitsSource
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_reads_and_writes_in_turn() {
        let named = Advertisement { address: 0x1234_5678_9ABC_DEF0, key: 7, len: 64 };
        assert_eq!(Advertisement::parse(&named.to_bytes()), Some(named));
        assert_eq!(Advertisement::parse(&named.to_bytes()[..15]), None);
        let mut server = RpingServer::default();
        assert_eq!(server.on_message(&named, 63), None);
        for _ in 0..2 {
            assert!(server.is_between());
            assert_eq!(server.on_message(&named, 64), Some((Op::Read, 64)));
            assert_eq!(server.on_message(&named, 64), None);
            assert!(!server.on_completion(Op::Send) && server.on_completion(Op::Read));
            let shorter = Advertisement { len: 10, ..named };
            assert_eq!(server.on_message(&shorter, 64), Some((Op::Write, 10)));
            assert!(!server.is_between() && server.on_completion(Op::Write));
        }
    }
}
