//! Link-local retransmission: one end of a link that corrupts frames (`LinkGuardian`, SIGCOMM 2023).
//!
//! An [`Endpoint`] is at each end of a link, between a port's queues and its wire. It numbers leaving frames,
//! keeps copies until the other end has received them, and retransmits frames that the other end misses. It
//! delivers arriving frames once and, if required, in order. Both directions work alike. Either may be
//! dormant: its frames then have no header and no cost.
//!
//! ```text
//!    normal queue ─► ┌──────────────────────────┐ ─► wire
//!                    │ poll_transmit:           │     1 hello, missing, pause and resume
//!                    │   next transmission      │     2 retransmissions
//!        on_sent  ─► │                          │     3 normal frames with piggybacked ACK
//!                    │        Endpoint          │     4 dummies and ACK frames, while owed
//!    poll: Deliver ◄ │                          │ ◄─ on_signal, on_plain ◄─ wire
//!          Discard ◄ │                          │
//!          Release ◄ └──────────────────────────┘ ◄─ on_timeout, activate, deactivate
//! ```
//!
//! The core neither reads nor copies frames: it holds handles `F`. A host that sends a frame keeps a copy and
//! passes its handle to [`Endpoint::on_sent`]; the core returns it as [`Disposal::Release`].
//!
//! # Life of a frame
//!
//! A frame gets its number when it leaves, so numbers are in wire order. A receiver that sees a gap notifies
//! the sender at once, ahead of all other frames ([`Missing`]). The sender retransmits as many copies as
//! bring the loss below the target (LG Eq. 2, [`LossRate::copies_for`]). Frames that must keep their order
//! wait in the reordering buffer; before it is full, the receiver pauses the sender. When no frame follows
//! the last one, dummies carry the next number, so that a lost tail is a gap as well (LG §3.2). The receiver
//! acknowledges every dummy, which confirms the tail without a timer.
//!
//! # Why it is robust
//!
//! *States, not changes.* Every signal carries a state: the first number that is not settled, all missing
//! numbers, whether to pause. The next signal makes up for a lost one; a late or duplicate one has no effect.
//! Signals that must arrive are repeated with growing intervals, a limited number of times, while something
//! is missing, paused or unacknowledged. No timer runs on an idle link.
//!
//! *Positions, not eras.* Both ends count frames in 64 bits and extend a received number to the nearest
//! position. Less than half of the numbers are in flight, so the position is unique ([`Seq::position_near`]).
//!
//! *Epochs.* Numbers are valid within one start. Both ends agree on a start (`Open`, `Accept`) after a
//! measurement of the round trip, from which all times and sizes follow. An end that has restarted replies
//! `Unknown`, and the sender starts again. Until both are ready, frames leave without header, so a missing
//! end makes a link no worse. Protection ends after all frames are acknowledged, so none is lost or
//! overtaken.
//!
//! *Bounds.* Retransmissions take a bounded share of the link, and each frame is retransmitted at most once
//! per round trip. Buffers are bounded; a frame that does not fit is counted and requested again. If that is
//! not enough, the [`ProtectionLevel`] steps down: first to no ordering, then to no protection, until the
//! link improves.
//!
//! # Files
//!
//! `sender` numbers, keeps and retransmits frames. `receiver` finds `holes`, ignores forged numbers
//! (`jump_check`), sends notifications (`notification`), reorders and delivers. `handshake` starts and ends a direction. `protection_level`
//! measures loss and chooses copies.
//! `timing` derives times and sizes. `endpoint` schedules the wire.

pub mod prototype;

mod config;
mod counters;
mod delays;
mod endpoint;
mod fingerprint;
mod handshake;
mod hello_time;
mod holes;
mod jump_check;
mod notification;
mod outbox;
mod protection_level;
mod receiver;
mod response_time;
mod ring;
mod sender;
mod seq;
mod signal;
mod timing;

pub use config::{Config, ConfigError};
pub use counters::Counters;
pub use delays::RecoveryDelays;
pub use endpoint::Endpoint;
pub use protection_level::ProtectionLevel;
pub use seq::Seq;
pub use signal::{Ack, Hello, HelloKind, Hole, LinkHeader, Missing};
pub use wiremend_units::{CopyCount, LossRate};

use wiremend_units::Bytes;

/// The frame at the head of the normal queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueHead {
    /// Length from MAC header to FCS, without link header.
    pub len: Bytes,
    /// Whether it must keep its order among ordered frames. Other frames are delivered on arrival.
    pub ordered: bool,
}

/// A transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmit<F> {
    /// The head of the normal queue without header: this direction is dormant.
    Plain,
    /// The head of the normal queue behind a header. The host keeps a copy and calls [`Endpoint::on_sent`]
    /// next.
    New(LinkHeader),
    /// A copy of a kept frame, behind a header.
    Retransmission(LinkHeader, F),
    /// A control frame of minimum length.
    Control(LinkHeader),
}

/// The header of a numbered frame, [`LinkHeader::Data`], by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataHeader {
    /// Epoch of this direction.
    pub epoch: u8,
    /// Sequence number.
    pub seq: u32,
    /// Whether it must be delivered in order.
    pub ordered: bool,
    /// Whether it is a retransmission.
    pub retransmitted: bool,
    /// Piggybacked ACK.
    pub ack: Option<Ack>,
}

impl From<DataHeader> for LinkHeader {
    #[inline]
    fn from(DataHeader { epoch, seq, ordered, retransmitted, ack }: DataHeader) -> Self {
        Self::Data { epoch, seq, ordered, retransmitted, ack }
    }
}

/// A transmission of a protecting end while no frame is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsualTransmit {
    /// As [`Transmit::New`].
    New(DataHeader),
    /// A dummy or an ACK frame.
    Control(ControlHeader),
}

/// The header of a dummy or an ACK frame, [`LinkHeader::Dummy`] or [`LinkHeader::Ack`], in one form: most frames of
/// an idle link are of these two kinds, in no order that a processor could predict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlHeader {
    /// Whether it is a dummy.
    pub is_dummy: bool,
    /// Epoch of this direction, in a dummy.
    pub epoch: u8,
    /// Number of the next frame, in a dummy.
    pub next: u32,
    /// The ACK; piggybacked in a dummy.
    pub ack: Option<Ack>,
}

impl From<ControlHeader> for LinkHeader {
    #[inline]
    fn from(ControlHeader { is_dummy, epoch, next, ack }: ControlHeader) -> Self {
        match ack {
            Some(ack) if !is_dummy => Self::Ack(ack),
            ack => Self::Dummy { epoch, next, ack },
        }
    }
}

/// A transmission where the head of the normal queue is not protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnprotectedTransmit<F> {
    /// Another transmission precedes the head; never [`Transmit::New`].
    First(Transmit<F>),
    /// The head leaves, behind a header while the direction is protected. No copy is kept.
    Head(Option<LinkHeader>),
}

/// What the host does with a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposal<F> {
    /// Forward a frame that arrived.
    Deliver(F),
    /// Drop a frame that arrived: a duplicate, of an unknown epoch, or without room.
    Discard(F),
    /// Free a kept copy.
    Release(F),
}
