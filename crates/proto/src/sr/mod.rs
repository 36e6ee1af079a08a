//! Selective repeat: reliable connections that take packets in any order and send again only what is missing.
//!
//! Every packet carries its place (IRN §5.3), so that a [`Responder`] puts it there as it comes and remembers its
//! number; messages complete in order all the same. It answers every packet with two numbers: how far everything has
//! come, and which packet it answers. A [`Requester`] knows from these what has arrived, and a policy decides what
//! is lost:
//!
//! | scheme | what shows a loss | what disorder costs | what it keeps for it |
//! |---|---|---|---|
//! | [`Scheme::Irn`] | a NAK: some packet came out of order | each looks like a loss | a bit per packet |
//! | [`Scheme::TimeoutOnly`] | the timer | nothing | a bit per packet |
//! | [`Scheme::RackTlp`] | something sent later has arrived, and some time ago | little, once it is known | a time per packet |
//! | [`Scheme::MpRdma`] | a packet beyond the responder's bitmap, the timer | little below the bound | next to nothing |
//!
//! The doors are those of every [`engine`](crate::engine). READ is not offered: its data are
//! answers, for which these schemes would have to be built a second time at the other end.
//!
//! Mending at the ends ([`crate::mend`]) works as with go-back-N, but for `check_epsn`, which has no meaning where
//! every packet is answered.
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
//! while let Some(answer) = there.poll_transmit(&config) {
//!     here.on_packet(&config, Time::ZERO, &answer);
//! }
//! assert_eq!(here.poll_completion().unwrap().id, 7);
//! ```

pub(crate) mod bitmap;
mod board;
mod chunks;
mod config;
mod packet;
mod policy;
mod requester;
mod responder;
mod scheme;
mod state;
mod tracking;

pub use board::Board;
pub use config::Config;
pub use packet::{Acknowledgement, Data, Packet, SAID_BYTES, Verdict};
pub use policy::{Heard, RecoveryPolicy};
pub use requester::Requester;
pub use responder::Responder;
pub use scheme::{OtherScheme, Scheme};
pub use state::StateBytes;
pub use tracking::{Steps, TrackingKind};
