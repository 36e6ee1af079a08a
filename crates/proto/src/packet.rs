//! A packet of any protocol: what travels between hosts that speak several.

use wiremend_units::{Psn, QpNum};

use wiremend_wire::{NakCode, Syndrome};

use crate::{dcp, rc, sr, tcp};

/// A packet, by the protocol whose ends make sense of it. Congestion notifications are packets of [`rc`] in every
/// protocol of RDMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Of a reliable connection.
    Rc(rc::Packet),
    /// Of a connection that repeats selectively.
    Sr(sr::Packet),
    /// Of a connection over switches that trim.
    Dcp(dcp::Packet),
    /// Of a TCP connection, with one subflow or several.
    Tcp(tcp::Segment),
}

/// Three acknowledgement blocks of TCP take most; nothing else pays for telling protocols apart.
const _: () = assert!(size_of::<Packet>() == 36 && align_of::<Packet>() == 4);

impl Packet {
    /// The number of the connection at the end that shall receive it.
    #[inline]
    pub const fn dest_qp(&self) -> QpNum {
        match self {
            Self::Rc(packet) => packet.dest_qp,
            Self::Sr(packet) => packet.dest_qp(),
            Self::Dcp(packet) => packet.dest_qp(),
            Self::Tcp(segment) => segment.dest_qp(),
        }
    }

    /// Its sequence number. Those of TCP, which count bytes in 32 bits, are cut to 24.
    #[inline]
    pub const fn psn(&self) -> Psn {
        match self {
            Self::Rc(packet) => packet.psn,
            Self::Sr(packet) => packet.psn(),
            Self::Dcp(packet) => packet.psn(),
            Self::Tcp(segment) => segment.psn(),
        }
    }

    /// It answers a request: an acknowledgement, or data that were asked for. A header that comes back is none.
    #[inline]
    pub const fn is_response(&self) -> bool {
        match self {
            Self::Rc(packet) => packet.opcode.is_response(),
            Self::Sr(packet) => matches!(packet, sr::Packet::Ack(_)),
            Self::Dcp(packet) => !matches!(packet, dcp::Packet::Data(_)),
            Self::Tcp(segment) => !matches!(segment, tcp::Segment::Data(_)),
        }
    }

    /// It asks for something again, or to wait. TCP has no such packets.
    #[inline]
    pub const fn is_nak(&self) -> bool {
        match self {
            Self::Rc(packet) => packet.is_nak(),
            Self::Sr(packet) => packet.is_nak(),
            Self::Dcp(packet) => matches!(packet, dcp::Packet::Missing(_) | dcp::Packet::Recount(_)),
            Self::Tcp(_) => false,
        }
    }

    /// Why a NAK refuses what it names; "receiver not ready" is no reason of these.
    pub fn nak_code(&self) -> Option<NakCode> {
        match self {
            Self::Rc(packet) => match packet.aeth()?.syndrome {
                Syndrome::Nak(code) => Some(code),
                Syndrome::Ack { .. } | Syndrome::Rnr { .. } | Syndrome::Reserved(_) => None,
            },
            Self::Sr(sr::Packet::Ack(sr::Acknowledgement { verdict: sr::Verdict::Nak(code), .. })) => {
                Some(*code)
            }
            Self::Dcp(dcp::Packet::Missing(_) | dcp::Packet::Recount(_)) => Some(NakCode::PsnSequence),
            Self::Sr(_) | Self::Dcp(_) | Self::Tcp(_) => None,
        }
    }

    /// It carries nothing and names no memory: see [`crate::mend::Dummies`].
    #[inline]
    pub const fn is_dummy(&self) -> bool {
        match self {
            Self::Rc(packet) => packet.is_dummy(),
            Self::Sr(packet) => packet.is_dummy(),
            Self::Dcp(_) | Self::Tcp(_) => false,
        }
    }

    /// A switch has cut its payload off.
    #[inline]
    pub const fn is_trimmed(&self) -> bool {
        matches!(self, Self::Dcp(dcp::Packet::Data(data)) if data.is_trimmed())
    }

    /// The length of the Ethernet frame that carries it over IPv4, from MAC header to frame check sequence. Only go-back-N's is inlined,
    /// because most packets are of it.
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
