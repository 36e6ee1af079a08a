//! Reliable connections: SEND, WRITE and READ, each byte exactly once and in order, or an error.
//!
//! A [`Requester`] converts posted [`Work`](crate::engine::Work) into packets and waits for responses. A
//! [`Responder`] accepts packets in order and responds. A queue pair ([`Qp`]) has one of each; they share
//! only the peer.
//!
//! Both count packets from 0 in 64 bits. The PSN on the wire is the low 24 bits of first PSN plus count.
//! There is no state per packet: a requester stores the oldest unacknowledged number, the next number to send
//! and the highest number sent. Everything else about a packet follows from its number and its work request.
//! A simulation can therefore hold a hundred thousand connections.
//!
//! A [`Recovery`] policy decides what both ends do after a loss. An [`Acceleration`] is a NIC feature beyond
//! the specification that shortens timeouts or reduces the send window after a loss. A [`Profile`] is what a given NIC
//! does otherwise.
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
mod profile;
mod reads;
mod recovery;
mod recovery_policy;
mod requester;
mod responder;
pub(crate) mod send_queue;

use wiremend_units::{Psn, QpNum, Time};

pub use acceleration::{Acceleration, AdaptiveTimeout};
pub use config::Config;
pub(crate) use packet::request_extension;
pub use packet::{Packet, frame_len};
pub use profile::{NakRule, Profile};
pub use recovery_policy::Recovery;
pub use requester::Requester;
pub use responder::Responder;
pub use wiremend_wire::{AethRepr, NakCode, RethRepr, RnrTimer, Syndrome};

use crate::engine::{ReadPlacement, RequestOutcome, Requester as _, Responder as _};

/// A queue pair: both halves of one end.
#[derive(Clone, Debug)]
pub struct Qp {
    /// Sends requests.
    pub requester: Requester,
    /// Responds to the peer's requests.
    pub responder: Responder,
}

/// The effect of a packet on a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QpEvent {
    /// The packet was a request.
    Request(RequestOutcome),
    /// The packet was a response; for a READ response, where its payload goes.
    Response(Option<ReadPlacement>),
}

impl Qp {
    /// Creates a queue pair whose own requests start at PSN `first` and the peer's at `peer_first`.
    pub fn new(peer: QpNum, first: Psn, peer_first: Psn) -> Self {
        Self { requester: Requester::new(peer, first), responder: Responder::new(peer, peer_first) }
    }

    /// Passes a packet to the requester or the responder.
    #[inline]
    pub fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> QpEvent {
        if packet.opcode.is_response() {
            QpEvent::Response(self.requester.on_packet(config, now, packet))
        } else {
            QpEvent::Request(self.responder.on_packet(config, now, packet))
        }
    }

    /// Returns whether this end has nothing to send or to wait for.
    pub fn is_idle(&self) -> bool {
        self.requester.is_idle() && !self.responder.has_output()
    }
}
