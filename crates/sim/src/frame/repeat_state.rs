//! The state of a frame, and the names of the sequences that number packets and frames.

use wiremend_proto::Packet;
use wiremend_proto::engine::{StateKind, StateVisitor};
use wiremend_units::HostId;

use super::{Body, Frame};

/// Returns the name of the sequence of packets of a connection, which `requester` has opened as number `serial`.
#[inline]
pub(crate) const fn connection_sequence(requester: HostId, serial: u32) -> u64 {
    (requester.0 as u64) << 32 | serial as u64
}

/// Returns the name of the sequence of frames of a host.
#[inline]
pub(crate) const fn frame_sequence(host: HostId) -> u64 {
    connection_sequence(host, 0)
}

impl Frame {
    /// Visits the state. `numbered_by` is the host whose port has numbered the frame, if one has.
    #[inline]
    pub(crate) fn visit_state(&mut self, visitor: &mut impl StateVisitor, numbered_by: Option<HostId>) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        visitor.exact(pair(self.src.0, self.dst.0));
        visitor.exact(pair(self.serial, u32::from(self.len) << 16 | u32::from(self.entropy)));
        let flags = u32::from_be_bytes([self.tags.0, self.copy, self.bounces, self.has_header.into()]);
        visitor.exact(pair(flags, u32::from(self.ttl)));
        visitor.absent(!self.has_header);
        if let Some(host) = numbered_by {
            let kind = StateKind::Sequence { of: frame_sequence(host), bits: 16, room: u64::MAX };
            self.ip_id = visitor.visit(kind, self.ip_id.into()) as u16;
        }
        match &mut self.body {
            Body::Packet(Packet::Rc(packet)) => {
                let requester = if packet.opcode.is_response() { self.dst } else { self.src };
                packet.visit_state(visitor, connection_sequence(requester, self.serial));
            }
            Body::Lost(_) => visitor.exact(u64::MAX),
            Body::Packet(_) | Body::Raw(_) | Body::Link => visitor.absent(false),
        }
    }
}
