//! A packet of a trimming transport: data with its memory position, complete or trimmed, or a response.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{AethRepr, BthRepr, Extension, MIN_FRAME_BYTES, NakCode, Opcode, RethRepr, Syndrome};

use crate::rc;
use crate::rc::inbound::PacketShape;

/// A packet. The sequence number of a response names its subject. All responses report the receiver's
/// progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Part of a message, or only its header.
    Data(Data),
    /// An acknowledgement, which requests nothing.
    Ack(Ack),
    /// A report of packets that arrived neither complete nor trimmed.
    Missing(MissingReport),
    /// A request to resend a unit that cannot be counted in its present round.
    Recount(RecountRequest),
}

/// Part of a SEND, a WRITE or the data of a READ, complete or trimmed, or the request of a READ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// Destination connection.
    pub dest_qp: QpNum,
    /// Sequence number.
    pub psn: Psn,
    /// Immediate data; length of a READ in its request; in its data the low half of the local address.
    imm: u32,
    /// Number of the unit (high 24 bits) and its round (low 8 bits).
    unit: u32,
    /// WRITE, request of a READ: address (high, low), key. SEND: number of the receive buffer, offset, unused.
    /// Data of a READ: number of the READ, offset, high half of the local address.
    target: [u32; 3],
    /// Payload bytes without padding.
    pub payload_len: u16,
    /// Opcode.
    pub opcode: Opcode,
    flags: u8,
}

/// An acknowledgement of everything before its sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Destination connection.
    pub dest_qp: QpNum,
    /// Everything before this number has arrived.
    pub psn: Psn,
    /// Progress of the receiver.
    pub progress: ReceiverProgress,
    /// Total of pulls granted.
    pub pulls: u32,
}

/// A report that the packet with its sequence number is missing, and possibly others after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissingReport {
    /// Destination connection.
    pub dest_qp: QpNum,
    /// First missing packet.
    pub psn: Psn,
    /// Progress of the receiver.
    pub progress: ReceiverProgress,
    /// High and low half.
    map: [u32; 2],
}

/// A request to resend and recount the unit that starts with its sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecountRequest {
    /// Destination connection.
    pub dest_qp: QpNum,
    /// First packet of the unit.
    pub psn: Psn,
    /// Progress of the receiver.
    pub progress: ReceiverProgress,
    /// The round that cannot be counted.
    pub round: u8,
}

/// Progress of the receiver; part of every response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverProgress {
    /// Complete units (eMSN), modulo 2^24, and [`FROM_READER`](Self::FROM_READER) above them.
    pub expected_unit: u32,
    /// Packets that arrived complete, duplicates included.
    pub arrived: u32,
    /// Packets that arrived trimmed.
    pub trimmed: u32,
}

impl ReceiverProgress {
    /// Set in `expected_unit` if the requester reports progress, of the data of its READs.
    pub const FROM_READER: u32 = 1 << 31;

    /// Returns whether this is the progress of the data of READs.
    #[inline]
    pub const fn is_from_reader(&self) -> bool {
        self.expected_unit & Self::FROM_READER != 0
    }

    /// Sets the origin to a requester that reads.
    pub(super) const fn of_reader(mut self) -> Self {
        self.expected_unit |= Self::FROM_READER;
        self
    }

    /// Clears the origin, for the half that sends data.
    pub(super) const fn of_data(mut self) -> Self {
        self.expected_unit &= UNIT_MASK;
        self
    }
}

/// Destination of the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadTarget {
    /// WRITE: remote memory.
    Memory {
        /// Address of this packet's payload.
        address: u64,
        /// Memory key.
        key: u32,
    },
    /// SEND: a receive buffer.
    Buffer {
        /// Number of the buffer (SSN), 24 bits.
        number: u32,
        /// Offset in the buffer, in bytes.
        offset: u32,
    },
}

const _: () = assert!(size_of::<Packet>() == 32 && align_of::<Packet>() == 4);

/// Frame length of a trimmed packet: Ethernet 14, IPv4 20, UDP 8, BTH 12 and 3 bytes of message number are
/// 57, and 61 with the frame check sequence, which Ethernet pads.
pub const TRIMMED_BYTES: u16 = MIN_FRAME_BYTES as u16;

const ACK_REQ: u8 = 1;
const UNIT_END: u8 = 2;
const PROBE: u8 = 4;
const TRIMMED: u8 = 8;
const BOUNCED: u8 = 16;

/// Units are counted in 24 bits, like messages (IBA 9.7.7.1).
pub(super) const UNIT_MASK: u32 = (1 << 24) - 1;

impl Data {
    /// Creates a packet of a unit and round, without payload or flags. `opcode` and `target` must have the
    /// same operation.
    pub const fn new(
        opcode: Opcode,
        dest_qp: QpNum,
        psn: Psn,
        unit: u32,
        round: u8,
        target: PayloadTarget,
    ) -> Self {
        let target = match target {
            PayloadTarget::Memory { address, key } => [(address >> 32) as u32, address as u32, key],
            PayloadTarget::Buffer { number, offset } => [number & UNIT_MASK, offset, 0],
        };
        Self {
            dest_qp,
            psn,
            imm: 0,
            unit: unit << 8 | round as u32,
            target,
            payload_len: 0,
            opcode,
            flags: 0,
        }
    }

    /// Sets the immediate data; ignored if the opcode has none.
    pub const fn with_imm(mut self, imm: u32) -> Self {
        self.imm = imm;
        self
    }

    /// Sets the payload length.
    pub const fn with_payload(mut self, len: u16) -> Self {
        self.payload_len = len;
        self
    }

    /// Sets or clears the request for an acknowledgement.
    pub const fn with_ack_req(self, wanted: bool) -> Self {
        self.with_flag(ACK_REQ, wanted)
    }

    /// Sets or clears the flag of the last packet of a unit.
    pub const fn with_unit_end(self, is: bool) -> Self {
        self.with_flag(UNIT_END, is)
    }

    /// Converts to a probe without payload.
    pub const fn as_probe(mut self) -> Self {
        self.payload_len = 0;
        self.with_flag(PROBE, true)
    }

    /// Removes the payload, as a switch does that has no room for the packet.
    #[inline]
    pub const fn trimmed(mut self) -> Self {
        self.payload_len = 0;
        self.with_flag(TRIMMED, true)
    }

    /// Converts a trimmed packet to the header that the receiver returns to the requester.
    pub const fn bounced(mut self, requester: QpNum) -> Self {
        self.dest_qp = requester;
        self.trimmed().with_flag(BOUNCED, true)
    }

    const fn with_flag(mut self, flag: u8, set: bool) -> Self {
        self.flags = if set { self.flags | flag } else { self.flags & !flag };
        self
    }

    /// Number of the unit (24 bits) and its round, which trimming does not remove.
    pub const fn unit(&self) -> (u32, u8) {
        (self.unit >> 8, self.unit as u8)
    }

    /// Destination of the payload: a receive buffer for SEND and for the data of a READ, else memory.
    pub const fn target(&self) -> PayloadTarget {
        let [a, b, c] = self.target;
        if self.fills_buffer() {
            PayloadTarget::Buffer { number: a, offset: b }
        } else {
            PayloadTarget::Memory { address: (a as u64) << 32 | b as u64, key: c }
        }
    }

    /// Position in the message; `None` if this is no request.
    pub(super) const fn shape(&self) -> Option<PacketShape> {
        PacketShape::from_opcode(self.opcode)
    }

    const fn fills_buffer(&self) -> bool {
        self.opcode as u8 <= Opcode::SendOnlyImm as u8 || self.is_read_data()
    }

    /// Returns whether this is data of a READ, or a header of it.
    #[inline]
    pub const fn is_read_data(&self) -> bool {
        self.opcode.is_read_response()
    }

    /// Address and length of a READ, from its request.
    pub(super) const fn read_range(&self) -> (u64, u32) {
        let [high, low, _] = self.target;
        ((high as u64) << 32 | low as u64, self.imm)
    }

    /// Converts a SEND, which fills the buffer of a READ, to data of that READ.
    pub(super) const fn into_read_data(mut self) -> Self {
        self.opcode = match self.opcode {
            Opcode::SendFirst => Opcode::ReadResponseFirst,
            Opcode::SendMiddle => Opcode::ReadResponseMiddle,
            Opcode::SendLast => Opcode::ReadResponseLast,
            _ => Opcode::ReadResponseOnly,
        };
        self
    }

    /// Converts data of a READ to a SEND that fills the buffer of the READ.
    pub(super) const fn as_send(mut self) -> Self {
        self.opcode = match self.opcode {
            Opcode::ReadResponseFirst => Opcode::SendFirst,
            Opcode::ReadResponseMiddle => Opcode::SendMiddle,
            Opcode::ReadResponseLast => Opcode::SendLast,
            _ => Opcode::SendOnly,
        };
        self
    }

    /// Sets the local address of the data of a READ.
    pub(super) const fn with_source(mut self, address: u64) -> Self {
        (self.target[2], self.imm) = ((address >> 32) as u32, address as u32);
        self
    }

    /// Local address of the data of a READ at their sender. It is not on the wire and is undefined in a
    /// received packet.
    pub const fn source(&self) -> Option<u64> {
        if self.is_read_data() { Some((self.target[2] as u64) << 32 | self.imm as u64) } else { None }
    }

    /// Returns the immediate data, if the opcode has them.
    pub const fn imm(&self) -> Option<u32> {
        if self.opcode.has_imm() { Some(self.imm) } else { None }
    }

    /// Returns whether the sender requests an acknowledgement.
    pub const fn ack_req(&self) -> bool {
        self.flags & ACK_REQ != 0
    }

    /// Returns whether this is the last packet of a unit.
    pub const fn ends_unit(&self) -> bool {
        self.flags & UNIT_END != 0
    }

    /// Returns whether this is a probe, which requests a report of missing packets.
    pub const fn is_probe(&self) -> bool {
        self.flags & PROBE != 0
    }

    /// Returns whether a switch has removed the payload.
    #[inline]
    pub const fn is_trimmed(&self) -> bool {
        self.flags & TRIMMED != 0
    }

    /// Returns whether this is a returned header.
    #[inline]
    pub const fn is_bounced(&self) -> bool {
        self.flags & BOUNCED != 0
    }

    fn extension(&self) -> Extension {
        let [high, low, remote_key] = self.target;
        let address = (high as u64) << 32 | low as u64;
        if self.is_read_data() {
            let aeth = AethRepr { syndrome: Syndrome::ACK, msn: self.target[0] };
            return if self.opcode == Opcode::ReadResponseMiddle {
                Extension::Bare
            } else {
                Extension::Aeth(aeth)
            };
        }
        let dma_len = if self.opcode == Opcode::ReadRequest { self.imm } else { self.payload_len.into() };
        let reth = RethRepr { address, remote_key, dma_len };
        rc::request_extension(self.opcode, Some(reth), self.imm)
    }

    /// Fields of 32 bits between the extension headers of the opcode and the payload: unit and round, then the memory
    /// position if the opcode has no RETH, then the hash sum of a unit, which is zero, because this receiver
    /// computes it itself.
    fn extra_fields(&self) -> Vec<u32> {
        let [a, b, c] = self.target;
        let mut words = match self.opcode {
            Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteLastImm => {
                vec![self.unit, a, b, c, u32::from(self.payload_len)]
            }
            _ if self.fills_buffer() => vec![self.unit, a, b],
            _ => vec![self.unit],
        };
        if self.ends_unit() {
            words.extend([0, 0]);
        }
        words
    }
}

impl MissingReport {
    /// Creates a report that packet `psn` is missing, and those after it whose bits are set in `map`.
    pub const fn new(dest_qp: QpNum, psn: Psn, progress: ReceiverProgress, map: u64) -> Self {
        Self { dest_qp, psn, progress, map: [(map >> 32) as u32, map as u32] }
    }

    /// Bitmap of the 64 packets after the first: set bits are missing packets.
    pub const fn map(&self) -> u64 {
        let [high, low] = self.map;
        (high as u64) << 32 | low as u64
    }
}

impl Packet {
    /// Destination connection.
    #[inline]
    pub const fn dest_qp(&self) -> QpNum {
        match self {
            Self::Data(data) => data.dest_qp,
            Self::Ack(ack) => ack.dest_qp,
            Self::Missing(missing) => missing.dest_qp,
            Self::Recount(recount) => recount.dest_qp,
        }
    }

    /// Sequence number.
    #[inline]
    pub const fn psn(&self) -> Psn {
        match self {
            Self::Data(data) => data.psn,
            Self::Ack(ack) => ack.psn,
            Self::Missing(missing) => missing.psn,
            Self::Recount(recount) => recount.psn,
        }
    }

    /// Returns whether the packet is for the requester: a response, data of a READ, or a header that returns
    /// to it.
    #[inline]
    pub const fn is_for_requester(&self) -> bool {
        match self {
            Self::Data(data) => data.is_read_data() != data.is_bounced(),
            Self::Ack(Ack { progress, .. })
            | Self::Missing(MissingReport { progress, .. })
            | Self::Recount(RecountRequest { progress, .. }) => !progress.is_from_reader(),
        }
    }

    /// Returns whether this is data or their header, and not a response.
    #[inline]
    pub const fn is_data(&self) -> bool {
        matches!(self, Self::Data(_))
    }

    /// Payload bytes without padding.
    #[inline]
    pub const fn payload_len(&self) -> u16 {
        match self {
            Self::Data(data) => data.payload_len,
            Self::Ack(_) | Self::Missing(_) | Self::Recount(_) => 0,
        }
    }

    /// Opcode, as switches and captures see it.
    #[inline]
    pub const fn opcode(&self) -> Opcode {
        match self {
            Self::Data(data) => data.opcode,
            Self::Ack(_) | Self::Missing(_) | Self::Recount(_) => Opcode::Acknowledge,
        }
    }

    /// Converts to `RoCEv2` headers. If the opcode has a RETH, it holds the position of this packet's own
    /// bytes; else the position is in [`Self::wire_bytes`].
    ///
    /// # Panics
    ///
    /// If the opcode is not one of a SEND, WRITE or READ. No engine sends such a packet.
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
        // Acknowledgements do not request one: here the bit is that of a requester that reads.
        let bth = BthRepr { ack_request: progress.is_from_reader(), ..bth };
        (bth, Extension::Aeth(AethRepr { syndrome, msn: progress.expected_unit & UNIT_MASK }))
    }

    /// Bytes of a complete packet between the headers of [`Self::to_wire`] and the payload. After the AETH of
    /// a response come the totals of complete and trimmed packets, then pulls, or a map of missing packets.
    pub fn wire_bytes(&self) -> Vec<u8> {
        let totals = |progress: &ReceiverProgress| [progress.arrived, progress.trimmed];
        let words = match self {
            Self::Data(data) => data.extra_fields(),
            Self::Ack(ack) => [&totals(&ack.progress)[..], &[ack.pulls]].concat(),
            Self::Missing(missing) => [totals(&missing.progress), missing.map].concat(),
            Self::Recount(recount) => [totals(&recount.progress), [0, u32::from(recount.round)]].concat(),
        };
        words.into_iter().flat_map(u32::to_be_bytes).collect()
    }

    /// Bytes of a complete packet on the wire beyond those of its opcode.
    ///
    /// After the BTH and the extension headers of its opcode, data carry the number of their unit (3 B) and
    /// the round (1 B), which a trimming switch keeps with the BTH. Then comes the position if the opcode has
    /// none: the RETH of a WRITE (16 B), or the receive buffer (SSN) and the offset of a SEND (4 B each), or
    /// the number of a READ and the offset in its data. The last packet of a unit adds the hash sum (8 B). Responses add the totals of complete and trimmed
    /// packets (4 B each), then pulls (4 B) or a map of missing packets (8 B).
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
                    _ if data.fills_buffer() => 8,
                    _ => 0,
                };
                UNIT + place + end
            }
        }
    }

    /// Length of the Ethernet frame over IPv4, complete or trimmed.
    #[inline(never)]
    pub const fn frame_len(&self) -> u16 {
        match self {
            Self::Data(data) if data.is_trimmed() => TRIMMED_BYTES,
            _ => rc::frame_len(self.opcode(), self.payload_len()) + self.extra_bytes(),
        }
    }
}

/// Returns the 64-bit number with low 24 bits `low` that is nearest to `near`; `None` if it is negative.
pub(super) fn widen(near: u64, low: u32) -> Option<u64> {
    near.checked_add_signed(Psn::new(low).distance(Psn::new(near as u32)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_keeps_unit_round_and_target() {
        let memory = PayloadTarget::Memory { address: u64::MAX - 8, key: 7 };
        let buffer = PayloadTarget::Buffer { number: 9, offset: 1 << 30 };
        for (opcode, place) in [(Opcode::WriteMiddle, memory), (Opcode::SendLast, buffer)] {
            let data =
                Data::new(opcode, QpNum::new(3), Psn::new(5), 0xFF_FFFF, 250, place).with_unit_end(true);
            let trimmed = data.with_payload(100).trimmed();
            for packet in [data, trimmed, trimmed.bounced(QpNum::new(7))] {
                assert_eq!(
                    (packet.unit(), packet.target()),
                    ((0xFF_FFFF, 250), place),
                    "a switch removes only the payload"
                );
                assert!(packet.ends_unit() && packet.payload_len == 0);
            }
            assert_eq!(Packet::Data(trimmed).frame_len(), TRIMMED_BYTES);
        }
    }

    #[test]
    fn responses_have_as_many_wire_bytes_as_are_counted() {
        let progress = ReceiverProgress { expected_unit: 8, arrived: u32::MAX, trimmed: 3 };
        let (dest_qp, psn) = (QpNum::new(3), Psn::new(5));
        let missing = MissingReport::new(dest_qp, psn, progress, 1 << 63 | 5);
        assert_eq!(missing.map(), 1 << 63 | 5);
        let responses = [
            Packet::Ack(Ack { dest_qp, psn, progress, pulls: 4 }),
            Packet::Missing(missing),
            Packet::Recount(RecountRequest { dest_qp, psn, progress, round: 255 }),
        ];
        for response in responses {
            assert_eq!(response.wire_bytes().len(), usize::from(response.extra_bytes()));
            let (bth, extension) = response.to_wire();
            let is_nak = extension.aeth().is_some_and(|aeth| aeth.syndrome.is_nak());
            assert_eq!((bth.psn, is_nak), (psn, !matches!(response, Packet::Ack(_))));
        }
    }

    #[test]
    fn short_numbers_widen_to_the_nearest_long_number() {
        assert_eq!(widen(0x0100_0000, 0xFF_FFFF), Some(0xFF_FFFF));
        assert_eq!(widen(0xFF_FFFF, 1), Some(0x0100_0001));
        assert_eq!(widen(3, 0xFF_FFFF), None);
    }
}
