//! The traits of both ends of a connection, and the types that all protocols share.
//!
//! A [`Requester`] takes [`Work`] and sends packets until the peer has acknowledged them. A [`Responder`]
//! receives packets, returns where their payload goes, and responds. Both are state machines without a clock:
//! a host passes in packets and times, and polls for packets, completions and messages until there are none.
//!
//! | protocol | requester | responder | packet |
//! |---|---|---|---|
//! | go-back-N, go-back-0 | [`rc::Requester`](crate::rc::Requester) | [`rc::Responder`](crate::rc::Responder) | [`rc::Packet`](crate::rc::Packet) |
//! | selective repeat | [`sr::Requester`](crate::sr::Requester) | [`sr::Responder`](crate::sr::Responder) | [`sr::Packet`](crate::sr::Packet) |
//! | trimming | [`dcp::Requester`](crate::dcp::Requester) | [`dcp::Responder`](crate::dcp::Responder) | [`dcp::Packet`](crate::dcp::Packet) |
//! | TCP | [`tcp::Sender`](crate::tcp::Sender) | [`tcp::Receiver`](crate::tcp::Receiver) | [`tcp::Segment`](crate::tcp::Segment) |
//! | Multipath TCP | [`tcp::multipath::Sender`](crate::tcp::multipath::Sender) | [`tcp::multipath::Receiver`](crate::tcp::multipath::Receiver) | [`tcp::Segment`](crate::tcp::Segment) |
//!
//! Engines do not store their configuration: the host keeps one for all connections and passes it to every
//! call.

mod bad_config;
mod counters;
mod delivery;
mod state_visitor;
mod transmit;
mod work;

use std::fmt::Debug;

use wiremend_units::{Psn, Time};

pub use bad_config::BadConfig;
pub use counters::{RequesterCounters, ResponderCounters};
pub use delivery::{Message, Placement, ReadPlacement, RequestOutcome};
pub use state_visitor::{StateKind, StateVisitor};
pub use transmit::{Expiry, Purpose, Transmit};
pub use work::{Completion, Op, Status, Work};

/// The sending half of a connection, which executes work requests.
pub trait Requester {
    /// Parameters that connections share.
    type Config;
    /// The packet type that it sends and receives.
    type Packet: Copy + Debug;

    /// Takes a work request. On a connection in error the request completes as flushed.
    fn post(&mut self, config: &Self::Config, now: Time, work: Work);

    /// Returns whether [`Self::poll_transmit`] would return a packet now.
    fn ready(&self, config: &Self::Config, now: Time) -> bool;

    /// Returns the next packet that may be sent now. Retransmissions go before new packets.
    fn poll_transmit(&mut self, config: &Self::Config, now: Time) -> Option<Transmit<Self::Packet>>;

    /// Takes a response of the peer. Returns where the payload of an expected READ response goes. Late,
    /// duplicate and invalid responses are counted and change nothing.
    fn on_packet(&mut self, config: &Self::Config, now: Time, packet: &Self::Packet)
    -> Option<ReadPlacement>;

    /// Sets the path on which the next response arrived, for requesters that choose paths
    /// ([`Transmit::path`]).
    #[inline]
    fn on_response_path(&mut self, _path: u16) {}

    /// Time of the next call to [`Self::on_timeout`]. It may move to a later time at any moment, so that a
    /// host may query it again at the old time instead of cancelling a timer.
    fn next_timeout(&self) -> Option<Time>;

    /// Handles timers that are due. Returns an [`Expiry`] if the retransmission timer expired.
    fn on_timeout(&mut self, config: &Self::Config, now: Time) -> Option<Expiry>;

    /// Returns the next completed work request, in posting order.
    fn poll_completion(&mut self) -> Option<Completion>;

    /// Sets the number of packets that congestion control permits to be outstanding. It has no effect on
    /// protocols with their own congestion control.
    #[inline]
    fn set_window(&mut self, _window: u32) {}

    /// Returns whether nothing remains to be sent or acknowledged.
    fn is_idle(&self) -> bool;

    /// Returns whether the connection has failed. It sends nothing any more.
    fn is_error(&self) -> bool;

    /// Number of work requests posted so far, plus dummies: the responder's MSN of the last one, but not
    /// truncated to 24 bits.
    fn messages(&self) -> u64;

    /// Number of the next packet as congestion control counts packets, from 0 without wrapping.
    fn next_number(&self) -> u64;

    /// Limit below which everything is acknowledged: packets, or bytes of a stream, from 0 without wrapping.
    fn acknowledged(&self) -> u64;

    /// Returns the counters.
    fn counters(&self) -> RequesterCounters;
}

/// The receiving half of a connection, which executes the peer's requests.
pub trait Responder {
    /// Parameters that connections share.
    type Config;
    /// The packet type that it sends and receives.
    type Packet: Copy + Debug;

    /// Takes a request. A message that it completes is in the [`RequestOutcome`] or comes from
    /// [`Self::poll_message`].
    fn on_packet(&mut self, config: &Self::Config, now: Time, packet: &Self::Packet) -> RequestOutcome;

    /// Returns whether [`Self::poll_message`] would return a message.
    #[inline]
    fn has_messages(&self) -> bool {
        false
    }

    /// Returns the next complete message that was in no outcome, in MSN order.
    #[inline]
    fn poll_message(&mut self) -> Option<Message> {
        None
    }

    /// Returns the next response, built from the present state. A newer acknowledgement may replace a waiting
    /// one, so that ACKs coalesce while the host delays them.
    fn poll_transmit(&mut self, config: &Self::Config) -> Option<Self::Packet>;

    /// Returns whether [`Self::poll_transmit`] would return a packet.
    fn has_output(&self) -> bool;

    /// Returns whether READ responses wait. They share the port with other data, unlike bare
    /// acknowledgements.
    #[inline]
    fn has_read_responses(&self) -> bool {
        false
    }

    /// Time of the next call to [`Self::on_timeout`], if any.
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Handles a delayed response that may be due.
    #[inline]
    fn on_timeout(&mut self, _now: Time) {}

    /// Next expected sequence number (ePSN): all earlier packets have arrived.
    fn expected(&self) -> Psn;

    /// Returns whether a NAK was sent for the expected number.
    fn nak_sent(&self) -> bool;

    /// Returns [`Self::expected`] and [`Self::nak_sent`] of one path, where each path has its own numbers.
    #[inline]
    fn path_state(&self, _path: u16) -> (Psn, bool) {
        (self.expected(), self.nak_sent())
    }

    /// Path of a response relative to the path of the last received packet, encoded as in [`Transmit::path`].
    #[inline]
    fn response_path(&self, _answer: &Self::Packet) -> u16 {
        0
    }

    /// Returns the counters.
    fn counters(&self) -> ResponderCounters;
}
