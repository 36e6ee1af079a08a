//! A packet of a trimming transport: data that carry their own place, whole or cut, or an answer.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{AethRepr, BthRepr, Extension, MIN_FRAME_BYTES, NakCode, Opcode, RethRepr, Syndrome};

use crate::engine::Op;
use crate::rc;
use crate::rc::inbound::Shape;

/// A packet. Answers name what they are about with their sequence number, and all tell the receiver's progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Part of a message, or its header alone.
    Data(Data),
    /// Nothing is asked for: how far things are.
    Ack(Ack),
    /// Packets came neither whole nor cut.
    Missing(Missing),
    /// A unit cannot be counted in its round.
    Recount(Recount),
}

/// Part of a SEND or WRITE, whole or cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// The connection that shall receive it.
    pub dest_qp: QpNum,
    /// Its sequence number.
    pub psn: Psn,
    imm: u32,
    /// The unit's number above the round.
    unit: u32,
    /// WRITE: address (high, low), key. SEND: number of the receive buffer, offset, unused.
    place: [u32; 3],
    /// Bytes of payload, without padding.
    pub payload_len: u16,
    /// What it is.
    pub opcode: Opcode,
    flags: u8,
}

/// Everything before the sequence number is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The connection that shall receive it.
    pub dest_qp: QpNum,
    /// Before it, everything came.
    pub psn: Psn,
    /// How far the receiver is.
    pub progress: Progress,
    /// Pulls granted.
    pub pulls: u32,
}

/// The packet with the sequence number is missing, and perhaps others after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The connection that shall receive it.
    pub dest_qp: QpNum,
    /// The first that is missing.
    pub psn: Psn,
    /// How far the receiver is.
    pub progress: Progress,
    /// High and low half.
    map: [u32; 2],
}

/// The unit that starts with the sequence number shall be sent and counted anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recount {
    /// The connection that shall receive it.
    pub dest_qp: QpNum,
    /// The first of the unit.
    pub psn: Psn,
    /// How far the receiver is.
    pub progress: Progress,
    /// The round that cannot be counted.
    pub round: u8,
}

/// How far the receiver is; part of every answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Units that are there (eMSN), 24 bits.
    pub expected_unit: u32,
    /// Packets that came whole, doubles included.
    pub arrived: u32,
    /// Packets that came without their payload.
    pub cut: u32,
}

/// Where the payload goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Of a WRITE: remote memory.
    Memory {
        /// The address of this very payload.
        address: u64,
        /// The key of the memory.
        key: u32,
    },
    /// Of a SEND: a receive buffer.
    Buffer {
        /// Its number (SSN), 24 bits.
        number: u32,
        /// Where in it.
        offset: u32,
    },
}

const _: () = assert!(size_of::<Packet>() == 32 && align_of::<Packet>() == 4);

/// A header-only packet: Ethernet 14, IPv4 20, UDP 8, BTH 12 and 3 bytes of message number are 57, and 61 with the frame check
/// sequence, which Ethernet pads.
pub const TRIMMED_BYTES: u16 = MIN_FRAME_BYTES as u16;

const ACK_REQ: u8 = 1;
const UNIT_END: u8 = 2;
const PROBE: u8 = 4;
const TRIMMED: u8 = 8;
const BOUNCED: u8 = 16;

/// Units are counted in 24 bits, as messages are (IBA 9.7.7.1).
pub(super) const UNIT_MASK: u32 = (1 << 24) - 1;

impl Data {
    /// A packet of a unit and its round, without payload or flags. The operation of `opcode` is that of `place`.
    pub const fn new(opcode: Opcode, dest_qp: QpNum, psn: Psn, unit: u32, round: u8, place: Target) -> Self {
        let place = match place {
            Target::Memory { address, key } => [(address >> 32) as u32, address as u32, key],
            Target::Buffer { number, offset } => [number & UNIT_MASK, offset, 0],
        };
        Self { dest_qp, psn, imm: 0, unit: unit << 8 | round as u32, place, payload_len: 0, opcode, flags: 0 }
    }

    /// The same with immediate data; they count only if the opcode has them.
    pub const fn with_imm(mut self, imm: u32) -> Self {
        self.imm = imm;
        self
    }

    /// The same with that much payload.
    pub const fn with_payload(mut self, len: u16) -> Self {
        self.payload_len = len;
        self
    }

    /// The same, which wants an acknowledgement or not.
    pub const fn with_ack_req(self, wanted: bool) -> Self {
        self.with(ACK_REQ, wanted)
    }

    /// The same as the last of what is counted together, or not.
    pub const fn with_unit_end(self, is: bool) -> Self {
        self.with(UNIT_END, is)
    }

    /// The same as a question that carries nothing.
    pub const fn probing(mut self) -> Self {
        self.payload_len = 0;
        self.with(PROBE, true)
    }

    /// The same without its payload: what a switch leaves of a packet that it has no room for.
    #[inline]
    pub const fn trimmed(mut self) -> Self {
        self.payload_len = 0;
        self.with(TRIMMED, true)
    }

    /// What a receiver makes of a header that a switch has left: the same header on its way back to the requester.
    pub const fn bounced(mut self, requester: QpNum) -> Self {
        self.dest_qp = requester;
        self.trimmed().with(BOUNCED, true)
    }

    const fn with(mut self, flag: u8, set: bool) -> Self {
        self.flags = if set { self.flags | flag } else { self.flags & !flag };
        self
    }

    /// The number of the unit (24 bits) and its round, which stay when the payload is cut off.
    pub const fn unit(&self) -> (u32, u8) {
        (self.unit >> 8, self.unit as u8)
    }

    /// Where the payload goes; a SEND into a receive buffer, anything else into memory.
    pub const fn place(&self) -> Target {
        let [a, b, c] = self.place;
        if self.is_send() {
            Target::Buffer { number: a, offset: b }
        } else {
            Target::Memory { address: (a as u64) << 32 | b as u64, key: c }
        }
    }

    /// Its place in its message; `None` if it is no SEND or WRITE.
    pub(super) fn shape(&self) -> Option<Shape> {
        Shape::of(self.opcode).filter(|shape| shape.op != Op::Read)
    }

    const fn is_send(&self) -> bool {
        self.opcode as u8 <= Opcode::SendOnlyImm as u8
    }

    /// The immediate data, if the opcode has them.
    pub const fn imm(&self) -> Option<u32> {
        if self.opcode.has_imm() { Some(self.imm) } else { None }
    }

    /// Its sender wants an acknowledgement.
    pub const fn ack_req(&self) -> bool {
        self.flags & ACK_REQ != 0
    }

    /// It is the last of what is counted together.
    pub const fn ends_unit(&self) -> bool {
        self.flags & UNIT_END != 0
    }

    /// It asks what is missing and carries nothing.
    pub const fn is_probe(&self) -> bool {
        self.flags & PROBE != 0
    }

    /// A switch has cut its payload off.
    #[inline]
    pub const fn is_trimmed(&self) -> bool {
        self.flags & TRIMMED != 0
    }

    /// It is on its way back, without its payload.
    #[inline]
    pub const fn is_bounced(&self) -> bool {
        self.flags & BOUNCED != 0
    }

    fn extension(&self) -> Extension {
        let [high, low, remote_key] = self.place;
        let address = (high as u64) << 32 | low as u64;
        let reth = RethRepr { address, remote_key, dma_len: self.payload_len.into() };
        rc::request_extension(self.opcode, Some(reth), self.imm)
    }

    /// The bytes between the extension headers of the opcode and the payload: unit and round, then the place where the
    /// opcode has none, then the sum of hashes of a unit, which is zero, since a receiver of this kind adds it up itself.
    fn behind_headers(&self) -> Vec<u32> {
        let [a, b, c] = self.place;
        let mut words = match self.opcode {
            Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteLastImm => {
                vec![self.unit, a, b, c, u32::from(self.payload_len)]
            }
            _ if self.is_send() => vec![self.unit, a, b],
            _ => vec![self.unit],
        };
        if self.ends_unit() {
            words.extend([0, 0]);
        }
        words
    }
}

impl Missing {
    /// The packet with the number `psn` is missing, and those after it whose bits are set in `map`.
    pub const fn new(dest_qp: QpNum, psn: Psn, progress: Progress, map: u64) -> Self {
        Self { dest_qp, psn, progress, map: [(map >> 32) as u32, map as u32] }
    }

    /// The 64 packets after the first: which of them are missing, too.
    pub const fn map(&self) -> u64 {
        let [high, low] = self.map;
        (high as u64) << 32 | low as u64
    }
}

impl Packet {
    /// The connection that shall receive it.
    #[inline]
    pub const fn dest_qp(&self) -> QpNum {
        match self {
            Self::Data(data) => data.dest_qp,
            Self::Ack(ack) => ack.dest_qp,
            Self::Missing(missing) => missing.dest_qp,
            Self::Recount(recount) => recount.dest_qp,
        }
    }

    /// Its sequence number.
    #[inline]
    pub const fn psn(&self) -> Psn {
        match self {
            Self::Data(data) => data.psn,
            Self::Ack(ack) => ack.psn,
            Self::Missing(missing) => missing.psn,
            Self::Recount(recount) => recount.psn,
        }
    }

    /// Bytes of payload, without padding.
    #[inline]
    pub const fn payload_len(&self) -> u16 {
        match self {
            Self::Data(data) => data.payload_len,
            Self::Ack(_) | Self::Missing(_) | Self::Recount(_) => 0,
        }
    }

    /// What it is, as switches and captures see it.
    #[inline]
    pub const fn opcode(&self) -> Opcode {
        match self {
            Self::Data(data) => data.opcode,
            Self::Ack(_) | Self::Missing(_) | Self::Recount(_) => Opcode::Acknowledge,
        }
    }

    /// The headers of `RoCEv2` that it carries on the wire. Where the opcode has a RETH, that is the place of this packet's own
    /// bytes; else the place is in [`Self::wire_bytes`].
    ///
    /// # Panics
    ///
    /// If the operation is no SEND or WRITE. No requester sends such a packet.
    pub fn to_wire(&self) -> (BthRepr, Extension) {
        let bth = BthRepr::new(self.opcode(), self.dest_qp(), self.psn());
        let nak = Syndrome::Nak(NakCode::PsnSequence);
        let (syndrome, progress) = match self {
            Self::Data(data) => {
                return (BthRepr { ack_request: data.ack_req(), ..bth }, data.extension());
            }
            Self::Ack(ack) => (Syndrome::ACK, ack.progress),
            Self::Missing(missing) => (nak, missing.progress),
            Self::Recount(recount) => (nak, recount.progress),
        };
        (bth, Extension::Aeth(AethRepr { syndrome, msn: progress.expected_unit }))
    }

    /// The bytes that a whole packet carries between the headers of [`Self::to_wire`] and the payload. Behind the AETH of an answer
    /// come the totals of packets that came whole and cut, then pulls, or a map of what is missing.
    pub fn wire_bytes(&self) -> Vec<u8> {
        let totals = |progress: &Progress| [progress.arrived, progress.cut];
        let words = match self {
            Self::Data(data) => data.behind_headers(),
            Self::Ack(ack) => [&totals(&ack.progress)[..], &[ack.pulls]].concat(),
            Self::Missing(missing) => [totals(&missing.progress), missing.map].concat(),
            Self::Recount(recount) => [totals(&recount.progress), [0, u32::from(recount.round)]].concat(),
        };
        words.into_iter().flat_map(u32::to_be_bytes).collect()
    }

    /// Bytes that a whole packet takes on the wire beyond those of its opcode.
    ///
    /// Behind the BTH and the extension headers of its opcode, data carry the number of their unit (3 B) and the round (1 B), which a
    /// switch that trims keeps with the BTH. Then comes the place, where the opcode has none: of a WRITE the RETH (16 B), of a SEND the
    /// receive buffer (SSN) and the offset (4 B each). The last packet of a unit adds the sum of hashes (8 B). Answers add
    /// the totals of packets that came whole and cut (4 B each), then pulls (4 B) or a map of what is missing (8 B).
    #[inline]
    pub(super) const fn extra_bytes(&self) -> u16 {
        const UNIT: u16 = 4;
        match self {
            Self::Ack(_) => 12,
            Self::Missing(_) | Self::Recount(_) => 16,
            Self::Data(data) => {
                let end = if data.ends_unit() { 8 } else { 0 };
                let place = match data.opcode {
                    Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteLastImm => 16,
                    _ if data.is_send() => 8,
                    _ => 0,
                };
                UNIT + place + end
            }
        }
    }

    /// The length of the Ethernet frame that carries it over IPv4, whole or cut.
    #[inline(never)]
    pub const fn frame_len(&self) -> u16 {
        match self {
            Self::Data(data) if data.is_trimmed() => TRIMMED_BYTES,
            _ => rc::frame_len(self.opcode(), self.payload_len()) + self.extra_bytes(),
        }
    }
}

/// The 64-bit number whose low 24 bits are `low` and that lies nearest to `near`; none if that is below zero.
pub(super) fn widen(near: u64, low: u32) -> Option<u64> {
    near.checked_add_signed(Psn::new(low).distance(Psn::new(near as u32)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_read_back() {
        let memory = Target::Memory { address: u64::MAX - 8, key: 7 };
        let buffer = Target::Buffer { number: 9, offset: 1 << 30 };
        for (opcode, place) in [(Opcode::WriteMiddle, memory), (Opcode::SendLast, buffer)] {
            let data =
                Data::new(opcode, QpNum::new(3), Psn::new(5), 0xFF_FFFF, 250, place).with_unit_end(true);
            let cut = data.with_payload(100).trimmed();
            for packet in [data, cut, cut.bounced(QpNum::new(7))] {
                assert_eq!(
                    (packet.unit(), packet.place()),
                    ((0xFF_FFFF, 250), place),
                    "a switch cuts the payload alone"
                );
                assert!(packet.ends_unit() && packet.payload_len == 0);
            }
            assert_eq!(Packet::Data(cut).frame_len(), TRIMMED_BYTES);
        }
    }

    #[test]
    fn answers_are_as_long_as_what_they_say() {
        let progress = Progress { expected_unit: 8, arrived: u32::MAX, cut: 3 };
        let (dest_qp, psn) = (QpNum::new(3), Psn::new(5));
        let missing = Missing::new(dest_qp, psn, progress, 1 << 63 | 5);
        assert_eq!(missing.map(), 1 << 63 | 5);
        let answers = [
            Packet::Ack(Ack { dest_qp, psn, progress, pulls: 4 }),
            Packet::Missing(missing),
            Packet::Recount(Recount { dest_qp, psn, progress, round: 255 }),
        ];
        for answer in answers {
            assert_eq!(answer.wire_bytes().len(), usize::from(answer.extra_bytes()));
            let (bth, extension) = answer.to_wire();
            let is_nak = extension.aeth().is_some_and(|aeth| aeth.syndrome.is_nak());
            assert_eq!((bth.psn, is_nak), (psn, !matches!(answer, Packet::Ack(_))));
        }
    }

    #[test]
    fn short_numbers_widen_to_the_nearest() {
        assert_eq!(widen(0x0100_0000, 0xFF_FFFF), Some(0xFF_FFFF));
        assert_eq!(widen(0xFF_FFFF, 1), Some(0x0100_0001));
        assert_eq!(widen(3, 0xFF_FFFF), None);
    }
}
