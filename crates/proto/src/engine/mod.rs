//! What the two ends of a connection are to their host, whatever the protocol: the contract of an engine, and its words.
//!
//! A [`Requester`] takes [`Work`] and sends packets until the peer has acknowledged them; a [`Responder`] takes
//! packets, says where their payload goes and answers them. Both are state machines without a clock: a host hands in
//! packets and times, and polls for packets, completions and messages until there are none.
//!
//! | protocol | requester | responder | packet |
//! |---|---|---|---|
//! | go-back-N and its kin | [`rc::Requester`](crate::rc::Requester) | [`rc::Responder`](crate::rc::Responder) | [`rc::Packet`](crate::rc::Packet) |
//! | selective repeat | [`sr::Requester`](crate::sr::Requester) | [`sr::Responder`](crate::sr::Responder) | [`sr::Packet`](crate::sr::Packet) |
//! | trimming | [`dcp::Requester`](crate::dcp::Requester) | [`dcp::Responder`](crate::dcp::Responder) | [`dcp::Packet`](crate::dcp::Packet) |
//! | TCP | [`tcp::Sender`](crate::tcp::Sender) | [`tcp::Receiver`](crate::tcp::Receiver) | [`tcp::Segment`](crate::tcp::Segment) |
//! | Multipath TCP | [`tcp::multipath::Sender`](crate::tcp::multipath::Sender) | [`tcp::multipath::Receiver`](crate::tcp::multipath::Receiver) | [`tcp::Segment`](crate::tcp::Segment) |
//!
//! A configuration is no part of an engine: the host keeps one for all connections and hands it in with every call.

mod bad_config;
mod counters;
mod delivery;
mod transmit;
mod work;

use std::fmt::Debug;

use wiremend_units::{Psn, Time};

pub use bad_config::BadConfig;
pub use counters::{RequesterCounters, ResponderCounters};
pub use delivery::{Arrival, Message, Outcome, Place};
pub use transmit::{Expiry, Purpose, Transmit};
pub use work::{Completion, Op, Status, Work};

/// The half of a connection that was asked to move data.
pub trait Requester {
    /// What all connections of a kind share.
    type Config;
    /// What it sends and takes.
    type Packet: Copy + Debug;

    /// Takes a work request. On a connection in error it completes as flushed.
    fn post(&mut self, config: &Self::Config, now: Time, work: Work);

    /// Whether [`Self::poll_transmit`] would give a packet now.
    fn ready(&self, config: &Self::Config, now: Time) -> bool;

    /// The next packet, if one may be sent now: what is lost before what is new.
    fn poll_transmit(&mut self, config: &Self::Config, now: Time) -> Option<Transmit<Self::Packet>>;

    /// Takes an answer of the peer. A READ response that was waited for tells where its payload goes; whatever is late,
    /// doubled or makes no sense changes nothing and is counted.
    fn on_packet(&mut self, config: &Self::Config, now: Time, packet: &Self::Packet) -> Option<Arrival>;

    /// The answer that is handed over next has come by this path, for those that choose paths ([`Transmit::path`]).
    #[inline]
    fn heard_by(&mut self, _path: u16) {}

    /// When [`Self::on_timeout`] wants to be called. It may move later at any time, so a host may ask again when the
    /// moment has come instead of cancelling.
    fn next_timeout(&self) -> Option<Time>;

    /// The time may have come. `None`: no retransmission timer has expired.
    fn on_timeout(&mut self, config: &Self::Config, now: Time) -> Option<Expiry>;

    /// The next work request that ended; in the order of posting.
    fn poll_completion(&mut self) -> Option<Completion>;

    /// Congestion control lets so many packets be outstanding from now on. Without effect where the protocol has a
    /// congestion control of its own.
    #[inline]
    fn allow(&mut self, _window: u32) {}

    /// Nothing is left to send or to wait for.
    fn is_idle(&self) -> bool;

    /// Given up: silent for ever.
    fn is_error(&self) -> bool;

    /// Work requests so far, and dummies where it sends them: the number that the responder gives to the last of them
    /// (MSN), but not cut to 24 bits.
    fn messages(&self) -> u64;

    /// The number of the next packet as congestion control counts, from 0 without end.
    fn next_number(&self) -> u64;

    /// How far everything is acknowledged: packets, or bytes of a stream, from 0 without end.
    fn acknowledged(&self) -> u64;

    /// What it has done and seen.
    fn counters(&self) -> RequesterCounters;
}

/// The half of a connection that takes what the other end was asked to move.
pub trait Responder {
    /// What all connections of a kind share.
    type Config;
    /// What it sends and takes.
    type Packet: Copy + Debug;

    /// Takes a request. Messages that it completes beyond the one in the [`Outcome`] come from [`Self::poll_message`].
    fn on_packet(&mut self, config: &Self::Config, now: Time, packet: &Self::Packet) -> Outcome;

    /// Whether [`Self::poll_message`] would give a message.
    #[inline]
    fn has_messages(&self) -> bool {
        false
    }

    /// The next message that is complete and that no outcome has told of; in the order of their numbers.
    #[inline]
    fn poll_message(&mut self) -> Option<Message> {
        None
    }

    /// The next answer, as things stand now. An acknowledgement that waits may be replaced by a newer one, so that ACKs
    /// coalesce where the host lets them wait.
    fn poll_transmit(&mut self, config: &Self::Config) -> Option<Self::Packet>;

    /// Whether [`Self::poll_transmit`] would give a packet.
    fn has_output(&self) -> bool;

    /// Data wait to be sent back, which share the port with other data, unlike a bare acknowledgement.
    #[inline]
    fn is_reading(&self) -> bool {
        false
    }

    /// When [`Self::on_timeout`] wants to be called, if it ever does.
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The time for an answer that was kept back may have come.
    #[inline]
    fn on_timeout(&mut self, _now: Time) {}

    /// The number that comes next (ePSN): before it, everything is there.
    fn expected(&self) -> Psn;

    /// It has asked for the number that comes next, or for something before it.
    fn nak_sent(&self) -> bool;

    /// [`Self::expected`] and [`Self::nak_sent`] on one of the paths, where each has numbers of its own.
    #[inline]
    fn standing(&self, _path: u16) -> (Psn, bool) {
        (self.expected(), self.nak_sent())
    }

    /// What tells the path of an answer from that of the packet which came last, as in [`Transmit::path`].
    #[inline]
    fn path_of(&self, _answer: &Self::Packet) -> u16 {
        0
    }

    /// What it has done and seen.
    fn counters(&self) -> ResponderCounters;
}
