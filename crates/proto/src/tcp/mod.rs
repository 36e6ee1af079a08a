//! TCP, one way: a [`Sender`] of messages at one end, a [`Receiver`] at the other.
//!
//! A connection carries a stream of bytes in one direction and acknowledgements in the other. Numbers are 64 bits wide inside
//! and 32 on the wire. The sender marks where a message ends (PSH), and a segment belongs to one message, so that the receiver can say
//! when a message is complete.
//!
//! | what | after | file |
//! |---|---|---|
//! | losses by time, disorder tolerated as duplicates show it | RFC 8985 §6 | `rack`, `flight` |
//! | probes for a lost tail | RFC 8985 §7 | `probe`, `timer` |
//! | losses by segments that have overtaken, if told so | RFC 6675 §4 | `flight` |
//! | losses by duplicate acknowledgements, where there is no SACK | RFC 6582 | `acknowledged` |
//! | what single messages have met | | `trouble` |
//! | the retransmission timer | RFC 6298 | `rtt`, `timer` |
//! | proportional rate reduction, undoing what was needless | RFC 9937, RFC 3708 | `recovery` |
//! | delayed acknowledgements, blocks, duplicates | RFC 5681, 2018, 2883 | `receiver` |
//! | marks | RFC 3168, 8257 | `echo` |
//! | congestion control | RFC 5681, 9438, 9406, 8257, BBR | [`cc`] |
//! | several subflows for one stream | RFC 8684, 6356 | [`multipath`] |
//!
//! The doors are those of every [`engine`](crate::engine); what TCP alone counts is in [`Counters`]. A sender that is paced, or
//! waits for its tail, wants to be called by [`next_timeout`](crate::engine::Requester::next_timeout); so does a receiver that keeps an acknowledgement back. Not there: closing
//! (a connection is simply forgotten), window scaling and its negotiation, F-RTO, and data that take the way of acknowledgements.
//!
//! ```
//! use wiremend_proto::engine::{Op, Requester as _, Responder as _, Work};
//! use wiremend_proto::tcp::{Config, Receiver, Sender, cc::Algorithm};
//! use wiremend_units::{QpNum, Time};
//!
//! let config = Config::new(Algorithm::Cubic);
//! let mut here = Sender::new(&config, QpNum::new(2), 0);
//! let mut there = Receiver::new(&config, QpNum::new(1));
//! here.post(&config, Time::ZERO, Work { id: 7, op: Op::Send, len: 3000, addr: 0, rkey: 0, imm: None });
//! let first = here.poll_transmit(&config, Time::ZERO).unwrap();
//! while let Some(transmit) = here.poll_transmit(&config, Time::ZERO) {
//!     there.on_packet(&config, Time::ZERO, &transmit.packet);
//! }
//! assert_eq!(there.received(), 0, "the first segment is missing");
//! there.on_packet(&config, Time::ZERO, &first.packet);
//! assert_eq!(there.received(), 3000);
//! while let Some(answer) = there.poll_transmit(&config) {
//!     here.on_packet(&config, Time::ZERO, &answer);
//! }
//! assert_eq!(here.poll_completion().unwrap().id, 7);
//! ```

mod acknowledged;
pub mod cc;
mod config;
mod counters;
mod delivery;
mod echo;
mod flight;
pub mod multipath;
mod pace;
mod probe;
mod rack;
mod ranges;
mod receiver;
mod recovery;
mod rtt;
mod segment;
mod sender;
mod stream;
mod timer;
mod trouble;

pub use config::{Config, Ecn, Reordering};
pub use counters::Counters;
pub use delivery::Sample;
pub use receiver::Receiver;
pub use segment::{
    Ack, AckHead, Block, Data, SACK_BLOCKS, SUBFLOW_SACK_BLOCKS, Segment, SubflowAck, frame_len,
};
pub use sender::Sender;
pub use trouble::Trouble;
