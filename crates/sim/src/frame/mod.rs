//! The value that travels: everything about a frame that someone on its way looks at, and no bytes.

mod header;
mod store;

pub(crate) use header::{Block, Headers};
pub use header::{Header, HeaderId, Probe};
pub(crate) use store::{FrameId, Store};

use wiremend_impair::{FrameFacts, FrameKind};
use wiremend_proto::engine::Purpose;
use wiremend_proto::{Packet, dcp};
use wiremend_units::HostId;
use wiremend_wire::{Ecn, MIN_FRAME_BYTES, Opcode, WIRE_OVERHEAD_BYTES};

/// A frame. It fits a cache line.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// What it carries, and with that who makes sense of it.
    pub body: Body,
    /// Who made it.
    pub src: HostId,
    /// Where it goes.
    pub dst: HostId,
    /// Which connection of the requester's host it belongs to: late frames of a closed one are told by it. 0 without a
    /// connection.
    pub serial: u32,
    /// Bytes from MAC header to FCS, at least 64.
    pub len: u16,
    /// IP identification: one counter per NIC port.
    pub ip_id: u16,
    /// UDP source port: constant per connection, so that its packets take one path.
    pub entropy: u16,
    /// The port it came in by, at a switch.
    pub ingress: u16,
    /// Traffic class, ECN field, purpose and whether it is a copy.
    pub(crate) tags: Tags,
    /// Hops left.
    pub ttl: u8,
    /// How often it was sent before; see [`Transmit::copy`](wiremend_proto::engine::Transmit::copy).
    pub copy: u8,
    /// How often it has turned back from the way down or along to the way up or along, where switches look at that.
    pub bounces: u8,
    /// Its header on a protected link.
    pub header: HeaderId,
}

const _: () = assert!(size_of::<Frame>() <= 64);

/// What a frame carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// A packet of a connection.
    Packet(Packet),
    /// Bytes of an open-loop load.
    Raw(Raw),
    /// What the two ends of a protected link say to each other.
    Link,
    /// Nothing any more: a link has corrupted it, and its receiver will discard it.
    Corrupted,
}

/// What switches that trim may do with a frame of an open-loop load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Raw {
    /// Nothing.
    Whole,
    /// Cut it to its headers.
    Trimmable,
    /// One has done so.
    Trimmed,
}

/// Small things about a frame in one byte: traffic class (3 bits), ECN field (2), purpose (2), whether it is a copy (1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tags(u8);

impl Tags {
    const CLASS: u8 = 0b111;
    const ECN_AT: u8 = 3;
    const PURPOSE_AT: u8 = 5;
    const REPLICA: u8 = 1 << 7;

    #[inline]
    pub(crate) const fn new(class: u8, ecn: Ecn, purpose: Purpose) -> Self {
        Self(class & Self::CLASS | (ecn as u8) << Self::ECN_AT | (purpose as u8) << Self::PURPOSE_AT)
    }
}

impl Frame {
    /// A frame that a link sends for its own ends: it never leaves it.
    pub(crate) fn own() -> Self {
        Self {
            body: Body::Link,
            src: HostId(0),
            dst: HostId(1),
            serial: 0,
            len: MIN_FRAME_BYTES as u16,
            ip_id: 0,
            entropy: 0,
            ingress: 0,
            tags: Tags::new(0, Ecn::NotCapable, Purpose::New),
            ttl: 1,
            copy: 0,
            bounces: 0,
            header: HeaderId::NONE,
        }
    }

    /// Nothing to nobody, for tests.
    #[cfg(test)]
    pub(crate) fn blank() -> Self {
        Self { body: Body::Raw(Raw::Whole), ..Self::own() }
    }

    /// Traffic class, 0–7.
    #[inline]
    pub const fn class(&self) -> u8 {
        self.tags.0 & Tags::CLASS
    }

    /// Puts it into another traffic class.
    #[inline]
    pub(crate) const fn set_class(&mut self, class: u8) {
        self.tags.0 = self.tags.0 & !Tags::CLASS | class & Tags::CLASS;
    }

    /// The same in another traffic class.
    pub(crate) const fn with_class(mut self, class: u8) -> Self {
        self.set_class(class);
        self
    }

    /// Whether switches may mark it, and whether one has.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self.tags.0 >> Tags::ECN_AT & 0b11 {
            0b00 => Ecn::NotCapable,
            0b01 => Ecn::Capable1,
            0b10 => Ecn::Capable0,
            _ => Ecn::Congested,
        }
    }

    /// A switch marks it for congestion.
    #[inline]
    pub(crate) const fn mark(&mut self) {
        self.tags.0 |= (Ecn::Congested as u8) << Tags::ECN_AT;
    }

    /// Why it was sent.
    #[inline]
    pub const fn purpose(&self) -> Purpose {
        match self.tags.0 >> Tags::PURPOSE_AT & 0b11 {
            0b00 => Purpose::New,
            0b01 => Purpose::Again,
            0b10 => Purpose::Dummy,
            _ => Purpose::Repeat,
        }
    }

    /// A switch made it as a copy of another, or it is a segment of TCP that a link has sent again.
    #[inline]
    pub const fn is_replica(&self) -> bool {
        self.tags.0 & Tags::REPLICA != 0
    }

    /// The same as a copy that a switch makes.
    pub(crate) const fn replica(mut self) -> Self {
        self.tags.0 |= Tags::REPLICA;
        self
    }

    /// The packet, if it belongs to a connection.
    #[inline]
    pub const fn packet(&self) -> Option<&Packet> {
        if let Body::Packet(packet) = &self.body { Some(packet) } else { None }
    }

    /// It belongs to a TCP connection.
    #[inline]
    pub const fn is_tcp(&self) -> bool {
        matches!(self.body, Body::Packet(Packet::Tcp(_)))
    }

    /// A switch has cut its payload off.
    #[inline]
    pub const fn is_trimmed(&self) -> bool {
        match &self.body {
            Body::Packet(packet) => packet.is_trimmed(),
            Body::Raw(raw) => matches!(raw, Raw::Trimmed),
            Body::Link | Body::Corrupted => false,
        }
    }

    /// Cuts it to its headers and puts it into another class. DCP's simulator marks what it trims as congested, so that
    /// what is returned counts as a notification.
    ///
    /// # Panics
    ///
    /// If nobody would make sense of its headers.
    pub(crate) fn trim(&mut self, class: u8) {
        match &mut self.body {
            Body::Packet(Packet::Dcp(dcp::Packet::Data(data))) => *data = data.trimmed(),
            Body::Raw(raw) => *raw = Raw::Trimmed,
            other => panic!("{other:?} cannot be cut"),
        }
        self.len = dcp::TRIMMED_BYTES;
        self.set_class(class);
        if self.ecn() != Ecn::NotCapable {
            self.mark();
        }
    }

    /// The same, as a link sends it again. Answers of other transports are counted as copies by the same sign, which these are not.
    pub(crate) fn sent_again(&self) -> Self {
        if self.is_tcp() { self.replica() } else { *self }
    }

    /// What an impairment may look at.
    pub(crate) fn facts(&self) -> FrameFacts {
        let (kind, psn) = match &self.body {
            Body::Packet(Packet::Rc(packet)) if packet.opcode == Opcode::Cnp => (FrameKind::Other, None),
            Body::Packet(packet) => (kind_of(packet), Some(packet.psn())),
            Body::Raw(_) | Body::Link | Body::Corrupted => (FrameKind::Other, None),
        };
        FrameFacts {
            frame_bytes: u32::from(self.len),
            ip_id: Some(self.ip_id),
            kind,
            psn,
            copy: self.copy,
            link: None,
        }
    }
}

/// What a packet is to an impairment.
fn kind_of(packet: &Packet) -> FrameKind {
    match packet {
        Packet::Rc(packet) if packet.opcode == Opcode::ReadRequest => FrameKind::ReadRequest,
        Packet::Rc(packet) if packet.opcode.is_read_response() => FrameKind::ReadResponse,
        packet if packet.is_nak() => FrameKind::Nak,
        packet if packet.is_response() => FrameKind::Ack,
        _ => FrameKind::Data,
    }
}

/// Preamble and gap: what a frame occupies on the wire beyond its own bytes.
pub(crate) const GAP_BYTES: u64 = WIRE_OVERHEAD_BYTES as u64;
