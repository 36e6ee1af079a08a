//! Loss recovery: a policy that owns both ends of a connection.
//!
//! What a requester sends again and what a responder does with a packet that comes too early belong together: a
//! requester that restarts a message is useless with a responder that keeps its place in the middle of it, and a
//! responder that takes packets out of order needs a requester that can fill holes. One file per policy therefore
//! holds the reactions of both ends, as three functions between which one `match` chooses:
//!
//! | reaction | end | question |
//! |---|---|---|
//! | `released` | requester | an ACK came for everything before a number: how far does that count as acknowledged |
//! | `resume` | requester | a NAK, an implied NAK or a timeout came: where does sending start again |
//! | `on_ahead` | responder | a packet came before the expected one: what happens to it, and who is told |
//!
//! A policy with more memory (a bitmap of what arrived, a list of holes) adds it to [`Flight`] or [`Inbound`] and
//! a case to [`Ahead`]; nothing else asks which policy it is.

mod go_back_n;
mod go_back_zero;

use super::flight::Flight;
use super::inbound::Inbound;
use super::send_queue::Item;

/// How losses are repaired.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recovery {
    /// From the first missing packet on, everything is sent again.
    GoBackN,
    /// The whole message is sent again, and the responder forgets the part it has.
    GoBackZero,
}

/// What becomes of a request that came before the expected one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ahead {
    /// Dropped silently.
    Drop,
    /// Dropped, and the requester is told that this number is missing.
    Nak(u64),
}

/// The one place that knows which policies there are.
macro_rules! reaction {
    ($policy:expr, $name:ident($($argument:expr),*)) => {
        match $policy {
            Recovery::GoBackN => go_back_n::$name($($argument),*),
            Recovery::GoBackZero => go_back_zero::$name($($argument),*),
        }
    };
}

impl Recovery {
    /// Every policy.
    pub const ALL: [Self; 2] = [Self::GoBackN, Self::GoBackZero];

    /// Requester: everything before `limit`, which lies in `oldest`, was received. The number before which
    /// nothing is waited for any more.
    #[inline]
    pub(super) fn released(self, flight: &Flight, oldest: &Item, limit: u64) -> u64 {
        reaction!(self, released(flight, oldest, limit))
    }

    /// Requester: something is missing. The number from which on everything is sent again.
    #[inline]
    pub(super) fn resume(self, flight: &Flight, oldest: &Item) -> u64 {
        reaction!(self, resume(flight, oldest))
    }

    /// Responder: a request came before the expected one.
    #[inline]
    pub(super) fn on_ahead(self, inbound: &mut Inbound) -> Ahead {
        reaction!(self, on_ahead(inbound))
    }
}
