//! Loss recovery: a policy that controls both ends of a connection.
//!
//! The retransmissions of a requester and the reaction of a responder to a packet out of sequence belong
//! together. A requester that restarts a message needs a responder that discards its part, and a responder
//! that accepts packets out of order needs a requester that can fill gaps. One file per policy therefore
//! holds the reactions of both ends as three functions, and one `match` selects the policy:
//!
//! | reaction | end | question |
//! |---|---|---|
//! | `acknowledged_limit` | requester | an ACK for everything before a number arrived: how far does it acknowledge? |
//! | `resume_seq` | requester | a NAK, an implied NAK or a timeout happened: where does transmission resume? |
//! | `on_out_of_sequence` | responder | a packet beyond the expected one arrived: does a NAK follow? |
//!
//! A policy with more state (a bitmap of arrivals, a list of gaps) adds it to [`Flight`] or [`Inbound`] and a
//! variant to [`OutOfSequence`]. No other code depends on the policy.

mod go_back_n;
mod go_back_zero;

use super::flight::Flight;
use super::inbound::Inbound;
use super::recovery_policy::Recovery;
use super::send_queue::WorkItem;

/// The reaction to a request beyond the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OutOfSequence {
    /// Drops it silently.
    Drop,
    /// Drops it and sends a NAK for this number.
    Nak(u64),
}

/// The only code that enumerates the policies.
macro_rules! reaction {
    ($policy:expr, $name:ident($($argument:expr),*)) => {
        match $policy {
            Recovery::GoBackN => go_back_n::$name($($argument),*),
            Recovery::GoBackZero => go_back_zero::$name($($argument),*),
        }
    };
}

impl Recovery {
    /// Requester: everything before `limit`, a number of `oldest`, was received. Returns the number below
    /// which everything counts as acknowledged.
    #[inline]
    pub(super) fn acknowledged_limit(self, flight: &Flight, oldest: &WorkItem, limit: u64) -> u64 {
        reaction!(self, acknowledged_limit(flight, oldest, limit))
    }

    /// Requester: a packet is missing. Returns the number from which on everything is retransmitted.
    #[inline]
    pub(super) fn resume_seq(self, flight: &Flight, oldest: &WorkItem) -> u64 {
        reaction!(self, resume_seq(flight, oldest))
    }

    /// Responder: a request beyond the expected one arrived.
    #[inline]
    pub(super) fn on_out_of_sequence(self, inbound: &mut Inbound) -> OutOfSequence {
        reaction!(self, on_out_of_sequence(inbound))
    }
}
