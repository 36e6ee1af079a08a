//! Frames: all header fields that some node reads, and no payload bytes.

mod header;
mod packed_header;
mod path_ports;
mod repeat_state;
mod store;

pub use header::{Header, Probe};
pub(crate) use header::{Headers, ParityBlock};
pub(crate) use packed_header::PackedHeader;
pub(crate) use path_ports::PathPorts;
pub(crate) use repeat_state::{connection_sequence, frame_sequence};
pub(crate) use store::{FrameId, FrameStore};

use wiremend_impair::{FrameFacts, FrameKind};
use wiremend_proto::engine::Purpose;
use wiremend_proto::{Packet, dcp};
use wiremend_units::HostId;
use wiremend_wire::{Ecn, MIN_FRAME_BYTES, Opcode, WIRE_OVERHEAD_BYTES};

/// A frame. It fits into a cache line.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The content.
    pub body: Body,
    /// The sending host.
    pub src: HostId,
    /// The destination host.
    pub dst: HostId,
    /// Number of the connection on the requester's host. It identifies late frames of a closed connection. 0
    /// without a connection.
    pub serial: u32,
    /// Bytes from MAC header to FCS, at least 64.
    pub len: u16,
    /// IP identification: one counter per NIC port.
    pub ip_id: u16,
    /// UDP source port: constant per connection, so that all its packets take one path.
    pub entropy: u16,
    /// Traffic class, ECN field, purpose and replica bit.
    pub(crate) tags: Tags,
    /// Remaining hops.
    pub ttl: u8,
    /// How often the packet was sent before; see [`Transmit::copy`](wiremend_proto::engine::Transmit::copy).
    pub copy: u8,
    /// How often the frame turned from a downward or level lane to an upward or level one, if switches count
    /// that.
    pub bounces: u8,
    /// Whether it has a link header, on a protected link.
    pub has_header: bool,
    /// The output ports of its path.
    pub(crate) ports: PathPorts,
    /// Whether a switch has cut the payload off: the same as in the body, but found without branches.
    pub(crate) trimmed: bool,
}

const _: () = assert!(size_of::<Frame>() <= 64);

/// The content of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// A packet of a connection.
    Packet(Packet),
    /// A frame of an open-loop load.
    Raw(TrimState),
    /// A control frame between the two ends of a link.
    Link,
    /// A frame that a link has lost.
    Lost(LossCause),
}

/// Why a link has lost a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossCause {
    /// It was corrupted; the receiver discards it.
    Corruption,
    /// The link has failed, and nothing arrives.
    Failure {
        /// Whether the frame was a response of a connection.
        is_response: bool,
    },
    /// The link has failed, and the sending port has kept the frame for another path.
    Kept,
}

/// Whether switches may trim a frame of an open-loop load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrimState {
    /// Switches must not trim it.
    Whole,
    /// Switches may cut it to its headers.
    Trimmable,
    /// A switch has cut it to its headers.
    Trimmed,
}

/// Flags of a frame in one byte: traffic class (3 bits), ECN field (2), purpose (2), replica (1).
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
    /// Returns a control frame of a link. It never leaves the link.
    pub(crate) fn link_frame() -> Self {
        Self {
            body: Body::Link,
            src: HostId(0),
            dst: HostId(1),
            serial: 0,
            len: MIN_FRAME_BYTES as u16,
            ip_id: 0,
            entropy: 0,
            tags: Tags::new(0, Ecn::NotEct, Purpose::New),
            ttl: 1,
            copy: 0,
            bounces: 0,
            has_header: false,
            ports: PathPorts::default(),
            trimmed: false,
        }
    }

    /// Returns an empty frame for tests.
    #[cfg(test)]
    pub(crate) fn blank() -> Self {
        Self { body: Body::Raw(TrimState::Whole), ..Self::link_frame() }
    }

    /// Returns the traffic class, 0–7.
    #[inline]
    pub const fn class(&self) -> u8 {
        self.tags.0 & Tags::CLASS
    }

    #[inline]
    pub(crate) const fn set_class(&mut self, class: u8) {
        self.tags.0 = self.tags.0 & !Tags::CLASS | class & Tags::CLASS;
    }

    /// Returns the frame with another traffic class.
    pub(crate) const fn with_class(mut self, class: u8) -> Self {
        self.set_class(class);
        self
    }

    /// Returns the ECN field.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self.tags.0 >> Tags::ECN_AT & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Sets the ECN field to "congestion experienced".
    #[inline]
    pub(crate) const fn mark(&mut self) {
        self.tags.0 |= (Ecn::Ce as u8) << Tags::ECN_AT;
    }

    /// Returns why the frame was sent.
    #[inline]
    pub const fn purpose(&self) -> Purpose {
        match self.tags.0 >> Tags::PURPOSE_AT & 0b11 {
            0b00 => Purpose::New,
            0b01 => Purpose::Retransmission,
            0b10 => Purpose::Dummy,
            _ => Purpose::Repeat,
        }
    }

    /// Returns whether a switch made the frame as a copy, or it is a TCP segment that a link retransmitted.
    #[inline]
    pub const fn is_replica(&self) -> bool {
        self.tags.0 & Tags::REPLICA != 0
    }

    /// Returns the frame with the replica bit.
    pub(crate) const fn replica(mut self) -> Self {
        self.tags.0 |= Tags::REPLICA;
        self
    }

    /// Returns the packet, if the frame belongs to a connection.
    #[inline]
    pub const fn packet(&self) -> Option<&Packet> {
        if let Body::Packet(packet) = &self.body { Some(packet) } else { None }
    }

    /// Returns whether the frame belongs to a TCP connection.
    #[inline]
    pub const fn is_tcp(&self) -> bool {
        matches!(self.body, Body::Packet(Packet::Tcp(_)))
    }

    /// Returns whether a switch has cut the payload off.
    #[inline]
    pub const fn is_trimmed(&self) -> bool {
        self.trimmed
    }

    /// Cuts the frame to its headers and sets its class. DCP's simulator marks trimmed packets as congested,
    /// so that the returned header counts as a congestion notification.
    ///
    /// # Panics
    ///
    /// If the receiver could not use the headers.
    pub(crate) fn trim(&mut self, class: u8) {
        match &mut self.body {
            Body::Packet(Packet::Dcp(dcp::Packet::Data(data))) => *data = data.trimmed(),
            Body::Raw(raw) => *raw = TrimState::Trimmed,
            other => panic!("{other:?} cannot be trimmed"),
        }
        self.trimmed = true;
        self.len = dcp::TRIMMED_BYTES;
        self.set_class(class);
        if self.ecn() != Ecn::NotEct {
            self.mark();
        }
    }

    /// Returns the frame as a link retransmits it. Only TCP segments get the replica bit: on responses of
    /// other transports it would count the frame as a copy.
    pub(crate) fn as_retransmission(&self) -> Self {
        if self.is_tcp() { self.replica() } else { *self }
    }

    /// Returns the facts that an impairment may use.
    pub(crate) fn facts(&self) -> FrameFacts {
        let (kind, psn) = match &self.body {
            Body::Packet(Packet::Rc(packet)) if packet.opcode == Opcode::Cnp => (FrameKind::Other, None),
            Body::Packet(packet) => (kind_of(packet), Some(packet.psn())),
            Body::Raw(_) | Body::Link | Body::Lost(_) => (FrameKind::Other, None),
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

/// Returns the frame kind that impairments see.
fn kind_of(packet: &Packet) -> FrameKind {
    match packet {
        Packet::Rc(packet) if packet.opcode == Opcode::ReadRequest => FrameKind::ReadRequest,
        Packet::Dcp(packet) if packet.opcode() == Opcode::ReadRequest => FrameKind::ReadRequest,
        packet if packet.is_read_data() => FrameKind::ReadResponse,
        packet if packet.is_nak() => FrameKind::Nak,
        Packet::Dcp(packet) if packet.is_data() => FrameKind::Data,
        Packet::Dcp(_) => FrameKind::Ack,
        packet if packet.is_response() => FrameKind::Ack,
        _ => FrameKind::Data,
    }
}

/// Preamble and interframe gap: bytes that a frame occupies on the wire beyond its own.
pub(crate) const GAP_BYTES: u64 = WIRE_OVERHEAD_BYTES as u64;
