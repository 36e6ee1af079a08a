//! Link-local retransmission: one end of a link that corrupts frames (`LinkGuardian`, SIGCOMM 2023).
//!
//! An [`Endpoint`] stands at each end of a link, between a port's queues and its wire. It numbers what leaves, keeps it until
//! the other end has it, and sends it again when the other end misses it; what arrives it hands on once each and, where asked,
//! in order. Both directions are protected alike, and either may be dormant: then its frames carry no header and
//! cost nothing.
//!
//! ```text
//!    normal queue ─► ┌──────────────────────────┐ ─► wire
//!                    │ poll_transmit:           │     1 hello, missing, pause and resume
//!                    │   who is next            │     2 frames sent again
//!        on_sent  ─► │                          │     3 normal frames, an ACK on their back
//!                    │        Endpoint          │     4 dummies and ACKs of their own, while owed
//!    poll: Deliver ◄ │                          │ ◄─ on_signal(signal, frame) ◄─ wire
//!          Discard ◄ │                          │
//!          Release ◄ └──────────────────────────┘ ◄─ on_timeout, activate, deactivate
//! ```
//!
//! The core never looks into a frame and never copies one: it holds handles `F`. A host that sends a frame keeps a
//! copy and gives its handle to [`Endpoint::on_sent`]; it gets it back as [`Disposal::Release`].

pub mod paper;

mod config;
mod counters;
mod endpoint;
mod handshake;
mod holes;
mod loss;
mod notice;
mod outbox;
mod receiver;
mod ring;
mod sender;
mod seq;
mod signal;
mod stance;
mod timing;

pub use config::{Config, ConfigError, CopyCount};
pub use counters::Counters;
pub use endpoint::Endpoint;
pub use loss::LossRate;
pub use seq::Seq;
pub use signal::{Ack, Hello, HelloKind, Hole, Missing, Signal};
pub use stance::Stance;

use wiremend_units::Bytes;

/// The frame at the head of the normal queue: it could leave now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Its length from MAC header to FCS, without a link header.
    pub len: Bytes,
    /// Whether it must not overtake others that say so too. What need not, is handed on at once.
    pub ordered: bool,
}

/// What a free wire carries next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmit<F> {
    /// The head of the normal queue as it is: this direction is dormant.
    Plain,
    /// The head of the normal queue behind a header. The host keeps a copy and calls [`Endpoint::on_sent`] before
    /// anything else.
    Fresh(Signal),
    /// A copy of a frame that is kept, behind a header.
    Again(Signal, F),
    /// A frame of the link's own, of the shortest length there is.
    Own(Signal),
}

/// What becomes of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposal<F> {
    /// A frame that arrived goes on its way.
    Deliver(F),
    /// A frame that arrived has been here before, belongs to nothing, or found no room.
    Discard(F),
    /// A copy that was kept is no longer needed.
    Release(F),
}
