//! TCP in one direction: a [`Sender`] of messages at one end, a [`Receiver`] at the other.
//!
//! The sender sends a byte stream and the receiver returns acknowledgements. Sequence numbers have 64 bits
//! inside and 32 bits on the wire. A segment belongs to one message and PSH marks the end of a message, so
//! that the receiver knows when a message is complete.
//!
//! | mechanism | RFC | file |
//! |---|---|---|
//! | loss detection by time, with an adaptive reordering window | RFC 8985 §6 | `rack`, `flight` |
//! | tail loss probes | RFC 8985 §7 | `probe`, `timer` |
//! | loss detection by sacked segments, if configured | RFC 6675 §4 | `flight` |
//! | loss detection by duplicate ACKs, without SACK | RFC 6582 | `ack_processing` |
//! | loss recovery of single messages, for flow rows | | `message_recovery` |
//! | retransmission timer | RFC 6298 | `rtt`, `timer` |
//! | proportional rate reduction, undo of spurious recoveries | RFC 9937, RFC 3708 | `recovery` |
//! | delayed ACKs, SACK blocks, DSACK | RFC 5681, 2018, 2883 | `receiver` |
//! | ECN echo | RFC 3168, 8257 | `ecn_echo` |
//! | congestion control | RFC 5681, 9438, 9406, 8257, BBR | [`cc`] |
//! | Multipath TCP | RFC 8684, 6356 | [`multipath`] |
//!
//! Both ends implement the traits of [`engine`](crate::engine). [`Counters`] has the counters that only TCP
//! has. Pacing and probes of the sender and delayed ACKs of the receiver need calls at `next_timeout`. Not
//! implemented: FIN (a host drops a connection), window scaling, F-RTO, and data in both directions.
//!
//! ```
//! use wiremend_proto::engine::{Op, Requester as _, Responder as _, Work};
//! use wiremend_proto::tcp::{Config, Receiver, Sender, cc::Algorithm};
//! use wiremend_units::{QpNum, Time};
//!
//! let config = Config::new(Algorithm::Cubic);
//! let mut sender = Sender::new(&config, QpNum::new(2), 0);
//! let mut receiver = Receiver::new(&config, QpNum::new(1));
//! sender.post(&config, Time::ZERO, Work { id: 7, op: Op::Send, len: 3000, addr: 0, rkey: 0, imm: None });
//! let first = sender.poll_transmit(&config, Time::ZERO).unwrap();
//! while let Some(transmit) = sender.poll_transmit(&config, Time::ZERO) {
//!     receiver.on_packet(&config, Time::ZERO, &transmit.packet);
//! }
//! assert_eq!(receiver.received(), 0, "the first segment is missing");
//! receiver.on_packet(&config, Time::ZERO, &first.packet);
//! assert_eq!(receiver.received(), 3000);
//! while let Some(ack) = receiver.poll_transmit(&config) {
//!     sender.on_packet(&config, Time::ZERO, &ack);
//! }
//! assert_eq!(sender.poll_completion().unwrap().id, 7);
//! ```

mod ack_processing;
mod algorithm;
pub mod cc;
mod clock;
mod config;
mod counters;
mod delivery;
mod dss;
mod ecn_echo;
mod flight;
mod message_recovery;
pub mod multipath;
mod pacer;
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

pub use config::{Config, Ecn, Reordering};
pub use counters::Counters;
pub use delivery::RateSample;
pub use message_recovery::MessageRecovery;
pub use receiver::Receiver;
pub use segment::{
    Ack, AckHead, Block, Data, SACK_BLOCKS, SUBFLOW_SACK_BLOCKS, Segment, SubflowAck, frame_len,
};
pub use sender::Sender;
