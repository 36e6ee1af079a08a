//! A `RoCEv2` endpoint in user space: reliable connections with kernels and NICs at the other end.
//!
//! [`Endpoint`] is without a clock and a socket, like the protocol cores: frames and times go in, frames and
//! [`Event`]s come out. It runs the core of the simulator ([`wiremend_proto::rc`]) and adds what the simulator leaves
//! out: the bytes of headers and payload with their checksums, memory regions with keys, receive buffers, and
//! permissions.
//!
//! ```text
//!             post, post_receive ─►┌──────────┐─► poll_event: completed, received, refused, expired
//!                                  │ Endpoint │
//!  frames of the wire ─► on_frame ─►└──────────┘─► poll_transmit ─► frames for the wire
//! ```
//!
//! Its [`ConnectionManager`] has queue pair 1, and sets up and ends connections by datagrams.
//!
//! On Linux, [`host`] gives it a packet socket and a clock, and [`session`] connects it to perftest,
//! `ibv_rc_pingpong` ([`perftest`]), `rping` and `ucmatose` as server or client.
//!
//! [`probe`] plays losses and errors by hand, past the endpoint, and reports how the peer behaves.
//!
//! Everything is bounded: queue pairs, regions, posted work, receive buffers. A peer that sends wrong keys, lengths,
//! sequence numbers or operations gets the NAK of the specification, and frames with a wrong ICRC, unknown queue pairs
//! or foreign addresses are counted and dropped.

mod connection_manager;
mod drops;
mod endpoint;
mod event;
#[cfg(target_os = "linux")]
pub mod host;
mod path;
pub mod perftest;
#[cfg(target_os = "linux")]
pub mod probe;
mod queue_pair;
mod region;
#[cfg(target_os = "linux")]
pub mod session;
mod timers;

pub use connection_manager::{
    CONNECTIONS_MAX, CmCounters, CmEvent, ConnectionId, ConnectionManager, HALF_OPEN_MAX,
};
pub use drops::{Direction, DropRule, Drops, StallCause};
pub use endpoint::{
    Counters, Endpoint, FRAME_BYTES_MAX, PAIRS_MAX, POSTED_MAX, PairSettings, PostError, Settings,
};
pub use event::Event;
pub use path::Path;
pub use queue_pair::{PairCounters, PairId, Post, Remote};
pub use region::{Access, RegionId, Slice};
