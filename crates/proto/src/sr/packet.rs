//! A packet of a connection that repeats selectively: data that carry their own place, or the answer to one packet.
//!
//! IRN (Mittal et al., SIGCOMM 2018, §3.1) and MP-RDMA (Lu et al., NSDI 2018, §3.2) both answer with two numbers: how far
//! everything has come, and which packet is answered; RACK needs the second to know what was delivered, and a word about
//! duplicates as DSACK (RFC 2883) says it. On the wire an answer is an acknowledgement of `RoCEv2` with [`SAID_BYTES`]
//! more: the second number and a byte of flags.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{AethRepr, BthRepr, Extension, NakCode, Opcode, RethRepr, Syndrome};

use crate::rc;

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Part of a message.
    Data(Data),
    /// An answer to one packet.
    Ack(Acknowledgement),
}

/// Part of a SEND or WRITE. Each asks for an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// The queue pair that shall receive it.
    pub dest_qp: QpNum,
    /// Its sequence number.
    pub psn: Psn,
    imm: u32,
    /// High and low half.
    address: [u32; 2],
    remote_key: u32,
    message_len: u32,
    /// Bytes of payload, without padding.
    pub payload_len: u16,
    /// What it is.
    pub opcode: Opcode,
    /// A switch has marked it for congestion. On the wire this stands in the IP header.
    pub marked: bool,
}

/// An answer to one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledgement {
    /// The queue pair that shall receive it.
    pub dest_qp: QpNum,
    /// The first number that has not arrived.
    pub expected: Psn,
    /// The packet that is answered.
    pub trigger: Psn,
    /// Messages executed: 24 bits.
    pub msn: u32,
    /// What kind of answer it is.
    pub verdict: Verdict,
    /// The packet was dropped, because it lies beyond what the responder can track.
    pub dropped: bool,
    /// The packet had arrived before.
    pub duplicate: bool,
    /// A switch had marked the packet for congestion.
    pub marked: bool,
}

/// What kind of answer it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing is asked for.
    Ack,
    /// What is expected is missing, or whatever else the code says.
    Nak(NakCode),
}

const _: () = assert!(size_of::<Packet>() == 32 && align_of::<Packet>() == 4);

/// Bytes that follow the AETH of an answer: a PSN and the flags.
pub const SAID_BYTES: u16 = 4;
/// Bytes of a RETH.
const RETH_BYTES: u16 = 16;
/// A receive buffer's number and an offset in it.
const SEND_PLACE_BYTES: u16 = 8;

impl Packet {
    /// The queue pair that shall receive it.
    #[inline]
    pub const fn dest_qp(&self) -> QpNum {
        match self {
            Self::Data(data) => data.dest_qp,
            Self::Ack(ack) => ack.dest_qp,
        }
    }

    /// Its sequence number.
    #[inline]
    pub const fn psn(&self) -> Psn {
        match self {
            Self::Data(data) => data.psn,
            Self::Ack(ack) => ack.psn(),
        }
    }

    /// It asks for something again, or refuses it.
    #[inline]
    pub const fn is_nak(&self) -> bool {
        matches!(self, Self::Ack(Acknowledgement { verdict: Verdict::Nak(_), .. }))
    }

    /// An empty WRITE that names no memory: see [`crate::mend::Dummies`].
    #[inline]
    pub const fn is_dummy(&self) -> bool {
        matches!(self, Self::Data(data) if data.is_dummy())
    }

    /// Bytes of payload, without padding.
    #[inline]
    pub const fn payload_len(&self) -> u16 {
        match self {
            Self::Data(data) => data.payload_len,
            Self::Ack(_) => 0,
        }
    }

    /// The same as its receiver sees it when a switch has marked its IP header for congestion.
    #[inline]
    pub const fn marked(mut self) -> Self {
        if let Self::Data(data) = &mut self {
            data.marked = true;
        }
        self
    }

    /// What it is, as switches and captures see it.
    #[inline]
    pub const fn opcode(&self) -> Opcode {
        match self {
            Self::Data(data) => data.opcode,
            Self::Ack(_) => Opcode::Acknowledge,
        }
    }

    /// The headers of `RoCEv2` that say the same on the wire, but for places that the opcode has no room for, and for what
    /// an answer says behind its AETH.
    ///
    /// # Panics
    ///
    /// If the operation is no SEND or WRITE. No requester sends such a packet.
    pub fn to_wire(&self) -> (BthRepr, Extension) {
        let bth = BthRepr::new(self.opcode(), self.dest_qp(), self.psn());
        match self {
            Self::Ack(ack) => (bth, Extension::Aeth(AethRepr { syndrome: ack.syndrome(), msn: ack.msn })),
            Self::Data(data) => {
                let extension = rc::request_extension(data.opcode, Some(data.place()), data.imm);
                (BthRepr { ack_request: true, ..bth }, extension)
            }
        }
    }

    /// The length of the Ethernet frame that carries it over IPv4: its place, or what an answer says, comes on top of what
    /// its opcode takes.
    #[inline(never)]
    pub const fn frame_len(&self) -> u16 {
        let extra = match self.opcode() {
            Opcode::Acknowledge => SAID_BYTES,
            Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteLastImm => RETH_BYTES,
            opcode if opcode as u8 <= Opcode::SendOnlyImm as u8 => SEND_PLACE_BYTES,
            _ => 0,
        };
        rc::frame_len(self.opcode(), self.payload_len()) + extra
    }
}

impl Data {
    /// A packet with its place (IRN §5.3). Of a WRITE that is the address of its payload, the key, and the length of its
    /// message; of a SEND the offset in its receive buffer as address, and which buffer that is as key.
    #[inline]
    pub const fn new(opcode: Opcode, dest_qp: QpNum, psn: Psn, place: RethRepr) -> Self {
        Self {
            dest_qp,
            psn,
            imm: 0,
            address: [(place.address >> 32) as u32, place.address as u32],
            remote_key: place.remote_key,
            message_len: place.dma_len,
            payload_len: 0,
            opcode,
            marked: false,
        }
    }

    /// The same with immediate data; they count only if the opcode has them.
    #[inline]
    pub const fn with_imm(mut self, imm: u32) -> Self {
        self.imm = imm;
        self
    }

    /// The same with that much payload.
    #[inline]
    pub const fn with_payload(mut self, len: u16) -> Self {
        self.payload_len = len;
        self
    }

    /// Its place, as given to [`Self::new`].
    #[inline]
    pub const fn place(&self) -> RethRepr {
        let [high, low] = self.address;
        let address = (high as u64) << 32 | low as u64;
        RethRepr { address, remote_key: self.remote_key, dma_len: self.message_len }
    }

    /// The immediate data, if the opcode has them.
    #[inline]
    pub const fn imm(&self) -> Option<u32> {
        if self.opcode.has_imm() { Some(self.imm) } else { None }
    }

    /// An empty WRITE that names no memory.
    #[inline]
    pub const fn is_dummy(&self) -> bool {
        matches!(self.opcode, Opcode::WriteOnly) && self.remote_key == 0 && self.message_len == 0
    }
}

impl Acknowledgement {
    /// Nothing but that everything up to a packet has arrived: a later one says the same and more.
    pub(super) fn is_plain(&self) -> bool {
        self.verdict == Verdict::Ack
            && !(self.dropped || self.duplicate || self.marked)
            && self.trigger.distance(self.expected) < 0
    }

    /// An ACK carries the number of the last packet in order, a NAK that of the missing one (IBA 9.7.5), as switches
    /// that repeat NAKs read it.
    #[inline]
    pub const fn psn(&self) -> Psn {
        match self.verdict {
            Verdict::Ack => self.expected.ahead(u32::MAX),
            Verdict::Nak(_) => self.expected,
        }
    }

    const fn syndrome(&self) -> Syndrome {
        match self.verdict {
            Verdict::Ack => Syndrome::ACK,
            Verdict::Nak(code) => Syndrome::Nak(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_carry_the_numbers_that_switches_read() {
        let ack = Acknowledgement {
            dest_qp: QpNum::new(1),
            expected: Psn::new(0),
            trigger: Psn::new(7),
            msn: 3,
            verdict: Verdict::Ack,
            dropped: false,
            duplicate: false,
            marked: false,
        };
        let nak = Acknowledgement { verdict: Verdict::Nak(NakCode::PsnSequence), ..ack };
        assert_eq!((Packet::Ack(ack).psn(), Packet::Ack(nak).psn()), (Psn::new(0xFF_FFFF), Psn::new(0)));
        assert!(!Packet::Ack(ack).is_nak() && Packet::Ack(nak).is_nak());
        assert!(!ack.is_plain(), "it is about a packet out of order");
        let (bth, extension) = Packet::Ack(nak).to_wire();
        let aeth = AethRepr { syndrome: Syndrome::Nak(NakCode::PsnSequence), msn: 3 };
        assert_eq!(
            (bth.opcode, bth.psn, extension),
            (Opcode::Acknowledge, Psn::new(0), Extension::Aeth(aeth))
        );
    }

    /// A frame of 1024 bytes takes 62 more without a place; a RETH takes 16, the place of a SEND 8, an answer 4.
    #[test]
    fn places_take_room_where_the_opcode_has_none() {
        let place = RethRepr { address: u64::MAX - 9, remote_key: 7, dma_len: 4096 };
        let data = |opcode| Data::new(opcode, QpNum::new(3), Psn::new(5), place).with_payload(1024);
        let lens = [Opcode::WriteFirst, Opcode::WriteMiddle, Opcode::SendMiddle]
            .map(|opcode| Packet::Data(data(opcode)).frame_len());
        assert_eq!(lens, [1024 + 62 + 16, 1024 + 62 + 16, 1024 + 62 + 8]);
        assert_eq!(data(Opcode::WriteMiddle).place(), place);
    }
}
