//! A packet of any protocol.

use wiremend_units::{Psn, QpNum};

use wiremend_wire::{NakCode, Syndrome};

use crate::{dcp, rc, sr, tcp};

/// A packet, by protocol. Congestion notifications are [`rc`] packets in every RDMA protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// A packet of a reliable connection.
    Rc(rc::Packet),
    /// A packet of a selective-repeat connection.
    Sr(sr::Packet),
    /// A packet of a connection over switches that trim.
    Dcp(dcp::Packet),
    /// A segment of a TCP connection with one or more subflows.
    Tcp(tcp::Segment),
}

/// A TCP segment with three SACK blocks is the largest packet. The enum tag takes no space beside it.
const _: () = assert!(size_of::<Packet>() == 36 && align_of::<Packet>() == 4);

impl Packet {
    /// Queue pair or connection number at the receiving end.
    #[inline]
    pub const fn dest_qp(&self) -> QpNum {
        match self {
            Self::Rc(packet) => packet.dest_qp,
            Self::Sr(packet) => packet.dest_qp(),
            Self::Dcp(packet) => packet.dest_qp(),
            Self::Tcp(segment) => segment.dest_qp(),
        }
    }

    /// Sequence number. TCP counts bytes in 32 bits; its numbers are truncated to 24 bits.
    #[inline]
    pub const fn psn(&self) -> Psn {
        match self {
            Self::Rc(packet) => packet.psn,
            Self::Sr(packet) => packet.psn(),
            Self::Dcp(packet) => packet.psn(),
            Self::Tcp(segment) => segment.psn(),
        }
    }

    /// Returns whether the packet is a response: an acknowledgement, or a READ response. A bounced DCP header
    /// is not.
    #[inline]
    pub const fn is_response(&self) -> bool {
        match self {
            Self::Rc(packet) => packet.opcode.is_response(),
            Self::Sr(packet) => matches!(packet, sr::Packet::Ack(_)),
            Self::Dcp(dcp::Packet::Data(data)) => data.is_read_data() && !data.is_bounced(),
            Self::Dcp(packet) => packet.is_for_requester(),
            Self::Tcp(segment) => !matches!(segment, tcp::Segment::Data(_)),
        }
    }

    /// Returns whether the packet requests a retransmission or a wait. TCP has no such packets.
    #[inline]
    pub const fn is_nak(&self) -> bool {
        match self {
            Self::Rc(packet) => packet.is_nak(),
            Self::Sr(packet) => packet.is_nak(),
            Self::Dcp(packet) => matches!(packet, dcp::Packet::Missing(_) | dcp::Packet::Recount(_)),
            Self::Tcp(_) => false,
        }
    }

    /// Reason code of a NAK; `None` for "receiver not ready".
    pub fn nak_code(&self) -> Option<NakCode> {
        match self {
            Self::Rc(packet) => match packet.aeth()?.syndrome {
                Syndrome::Nak(code) => Some(code),
                Syndrome::Ack { .. } | Syndrome::Rnr { .. } | Syndrome::Reserved(_) => None,
            },
            Self::Sr(sr::Packet::Ack(sr::Acknowledgement { kind: sr::AckKind::Nak(code), .. })) => {
                Some(*code)
            }
            Self::Dcp(dcp::Packet::Missing(_) | dcp::Packet::Recount(_)) => Some(NakCode::PsnSequence),
            Self::Sr(_) | Self::Dcp(_) | Self::Tcp(_) => None,
        }
    }

    /// Returns whether the packet is a dummy, which has no payload: see [`crate::mend::Dummies`].
    #[inline]
    pub const fn is_dummy(&self) -> bool {
        match self {
            Self::Rc(packet) => packet.is_dummy(),
            Self::Sr(packet) => packet.is_dummy(),
            Self::Dcp(_) | Self::Tcp(_) => false,
        }
    }

    /// Returns whether the packet carries data of a READ, or their header.
    #[inline]
    pub const fn is_read_data(&self) -> bool {
        match self {
            Self::Rc(packet) => packet.opcode.is_read_response(),
            Self::Dcp(dcp::Packet::Data(data)) => data.is_read_data(),
            Self::Dcp(_) | Self::Sr(_) | Self::Tcp(_) => false,
        }
    }

    /// Returns whether a switch has removed the payload.
    #[inline]
    pub const fn is_trimmed(&self) -> bool {
        matches!(self, Self::Dcp(dcp::Packet::Data(data)) if data.is_trimmed())
    }

    /// Length of the Ethernet frame over IPv4, from MAC header to frame check sequence. Only the length of an
    /// `rc` packet is inlined, because most packets are of that kind.
    #[inline]
    pub fn frame_len(&self) -> u16 {
        match self {
            Self::Rc(packet) => packet.frame_len(),
            Self::Sr(packet) => packet.frame_len(),
            Self::Dcp(packet) => packet.frame_len(),
            Self::Tcp(segment) => segment.frame_len(),
        }
    }
}

macro_rules! from_packet_of {
    ($($protocol:ident: $packet:ty),*) => {
        $(impl From<$packet> for Packet {
            #[inline]
            fn from(packet: $packet) -> Self {
                Self::$protocol(packet)
            }
        })*
    };
}

from_packet_of!(Rc: rc::Packet, Sr: sr::Packet, Dcp: dcp::Packet, Tcp: tcp::Segment);
