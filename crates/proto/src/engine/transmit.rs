//! What a requester sends, why, and what it says when nothing comes back.

use wiremend_units::Psn;

use super::work::Op;

/// A packet to send now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit<P> {
    /// Its headers.
    pub packet: P,
    /// The work request that it belongs to.
    pub work: u64,
    /// Where its payload lies in the message; for a READ request, where the wanted range starts.
    pub offset: u32,
    /// How often this sequence number was sent before, saturating; what [`Purpose::Repeat`] sends is not counted.
    pub copy: u8,
    /// Why it is sent.
    pub purpose: Purpose,
    /// Which of the connection's paths it takes, where the requester chooses; else 0.
    pub path: u16,
}

impl<P> Transmit<P> {
    /// The same with another form of the packet.
    #[inline]
    pub fn map<Q>(self, form: impl FnOnce(P) -> Q) -> Transmit<Q> {
        let Self { packet, work, offset, copy, purpose, path } = self;
        Transmit { packet: form(packet), work, offset, copy, purpose, path }
    }
}

/// Why a packet is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It was not sent before.
    New,
    /// Something was lost, or seemed to be.
    Again,
    /// It shows that what came before it is there: a dummy that was not sent before.
    Dummy,
    /// In case the one before it gets lost.
    Repeat,
}

/// An expiry of the retransmission timer, with what is needed to name its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiry {
    /// The oldest sequence number that is not acknowledged.
    pub oldest: Psn,
    /// Where sending starts again; before `oldest` if the recovery restarts messages.
    pub resume: Psn,
    /// The number behind the newest one that was ever sent, dummies apart: a responder that expects it has everything.
    pub end: Psn,
    /// The work request that `oldest` belongs to.
    pub work: u64,
    /// Its operation.
    pub op: Op,
    /// A NAK for `oldest` had come.
    pub nak_received: bool,
    /// Nothing but dummies is outstanding: no work request is held up.
    pub dummy: bool,
    /// Retries are exhausted: the queue pair is in error.
    pub fatal: bool,
    /// Which of the connection's paths it is about, where each has a timer and numbers of its own; else 0.
    pub path: u16,
}
