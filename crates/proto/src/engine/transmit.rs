//! Packets that a requester sends, and expiries of its retransmission timer.

use wiremend_units::Psn;

use super::work::Op;

/// A packet to send now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit<P> {
    /// The packet's headers.
    pub packet: P,
    /// Identifier of the work request.
    pub work: u64,
    /// Offset of the payload in the message; for a READ request, the start of the requested range.
    pub offset: u32,
    /// Number of earlier transmissions of this sequence number, saturating. [`Purpose::Repeat`] is not
    /// counted.
    pub copy: u8,
    /// The reason for the transmission.
    pub purpose: Purpose,
    /// The connection's path, where the requester chooses one; else 0.
    pub path: u16,
}

impl<P> Transmit<P> {
    /// Converts the packet type.
    #[inline]
    pub fn map<Q>(self, form: impl FnOnce(P) -> Q) -> Transmit<Q> {
        let Self { packet, work, offset, copy, purpose, path } = self;
        Transmit { packet: form(packet), work, offset, copy, purpose, path }
    }
}

/// The reason for the transmission of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The packet was not sent before.
    New,
    /// The packet was lost, or considered lost.
    Retransmission,
    /// A dummy that was not sent before. Its acknowledgement confirms the packets before it.
    Dummy,
    /// A copy of the previous packet, in case that one is lost.
    Repeat,
}

/// An expiry of the retransmission timer, with the state that determines its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiry {
    /// Oldest unacknowledged sequence number.
    pub oldest: Psn,
    /// Sequence number at which transmission resumes; before `oldest` if the recovery restarts messages.
    pub resume: Psn,
    /// One past the highest sequence number sent, dummies excluded: a responder that expects it has
    /// everything.
    pub end: Psn,
    /// Identifier of the work request of `oldest`.
    pub work: u64,
    /// Operation of that work request.
    pub op: Op,
    /// Whether a NAK for `oldest` was received.
    pub nak_received: bool,
    /// Whether only dummies are outstanding, so that no work request is delayed.
    pub dummy: bool,
    /// Whether the retries are exhausted and the queue pair is in error.
    pub fatal: bool,
    /// The connection's path, where each path has its own timer and numbers; else 0.
    pub path: u16,
}
