//! A packet of a selective-repeat connection: data with its memory position, or the acknowledgement of one
//! packet.
//!
//! IRN (Mittal et al., SIGCOMM 2018, §3.1) and MP-RDMA (Lu et al., NSDI 2018, §3.2) both acknowledge with two
//! numbers: the first missing packet and the acknowledged packet. RACK needs the second number to know what
//! was delivered, and a duplicate flag like DSACK (RFC 2883). On the wire this is a `RoCEv2` acknowledgement
//! with [`ACK_EXTRA_BYTES`] more: the second number and a byte of flags.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{AethRepr, BthRepr, Extension, NakCode, Opcode, RethRepr, Syndrome};

use crate::rc;

/// A packet of a selective-repeat connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Part of a message.
    Data(Data),
    /// The acknowledgement of one packet.
    Ack(Acknowledgement),
}

/// Part of a SEND or WRITE. Each requests an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// Destination queue pair.
    pub dest_qp: QpNum,
    /// Sequence number.
    pub psn: Psn,
    imm: u32,
    /// High and low half.
    address: [u32; 2],
    remote_key: u32,
    message_len: u32,
    /// Payload bytes without padding.
    pub payload_len: u16,
    /// Opcode.
    pub opcode: Opcode,
    /// Whether a switch has marked the packet (ECN). On the wire this is in the IP header.
    pub marked: bool,
}

/// The acknowledgement of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledgement {
    /// Destination queue pair.
    pub dest_qp: QpNum,
    /// First missing PSN.
    pub expected: Psn,
    /// PSN of the acknowledged packet.
    pub trigger: Psn,
    /// Messages executed, modulo 2^24.
    pub msn: u32,
    /// ACK or NAK.
    pub kind: AckKind,
    /// Whether the packet was dropped because it is beyond the tracked range.
    pub dropped: bool,
    /// Whether the packet had arrived before.
    pub duplicate: bool,
    /// Whether a switch had marked the packet.
    pub marked: bool,
}

/// The kind of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckKind {
    /// Requests nothing.
    Ack,
    /// Reports that the expected packet is missing, or another error.
    Nak(NakCode),
}

const _: () = assert!(size_of::<Packet>() == 32 && align_of::<Packet>() == 4);

/// Bytes after the AETH of an acknowledgement: a PSN and the flags.
pub const ACK_EXTRA_BYTES: u16 = 4;
/// Bytes of a RETH.
const RETH_BYTES: u16 = 16;
/// Bytes for a receive buffer's number and an offset in it.
const SEND_POSITION_BYTES: u16 = 8;

impl Packet {
    /// Destination queue pair.
    #[inline]
    pub const fn dest_qp(&self) -> QpNum {
        match self {
            Self::Data(data) => data.dest_qp,
            Self::Ack(ack) => ack.dest_qp,
        }
    }

    /// Sequence number.
    #[inline]
    pub const fn psn(&self) -> Psn {
        match self {
            Self::Data(data) => data.psn,
            Self::Ack(ack) => ack.psn(),
        }
    }

    /// Returns whether the packet requests a retransmission or refuses a request.
    #[inline]
    pub const fn is_nak(&self) -> bool {
        matches!(self, Self::Ack(Acknowledgement { kind: AckKind::Nak(_), .. }))
    }

    /// Returns whether this is an empty WRITE without a memory key: see [`crate::mend::Dummies`].
    #[inline]
    pub const fn is_dummy(&self) -> bool {
        matches!(self, Self::Data(data) if data.is_dummy())
    }

    /// Payload bytes without padding.
    #[inline]
    pub const fn payload_len(&self) -> u16 {
        match self {
            Self::Data(data) => data.payload_len,
            Self::Ack(_) => 0,
        }
    }

    /// Sets the congestion mark of a data packet.
    #[inline]
    pub const fn marked(mut self) -> Self {
        if let Self::Data(data) = &mut self {
            data.marked = true;
        }
        self
    }

    /// Opcode, as switches and captures see it.
    #[inline]
    pub const fn opcode(&self) -> Opcode {
        match self {
            Self::Data(data) => data.opcode,
            Self::Ack(_) => Opcode::Acknowledge,
        }
    }

    /// Converts to `RoCEv2` headers, without positions for which the opcode has no header, and without the
    /// bytes after the AETH.
    ///
    /// # Panics
    ///
    /// If the opcode is not a SEND or WRITE. No requester sends such a packet.
    pub fn to_wire(&self) -> (BthRepr, Extension) {
        let bth = BthRepr::new(self.opcode(), self.dest_qp(), self.psn());
        match self {
            Self::Ack(ack) => (bth, Extension::Aeth(AethRepr { syndrome: ack.syndrome(), msn: ack.msn })),
            Self::Data(data) => {
                let extension = rc::request_extension(data.opcode, Some(data.placement()), data.imm);
                (BthRepr { ack_request: true, ..bth }, extension)
            }
        }
    }

    /// Length of the Ethernet frame over IPv4, including the position and the bytes after the AETH that plain
    /// `RoCEv2` frames do not have.
    #[inline(never)]
    pub const fn frame_len(&self) -> u16 {
        let extra = match self.opcode() {
            Opcode::Acknowledge => ACK_EXTRA_BYTES,
            Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteLastImm => RETH_BYTES,
            opcode if opcode as u8 <= Opcode::SendOnlyImm as u8 => SEND_POSITION_BYTES,
            _ => 0,
        };
        rc::frame_len(self.opcode(), self.payload_len()) + extra
    }
}

impl Data {
    /// Creates a packet with its memory position (IRN §5.3). WRITE: address of the payload, key, and length
    /// of the message. SEND: the address is the offset in the receive buffer, the key is the buffer's number.
    #[inline]
    pub const fn new(opcode: Opcode, dest_qp: QpNum, psn: Psn, placement: RethRepr) -> Self {
        Self {
            dest_qp,
            psn,
            imm: 0,
            address: [(placement.address >> 32) as u32, placement.address as u32],
            remote_key: placement.remote_key,
            message_len: placement.dma_len,
            payload_len: 0,
            opcode,
            marked: false,
        }
    }

    /// Sets the immediate data; ignored if the opcode has none.
    #[inline]
    pub const fn with_imm(mut self, imm: u32) -> Self {
        self.imm = imm;
        self
    }

    /// Sets the payload length.
    #[inline]
    pub const fn with_payload(mut self, len: u16) -> Self {
        self.payload_len = len;
        self
    }

    /// Memory position, as passed to [`Self::new`].
    #[inline]
    pub const fn placement(&self) -> RethRepr {
        let [high, low] = self.address;
        let address = (high as u64) << 32 | low as u64;
        RethRepr { address, remote_key: self.remote_key, dma_len: self.message_len }
    }

    /// Returns the immediate data, if the opcode has them.
    #[inline]
    pub const fn imm(&self) -> Option<u32> {
        if self.opcode.has_imm() { Some(self.imm) } else { None }
    }

    /// Returns whether this is an empty WRITE without a memory key.
    #[inline]
    pub const fn is_dummy(&self) -> bool {
        matches!(self.opcode, Opcode::WriteOnly) && self.remote_key == 0 && self.message_len == 0
    }
}

impl Acknowledgement {
    /// Returns whether this only acknowledges in-order packets, so that a later acknowledgement can replace
    /// it.
    pub(super) fn is_plain(&self) -> bool {
        self.kind == AckKind::Ack
            && !(self.dropped || self.duplicate || self.marked)
            && self.trigger.distance(self.expected) < 0
    }

    /// An ACK carries the PSN of the last packet in order, a NAK that of the missing one (IBA 9.7.5), which
    /// switches that repeat NAKs read.
    #[inline]
    pub const fn psn(&self) -> Psn {
        match self.kind {
            AckKind::Ack => self.expected.ahead(u32::MAX),
            AckKind::Nak(_) => self.expected,
        }
    }

    const fn syndrome(&self) -> Syndrome {
        match self.kind {
            AckKind::Ack => Syndrome::ACK,
            AckKind::Nak(code) => Syndrome::Nak(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_carry_the_psns_that_switches_read() {
        let ack = Acknowledgement {
            dest_qp: QpNum::new(1),
            expected: Psn::new(0),
            trigger: Psn::new(7),
            msn: 3,
            kind: AckKind::Ack,
            dropped: false,
            duplicate: false,
            marked: false,
        };
        let nak = Acknowledgement { kind: AckKind::Nak(NakCode::PsnSequence), ..ack };
        assert_eq!((Packet::Ack(ack).psn(), Packet::Ack(nak).psn()), (Psn::new(0xFF_FFFF), Psn::new(0)));
        assert!(!Packet::Ack(ack).is_nak() && Packet::Ack(nak).is_nak());
        assert!(!ack.is_plain(), "it acknowledges a packet out of order");
        let (bth, extension) = Packet::Ack(nak).to_wire();
        let aeth = AethRepr { syndrome: Syndrome::Nak(NakCode::PsnSequence), msn: 3 };
        assert_eq!(
            (bth.opcode, bth.psn, extension),
            (Opcode::Acknowledge, Psn::new(0), Extension::Aeth(aeth))
        );
    }

    /// A frame with 1024 payload bytes has 62 header bytes without a position; a RETH adds 16, the position
    /// of a SEND 8.
    #[test]
    fn positions_lengthen_frames_whose_opcode_has_no_reth() {
        let place = RethRepr { address: u64::MAX - 9, remote_key: 7, dma_len: 4096 };
        let data = |opcode| Data::new(opcode, QpNum::new(3), Psn::new(5), place).with_payload(1024);
        let lens = [Opcode::WriteFirst, Opcode::WriteMiddle, Opcode::SendMiddle]
            .map(|opcode| Packet::Data(data(opcode)).frame_len());
        assert_eq!(lens, [1024 + 62 + 16, 1024 + 62 + 16, 1024 + 62 + 8]);
        assert_eq!(data(Opcode::WriteMiddle).placement(), place);
    }
}
