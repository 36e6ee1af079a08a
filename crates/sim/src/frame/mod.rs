//! The value that travels: everything about a frame that someone on its way looks at, and no bytes.

mod header;
mod store;

pub(crate) use header::{Block, Headers};
pub use header::{Header, HeaderId, Probe};
pub(crate) use store::{FrameId, Store};

use wiremend_impair::{FrameFacts, FrameKind};
use wiremend_proto::{dcp, rc};
use wiremend_units::HostId;
use wiremend_wire::{Ecn, Encapsulation, MIN_FRAME_BYTES, Opcode, WIRE_OVERHEAD_BYTES, frame_len};

/// A frame. It fits a cache line.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The transport's part. Meaningless for [`Kind::Raw`].
    pub packet: rc::Packet,
    /// Who made it.
    pub src: HostId,
    /// Where it goes.
    pub dst: HostId,
    /// Which connection of the requester's host it belongs to: late frames of a closed one are told by it. An open-loop
    /// load has no connections: 1 if its frames may be trimmed, else 0.
    pub serial: u32,
    /// Bytes from MAC header to FCS, at least 64.
    pub len: u16,
    /// IP identification: one counter per NIC port.
    pub ip_id: u16,
    /// UDP source port: constant per connection, so that its packets take one path.
    pub entropy: u16,
    /// The port it came in by, at a switch.
    pub ingress: u16,
    /// What it is.
    pub kind: Kind,
    /// Traffic class, 0–7.
    pub class: u8,
    /// Whether switches may mark it, and whether one has.
    pub ecn: Ecn,
    /// Hops left.
    pub ttl: u8,
    /// How often it was sent before; see [`rc::Transmit::copy`].
    pub copy: u8,
    /// Which copy it is of those that a switch made; 0: the original. A segment of TCP that a link has sent again is copy 1.
    pub replica: u8,
    /// How often it has turned back from the way down or along to the way up or along, where switches look at that.
    pub bounces: u8,
    /// Why it was sent.
    pub purpose: rc::Purpose,
    /// Its header on a protected link.
    pub header: HeaderId,
}

impl Frame {
    /// A frame that a link sends for its own ends: it never leaves it.
    pub(crate) fn own() -> Self {
        let packet = rc::Packet::new(
            Opcode::SendOnly,
            wiremend_units::QpNum::default(),
            wiremend_units::Psn::default(),
        );
        let (src, dst) = (HostId(0), HostId(1));
        Self {
            packet,
            src,
            dst,
            serial: 0,
            len: MIN_FRAME_BYTES as u16,
            ip_id: 0,
            entropy: 0,
            ingress: 0,
            kind: Kind::Link,
            class: 0,
            ecn: Ecn::NotCapable,
            ttl: 1,
            copy: 0,
            replica: 0,
            bounces: 0,
            purpose: rc::Purpose::New,
            header: HeaderId::NONE,
        }
    }

    /// Nothing to nobody, for tests.
    #[cfg(test)]
    pub(crate) fn blank() -> Self {
        Self { kind: Kind::Raw, ..Self::own() }
    }

    /// Cuts it to its headers and puts it into another class. DCP's simulator marks what it trims as congested, so that
    /// what is returned counts as a notification.
    pub(crate) fn trim(&mut self, class: u8) {
        self.packet = self.packet.trimmed();
        self.len = TRIMMED_BYTES;
        self.class = class;
        if self.ecn != Ecn::NotCapable {
            self.ecn = Ecn::Congested;
        }
    }

    /// The same, as a link sends it again. Answers of other transports are counted as copies by the same number, which these are not.
    pub(crate) fn sent_again(&self) -> Self {
        let replica = if self.kind == Kind::Tcp { 1 } else { self.replica };
        Self { replica, ..*self }
    }

    /// What an impairment may look at.
    pub(crate) fn facts(&self) -> FrameFacts {
        let kind = match (self.kind, self.packet.opcode) {
            (Kind::Raw | Kind::Link | Kind::Corrupted, _) | (Kind::Rc, Opcode::Cnp) => FrameKind::Other,
            (Kind::Rc, Opcode::ReadRequest) => FrameKind::ReadRequest,
            (Kind::Rc, Opcode::Acknowledge) if self.packet.is_nak() => FrameKind::Nak,
            (Kind::Rc | Kind::Tcp, Opcode::Acknowledge) => FrameKind::Ack,
            (Kind::Rc, opcode) if opcode.is_response() => FrameKind::ReadResponse,
            (Kind::Rc | Kind::Tcp, _) => FrameKind::Data,
        };
        let has_psn = matches!(self.kind, Kind::Rc | Kind::Tcp) && self.packet.opcode != Opcode::Cnp;
        let psn = has_psn.then_some(self.packet.psn);
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

/// Who makes sense of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A reliable connection.
    Rc,
    /// A TCP connection: its packet is a [`wiremend_proto::tcp::Segment`], whose number in bytes stands in its 24 bits.
    Tcp,
    /// Nobody: an open-loop load.
    Raw,
    /// The two ends of a protected link.
    Link,
    /// Nobody any more: a link has corrupted it, and its receiver will discard it.
    Corrupted,
}

const _: () = assert!(size_of::<Frame>() <= 64);

/// A header-only packet: Ethernet 14, IPv4 20, UDP 8, BTH 12 and 3 bytes of message number are 57, and 61 with the frame check
/// sequence, which Ethernet pads.
pub(crate) const TRIMMED_BYTES: u16 = MIN_FRAME_BYTES as u16;

/// Preamble and gap: what a frame occupies on the wire beyond its own bytes.
pub(crate) const GAP_BYTES: u64 = WIRE_OVERHEAD_BYTES as u64;

/// The length of the frame that carries `packet`.
#[inline]
pub(crate) fn len_of(packet: &rc::Packet) -> u16 {
    len_with(packet.opcode, packet.payload_len)
}

/// The length of the frame that carries `packet`, which holds its own place, whole or cut.
pub(crate) const fn len_of_placed(packet: &rc::Packet) -> u16 {
    if packet.is_trimmed() {
        return TRIMMED_BYTES;
    }
    len_with(packet.opcode, packet.payload_len) + dcp::extra_bytes(packet)
}

/// The length of a frame of this operation with that much payload.
#[inline]
pub(crate) const fn len_with(opcode: Opcode, payload: u16) -> u16 {
    frame_len(opcode, payload as u32, Encapsulation::IPV4) as u16
}
