//! Mending at the ends (JCST §4–5): what turns a timeout of milliseconds into a retransmission of microseconds.
//!
//! A requester waits for its timer when nothing tells it earlier. Four losses leave it so, and each has its remedy:
//!
//! | lost | remedy | where |
//! |---|---|---|
//! | the tail packet, or its ACK | [`Dummies`]: empty packets behind it that show the gap and are acknowledged themselves | requester |
//! | the tail packet, or its ACK | copies of the tail packet, the older and dearer way ([`Mend::tail_copies`]) | requester |
//! | the NAK | copies of it ([`Repeater`]) | responder's switch |
//! | what was sent again | copies of it ([`Repeater`]) | requester's switch |
//!
//! [`Mend::packet_copies`] and [`Mend::check_epsn`] are remedies of Wang et al. (ICCCN 2019), for comparison.

mod dummies;
mod repeater;

pub(crate) use dummies::Tail;
pub use dummies::{Dummies, When};
pub use repeater::Repeater;

/// What the two ends of a connection do against timeouts. By default nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mend {
    /// Empty packets behind the last one.
    pub dummies: Dummies,
    /// Copies of the last packet before the send queue runs dry.
    pub tail_copies: u8,
    /// Copies of every packet ("sending twice" is one copy).
    pub packet_copies: u8,
    /// A responder asks again when it sees that what was sent again was lost again.
    ///
    /// A packet behind the gap whose number is not higher than that of the one before it belongs to a new round, and
    /// a new round starts with the missing packet. Our reading of "checking ePSN".
    pub check_epsn: bool,
}
