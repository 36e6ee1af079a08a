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
//!    poll: Deliver ◄ │                          │ ◄─ on_signal, on_plain ◄─ wire
//!          Discard ◄ │                          │
//!          Release ◄ └──────────────────────────┘ ◄─ on_timeout, activate, deactivate
//! ```
//!
//! The core never looks into a frame and never copies one: it holds handles `F`. A host that sends a frame keeps a
//! copy and gives its handle to [`Endpoint::on_sent`]; it gets it back as [`Disposal::Release`].
//!
//! # The way of a frame
//!
//! A frame gets its number when it leaves, so numbers are in the order of the wire. A receiver that sees a gap tells of it
//! at once, ahead of everything else ([`Missing`]), and the sender answers with as many copies as bring the loss below the
//! target (LG Eq. 2, [`LossRate::copies_for`]). Frames that must keep their order wait behind the gap, at most in the room
//! there is: before it is full, the sender is asked to pause. When nothing follows the last frame, dummies say how far
//! numbers have come, so that a lost tail is a gap as well (LG §3.2). A dummy is always answered, which is how a
//! sender learns that a tail has arrived: no clock runs for it.
//!
//! # What makes it hold
//!
//! *States, not changes.* Every signal says where its sender stands: the first number that is not settled, all that is
//! missing, whether to pause. One that is lost is made good by the next; one that comes twice or late does
//! nothing. So whatever must arrive is said again, by a clock that runs only as long as something is missing, paused or
//! unanswered, ever more slowly and not for ever. When all is quiet, no clock runs.
//!
//! *Places, not eras.* Both ends count frames in 64 bits and read a number as the place nearest to where they stand. As the
//! sender never has more under way than half the numbers, there is one such place ([`Seq::place_near`]).
//!
//! *Epochs.* Numbers mean something between the two ends of one start. A start is agreed upon (`Open`, `Accept`), with a
//! question before that measures the round trip, from which all times and sizes follow. An end that has forgotten
//! says so (`Unknown`), and the sender starts anew. Until both are ready frames leave as they are, so a link is never
//! worse for being protected by an end that has gone away. Protection ends when all is acknowledged, so nothing is lost
//! or overtaken.
//!
//! *Bounds.* Copies take no more than a share of the link, each at most once in a round trip however often it is asked for;
//! buffers have their sizes, and what finds no room is counted and asked for again. Where that is not enough, the
//! [`Stance`] steps down: first nothing waits for what is lost, then nothing is numbered, until the link is better.
//!
//! # Where to look
//!
//! `sender` numbers, keeps, sends again; `receiver` finds `holes`, tells of them (`notice`), holds and hands on; `handshake` is
//! how a direction starts and ends; `stance` measures loss and decides on copies; `timing` derives every time and size;
//! `endpoint` lets them share the wire.

pub mod paper;

mod config;
mod counters;
mod delays;
mod endpoint;
mod fingerprint;
mod handshake;
mod holes;
mod notice;
mod outbox;
mod receiver;
mod ring;
mod sender;
mod seq;
mod signal;
mod stance;
mod timing;
mod trip;

pub use config::{Config, ConfigError};
pub use counters::Counters;
pub use delays::RecoveryDelays;
pub use endpoint::Endpoint;
pub use seq::Seq;
pub use signal::{Ack, Hello, HelloKind, Hole, Missing, Signal};
pub use stance::Stance;
pub use wiremend_units::{CopyCount, LossRate};

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

/// What a free wire carries next, where the head of the normal queue is not to be protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aside<F> {
    /// Something goes before it. It is never [`Transmit::Fresh`].
    Before(Transmit<F>),
    /// It leaves, behind a header as long as others are protected. Nobody keeps it.
    Leaves(Option<Signal>),
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
