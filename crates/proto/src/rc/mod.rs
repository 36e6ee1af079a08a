//! Reliable connections: SEND, WRITE and READ, each byte once and in order, or an error.
//!
//! A [`Requester`] turns posted [`Work`](crate::engine::Work) into packets and waits for answers; a [`Responder`] takes packets in order
//! and answers. A queue pair has one of each ([`Qp`]); they share nothing but the peer.
//!
//! Both count packets from 0 with 64 bits and show the low 24 bits of first PSN plus count on the wire. There is
//! no state per packet: a requester remembers the oldest unacknowledged number, the next one to send and the
//! highest one sent, and everything else about a packet follows from its number and its work request. That is what
//! makes a connection small enough to simulate a hundred thousand of them.
//!
//! What happens after a loss is the business of a [`Recovery`], which owns both ends. What NICs do beyond the
//! specification to wait less, or to send less afterwards, is an [`Acceleration`].
//!
//! ```
//! use wiremend_proto::engine::{Op, Requester as _, Responder as _, Work};
//! use wiremend_proto::rc::{Config, Qp};
//! use wiremend_units::{Psn, QpNum, Time};
//!
//! let config = Config::default();
//! let mut here = Qp::new(QpNum::new(2), Psn::new(0), Psn::new(100));
//! let mut there = Qp::new(QpNum::new(1), Psn::new(100), Psn::new(0));
//! here.requester.post(&config, Time::ZERO, Work { id: 7, op: Op::Send, len: 3000, addr: 0, rkey: 0, imm: None });
//! while let Some(transmit) = here.requester.poll_transmit(&config, Time::ZERO) {
//!     there.on_packet(&config, Time::ZERO, &transmit.packet);
//! }
//! let ack = there.responder.poll_transmit(&config).unwrap();
//! here.on_packet(&config, Time::ZERO, &ack);
//! assert_eq!(here.requester.poll_completion().unwrap().id, 7);
//! ```

mod acceleration;
mod config;
mod flight;
pub(crate) mod inbound;
mod packet;
mod reads;
mod recovery;
mod requester;
mod responder;
pub(crate) mod send_queue;

use wiremend_units::{Psn, QpNum, Time};

pub use acceleration::{Acceleration, Adaptive};
pub use config::Config;
pub(crate) use packet::request_extension;
pub use packet::{Packet, frame_len};
pub use recovery::Recovery;
pub use requester::Requester;
pub use responder::Responder;
pub use wiremend_wire::{AethRepr, NakCode, RethRepr, RnrTimer, Syndrome};

use crate::engine::{Arrival, Outcome, Requester as _, Responder as _};

/// A queue pair: both halves of one end.
#[derive(Clone, Debug)]
pub struct Qp {
    /// Sends requests.
    pub requester: Requester,
    /// Answers the peer's requests.
    pub responder: Responder,
}

/// What a packet did to a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It was a request.
    Request(Outcome),
    /// It was an answer; a READ response tells where its payload goes.
    Answer(Option<Arrival>),
}

impl Qp {
    /// A queue pair that numbers its own requests from `first` and expects the peer's from `peer_first` on.
    pub fn new(peer: QpNum, first: Psn, peer_first: Psn) -> Self {
        Self { requester: Requester::new(peer, first), responder: Responder::new(peer, peer_first) }
    }

    /// Hands a packet to the half that it is for.
    #[inline]
    pub fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> Event {
        if packet.opcode.is_response() {
            Event::Answer(self.requester.on_packet(config, now, packet))
        } else {
            Event::Request(self.responder.on_packet(config, now, packet))
        }
    }

    /// Nothing is left to send or to wait for, on this end.
    pub fn is_idle(&self) -> bool {
        self.requester.is_idle() && !self.responder.has_output()
    }
}
