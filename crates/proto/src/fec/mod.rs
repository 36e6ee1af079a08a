//! Forward error correction over frames: one end of a link that corrupts them (Wharf, `NetCompute` 2018).
//!
//! The sender numbers frames in blocks of up to k and sends h parities after each block. The receiver
//! restores the block from any k of the k + h. There are no requests and no retransmissions, so a loss costs
//! no round trip, but parities always take their share of the link. A block that is not full in time is
//! closed short.
//!
//! ```text
//!    normal queue ─► ┌──────────────────────────┐ ─► wire
//!                    │ poll_transmit:           │     1 parities of a full or expired block
//!        on_sent  ─► │   next transmission      │     2 normal frames, numbered
//!                    │        Endpoint          │
//!    poll: Deliver ◄ │                          │ ◄─ on_signal(signal, frame) ◄─ wire
//!          Recover ◄ │                          │ ◄─ on_recovered(block, index, frame)
//!          Release ◄ └──────────────────────────┘ ◄─ on_timeout, activate, deactivate
//! ```
//!
//! The core holds handles `F` and never sees bytes. A host on a real wire computes parities of the frames it
//! [keeps](Endpoint::kept) and restores frames with [`codec`]. A simulator knows what was lost and needs
//! neither.
//!
//! A link keeps the order of frames. So the first frame of the next block shows that the previous block has
//! passed, and no frame waits longer than a block. Wharf delivers frames on arrival and restored frames late,
//! when TCP already counts them as lost. Here a frame waits while an earlier one may still be restored
//! ([`DeliveryOrder::InOrder`]), because a go-back-N receiver drops frames that are out of order.
//! [`DeliveryOrder::OnArrival`] is Wharf's behaviour.

pub mod codec;
mod config;
mod counters;
mod endpoint;
mod index_set;
mod receiver;
mod sender;
mod signal;

pub use config::{Code, Config, ConfigError, DeliveryOrder};
pub use counters::Counters;
pub use endpoint::Endpoint;
pub use index_set::IndexSet;
pub use signal::FecHeader;

use wiremend_units::Bytes;

/// A transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmit {
    /// The head of the normal queue without header: this direction is dormant.
    Plain,
    /// The head of the normal queue behind a header. The host keeps a copy and calls [`Endpoint::on_sent`]
    /// next.
    New(FecHeader),
    /// A parity of the [kept](Endpoint::kept) frames.
    Parity {
        /// Header.
        signal: FecHeader,
        /// Length after the header: that of the longest frame of the block and its length field.
        len: Bytes,
    },
}

/// What the host does with a handle or block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposal<F> {
    /// Forward a frame that arrived or was restored.
    Deliver(F),
    /// Drop a frame that is late or malformed.
    Discard(F),
    /// Free a kept copy.
    Release(F),
    /// Restore the missing frames and pass each to [`Endpoint::on_recovered`].
    Recover {
        /// Block number.
        block: u16,
        /// Indices of the missing frames.
        missing: IndexSet,
    },
    /// The block has passed. The host may free its stored frames and parities.
    BlockDone {
        /// Block number.
        block: u16,
    },
}
