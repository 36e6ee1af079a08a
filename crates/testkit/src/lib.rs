//! Two hosts with a fake clock, two lanes with scripted or random losses, and real bytes in memory.
//!
//! A [`Pair`] is a minimal host of the cores of any [`Protocol`]. It polls them when a port is free, carries
//! packets with payload over a fixed delay, and stores what arrives, so that tests can compare memory byte by
//! byte. A test states which packets are lost, what is posted, and what must be true in the end.
//!
//! ```
//! use wiremend_proto::rc::Config;
//! use wiremend_testkit::{Direction, Pair, Side};
//!
//! let mut pair = Pair::new(Config::default()).drop_nth(Direction::Forward, [2]);
//! pair.write(Side::A, 10_000);
//! pair.run_until_idle();
//! pair.assert_delivered();
//! assert_eq!(pair.requester(Side::A).naks, 1);
//! assert_eq!(pair.requester(Side::A).timeouts, 0);
//! ```
//!
//! [`EndpointPair`] is the same for the two ends of a protected link: [`LinkPair`] for this project's
//! protocol and [`PrototypePair`] for the published one.

mod host;
mod lane;
mod link;
mod pair;
mod protocol;
mod random;

pub use host::{Host, ReceivedMessage};
pub use lane::{Direction, Fate, Path, RandomFaults, SentPacket};
pub use link::{
    Departure, EndpointPair, Frame, FrameKind, FrameNo, LineRateLink, LinkCommand, LinkEnd, LinkPair,
    LinkSignal, LinkTransmit, PrototypeConfig, PrototypeEnd, PrototypePair, PrototypeSignal, RunHistory,
    WireFrame,
};
pub use pair::{Pair, RunEnd, Side, TimeoutCause, TimeoutRecord};
pub use protocol::{Multipath, PayloadOrder, Protocol};
pub use random::Random;
