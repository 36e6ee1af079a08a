//! Two hosts with a fake clock, two lanes that lose what a test tells them to, and real bytes in memory.
//!
//! A [`Pair`] is the smallest host of the protocol cores, whichever [`Protocol`] they speak: it polls them when a port is
//! free, carries packets with their payload for a fixed delay, and keeps what arrived, so that a test can compare memory
//! byte for byte. A test reads as a story: which packet is lost, what is posted, what must have happened in the end.
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
//! [`Linked`] is the same for the two ends of a protected link: [`LinkPair`] for ours, and [`PrototypePair`] for the published
//! one, so that a story can be told of both.

mod dice;
mod host;
mod lane;
mod link;
mod pair;
mod protocol;

pub use dice::Dice;
pub use host::{Host, Received};
pub use lane::{Direction, Fate, Luck, Path, Sighting};
pub use link::{
    Course, Departure, Frame, FrameNo, Kind, Leaving, LinkConveyor, LinkEnd, LinkPair, LinkSignal, Linked,
    Order, Passing, PrototypeConfig, PrototypeEnd, PrototypePair, PrototypeSignal,
};
pub use pair::{Cause, Ending, Expired, Pair, Side};
pub use protocol::{Multipath, Placing, Protocol};
