//! Mending at the ends (JCST §4–5): recovers in microseconds from losses that would cost a timeout of
//! milliseconds.
//!
//! A requester waits for its timer when no packet reveals a loss. Four losses have this effect:
//!
//! | lost | remedy | where |
//! |---|---|---|
//! | the tail packet, or its ACK | [`Dummies`]: empty packets after it that reveal the gap and are acknowledged | requester |
//! | the tail packet, or its ACK | copies of the tail packet, an older and costlier method ([`MendConfig::tail_copies`]) | requester |
//! | the NAK | copies of it ([`Repeater`]) | responder's switch |
//! | the retransmission | copies of it ([`Repeater`]) | requester's switch |
//!
//! [`MendConfig::packet_copies`] and [`MendConfig::check_epsn`] are methods of Wang et al. (ICCCN 2019), for
//! comparison.

mod dummies;
mod repeater;

pub(crate) use dummies::DummyScheduler;
pub use dummies::{Dummies, DummyTiming};
pub use repeater::Repeater;

/// Measures of the two ends of a connection against timeouts. The default is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MendConfig {
    /// Empty packets after the last packet.
    pub dummies: Dummies,
    /// Copies of the last packet in the send queue.
    pub tail_copies: u8,
    /// Copies of every packet ("sending twice" is one copy).
    pub packet_copies: u8,
    /// A responder sends another NAK when it detects that the retransmission was lost.
    ///
    /// A packet beyond the gap whose number is not higher than that of the packet before it belongs to a new
    /// round, and a new round starts with the missing packet. This is our interpretation of "checking ePSN".
    pub check_epsn: bool,
}
