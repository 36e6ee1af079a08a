//! Selective repeat: reliable connections that accept packets in any order and retransmit only missing
//! packets.
//!
//! Every packet carries its memory position (IRN §5.3), so a [`Responder`] places the payload on arrival and
//! stores the packet's number; messages still complete in order. It acknowledges every packet with two
//! numbers: the first missing packet and the acknowledged packet. From these a [`Requester`] knows which
//! packets have arrived, and a policy decides which are lost:
//!
//! | scheme | sign of a loss | cost of reordering | state |
//! |---|---|---|---|
//! | [`Scheme::Irn`] | a NAK: a packet arrived out of order | each looks like a loss | a bit per packet |
//! | [`Scheme::TimeoutOnly`] | the timer | nothing | a bit per packet |
//! | [`Scheme::RackTlp`] | a packet sent later arrived some time ago | small, once reordering was observed | a time per packet |
//! | [`Scheme::MpRdma`] | a packet beyond the responder's bitmap, the timer | small below the bound | next to none |
//!
//! The interface is that of every [`engine`](crate::engine). READ is not supported: its data are responses,
//! for which the responder would need a second implementation of these schemes.
//!
//! Mending at the ends ([`crate::mend`]) works as with go-back-N, except for `check_epsn`, which has no
//! effect because every packet is acknowledged.
//!
//! ```
//! use wiremend_proto::engine::{Op, Requester as _, Responder as _, Work};
//! use wiremend_proto::rc;
//! use wiremend_proto::sr::{Config, Requester, Responder, Scheme};
//! use wiremend_units::{Psn, QpNum, Time};
//!
//! let config = Config::new(Scheme::Irn, rc::Config { window: 64, ..rc::Config::default() });
//! let mut here = Requester::new(&config, QpNum::new(2), Psn::new(0));
//! let mut there = Responder::new(&config, QpNum::new(1), Psn::new(0));
//! here.post(&config, Time::ZERO, Work { id: 7, op: Op::Send, len: 3000, addr: 0, rkey: 0, imm: None });
//! let first = here.poll_transmit(&config, Time::ZERO).unwrap();
//! while let Some(transmit) = here.poll_transmit(&config, Time::ZERO) {
//!     there.on_packet(&config, Time::ZERO, &transmit.packet);
//! }
//! assert!(there.poll_message().is_none(), "the first packet is missing");
//! there.on_packet(&config, Time::ZERO, &first.packet);
//! assert_eq!(there.poll_message().unwrap().len, 3000);
//! while let Some(ack) = there.poll_transmit(&config) {
//!     here.on_packet(&config, Time::ZERO, &ack);
//! }
//! assert_eq!(here.poll_completion().unwrap().id, 7);
//! ```

pub(crate) mod bitmap;
mod chunks;
mod config;
mod packet;
mod policy;
mod recovery_policy;
mod requester;
mod responder;
mod scheme;
mod scoreboard;
mod state;
mod tracking;

pub use config::Config;
pub use packet::{ACK_EXTRA_BYTES, AckKind, Acknowledgement, Data, Packet};
pub use recovery_policy::{AckEvent, RecoveryPolicy};
pub use requester::Requester;
pub use responder::Responder;
pub use scheme::{CustomScheme, Scheme};
pub use scoreboard::Scoreboard;
pub use state::StateBytes;
pub use tracking::{TrackingCost, TrackingKind};
