//! The headers of a trimming transport inside the words of a [`Packet`].
//!
//! Data, whole or cut: the unit's number (24 bits) and its round (8) lie in the last word. The three before it hold the
//! place: of a WRITE the address of this very packet and the key, of a SEND the number of the receive buffer (SSN)
//! and the offset in it. Answers: the AETH, whose MSN is eMSN, the number of units that are there; then how many packets
//! and how many cut ones have come, and how many pulls were granted. A report of missing packets is a NAK for the
//! first of them, with a map of the 64 that follow in the places of immediate data and pulls; the wish for a new round is a
//! NAK with the round in place of the map.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{AethRepr, NakCode, Opcode, Syndrome};

use crate::rc::{Op, Packet};

/// What every data packet says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) psn: Psn,
    /// Number of the unit, 24 bits.
    pub(super) unit: u32,
    pub(super) round: u8,
    pub(super) place: Target,
}

/// Where the payload goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Memory { address: u64, key: u32 },
    Buffer { number: u32, offset: u32 },
}

impl Header {
    pub(super) fn write(self, packet: Packet, ends_unit: bool) -> Packet {
        let last = self.unit << 8 | self.round as u32;
        let words = match self.place {
            Target::Memory { address, key } => [(address >> 32) as u32, address as u32, key, last],
            Target::Buffer { number, offset } => [number & UNIT_MASK, offset, 0, last],
        };
        packet.with_words(words).placed(ends_unit)
    }

    /// `None`: the packet does not carry its place.
    pub(super) fn read(packet: &Packet, op: Op) -> Option<Self> {
        if !packet.is_placed() {
            return None;
        }
        let [a, b, c, last] = packet.words();
        let place = match op {
            Op::Write => Target::Memory { address: (a as u64) << 32 | b as u64, key: c },
            Op::Send => Target::Buffer { number: a, offset: b },
            Op::Read => return None,
        };
        Some(Self { psn: packet.psn, unit: last >> 8, round: last as u8, place })
    }
}

/// How far the receiver is; part of every answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Progress {
    /// Units that are there, 24 bits.
    pub(super) expected_unit: u32,
    /// Packets that came whole, doubles included.
    pub(super) arrived: u32,
    /// Packets that came without their payload.
    pub(super) cut: u32,
    /// Pulls granted.
    pub(super) pulls: u32,
}

/// What an answer says beside the progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// Nothing.
    Progress,
    /// The number in the packet is missing, and those after it whose bits are set.
    Missing { map: u64 },
    /// The unit that starts with the number in the packet cannot be counted in this round.
    Recount { round: u8 },
}

impl Progress {
    pub(super) fn write(self, peer: QpNum, psn: Psn, answer: Answer) -> Packet {
        let syndrome =
            if answer == Answer::Progress { Syndrome::ACK } else { Syndrome::Nak(NakCode::PsnSequence) };
        let packet = Packet::acknowledge(peer, psn, AethRepr { syndrome, msn: self.expected_unit });
        let aeth = packet.words()[0];
        let (low, high) = match answer {
            Answer::Progress => (0, self.pulls),
            Answer::Missing { map } => (map as u32, (map >> 32) as u32),
            Answer::Recount { round } => (round as u32, 0),
        };
        let packet = packet.with_words([aeth, self.arrived, self.cut, high]).with_imm(low).placed(false);
        if matches!(answer, Answer::Recount { .. }) { packet.recounting() } else { packet }
    }

    /// `None`: it is no answer of a trimming transport. Pulls are not told where a map stands in their place.
    pub(super) fn read(packet: &Packet) -> Option<(Self, Answer)> {
        if packet.opcode != Opcode::Acknowledge || !packet.is_placed() {
            return None;
        }
        let aeth = packet.aeth()?;
        let [_, arrived, cut, high] = packet.words();
        let low = packet.imm_word();
        let (answer, pulls) = match aeth.syndrome {
            Syndrome::Ack { .. } => (Answer::Progress, high),
            Syndrome::Nak(NakCode::PsnSequence) if packet.is_recount() => {
                (Answer::Recount { round: low as u8 }, 0)
            }
            Syndrome::Nak(NakCode::PsnSequence) => {
                (Answer::Missing { map: (high as u64) << 32 | low as u64 }, 0)
            }
            _ => return None,
        };
        Some((Self { expected_unit: aeth.msn, arrived, cut, pulls }, answer))
    }
}

/// Units are counted in 24 bits, as messages are (IBA 9.7.7.1).
pub(super) const UNIT_MASK: u32 = (1 << 24) - 1;

/// The 64-bit number whose low 24 bits are `low` and that lies nearest to `near`; none if that is below zero.
pub(super) fn widen(near: u64, low: u32) -> Option<u64> {
    near.checked_add_signed(Psn::new(low).distance(Psn::new(near as u32)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_read_back() {
        let bare = |opcode| Packet::new(opcode, QpNum::new(3), Psn::new(5));
        let memory = Target::Memory { address: u64::MAX - 8, key: 7 };
        let buffer = Target::Buffer { number: 9, offset: 1 << 30 };
        let cases = [(Opcode::WriteMiddle, Op::Write, memory), (Opcode::SendLast, Op::Send, buffer)];
        for (opcode, op, place) in cases {
            let header = Header { psn: Psn::new(5), unit: 0xFF_FFFF, round: 250, place };
            let packet = header.write(bare(opcode), true);
            assert_eq!(Header::read(&packet, op), Some(header));
            assert_eq!(Header::read(&packet.trimmed(), op), Some(header), "a switch cuts the payload alone");
            assert!(packet.ends_unit() && !packet.is_dummy());
            assert_eq!(Header::read(&bare(opcode), op), None);
        }
    }

    #[test]
    fn answers_read_back() {
        let progress = Progress { expected_unit: 8, arrived: u32::MAX, cut: 3, pulls: 0 };
        let answers =
            [Answer::Progress, Answer::Missing { map: 1 << 63 | 5 }, Answer::Recount { round: 255 }];
        for answer in answers {
            let packet = progress.write(QpNum::new(3), Psn::new(5), answer);
            assert_eq!(Progress::read(&packet), Some((progress, answer)));
            assert_eq!(packet.is_nak(), answer != Answer::Progress);
        }
        let ack =
            Packet::acknowledge(QpNum::new(3), Psn::new(5), AethRepr { syndrome: Syndrome::ACK, msn: 0 });
        assert_eq!(Progress::read(&ack), None);
    }

    #[test]
    fn short_numbers_widen_to_the_nearest() {
        assert_eq!(widen(0x0100_0000, 0xFF_FFFF), Some(0xFF_FFFF));
        assert_eq!(widen(0xFF_FFFF, 1), Some(0x0100_0001));
        assert_eq!(widen(3, 0xFF_FFFF), None);
    }
}
