//! Forward error correction over frames: one end of a link that corrupts them (Wharf, `NetCompute` 2018).
//!
//! The sender numbers frames in blocks of up to k and sends h parities behind each; from any k of the k + h the receiver can
//! restore all. Nothing is asked for and nothing is sent again, so a loss costs no round trip, but the parities take their
//! share of the link whether frames are lost or not. A block that does not fill up in time is closed short.
//!
//! ```text
//!    normal queue ─► ┌──────────────────────────┐ ─► wire
//!                    │ poll_transmit:           │     1 parities of a block that is full, or due
//!        on_sent  ─► │   who is next            │     2 normal frames, numbered
//!                    │        Endpoint          │
//!    poll: Deliver ◄ │                          │ ◄─ on_signal(signal, frame) ◄─ wire
//!          Recover ◄ │                          │ ◄─ on_recovered(block, index, frame)
//!          Release ◄ └──────────────────────────┘ ◄─ on_timeout, activate, deactivate
//! ```
//!
//! The core holds handles `F` and decides; it never sees a byte. A host on a real wire makes parities of the frames it
//! [keeps](Endpoint::kept) and restores frames with [`codec`]; a simulator, which knows what was lost, needs neither.
//!
//! A link keeps the order of what it carries. So the first frame of another block says that all of the last one has passed, and
//! no frame waits for longer than a block. Wharf hands frames on as they come and restored ones late, when TCP has long taken them
//! for lost; here a frame waits while an earlier one may still be restored ([`Order::Kept`]), since a go-back-N receiver has
//! no use for what comes out of order. [`Order::AsTheyCome`] does as Wharf does.

pub mod codec;
mod config;
mod counters;
mod endpoint;
mod index_set;
mod receiver;
mod sender;
mod signal;

pub use config::{Code, Config, ConfigError, Order};
pub use counters::Counters;
pub use endpoint::Endpoint;
pub use index_set::IndexSet;
pub use signal::Signal;

use wiremend_units::Bytes;

/// What a free wire carries next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmit {
    /// The head of the normal queue as it is: this direction is dormant.
    Plain,
    /// The head of the normal queue behind a header. The host keeps a copy and calls [`Endpoint::on_sent`] before
    /// anything else.
    Fresh(Signal),
    /// A parity of the frames that are [kept](Endpoint::kept).
    Parity {
        /// Its header.
        signal: Signal,
        /// What follows the header: the longest frame of the block, and its length.
        len: Bytes,
    },
}

/// What becomes of handles and blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposal<F> {
    /// A frame that arrived or was restored goes on its way.
    Deliver(F),
    /// A frame that came too late, or makes no sense.
    Discard(F),
    /// A copy that was kept is no longer needed.
    Release(F),
    /// Enough has arrived to restore the rest: each goes to [`Endpoint::on_recovered`].
    Recover {
        /// Of which block.
        block: u16,
        /// Which of its frames.
        missing: IndexSet,
    },
    /// All of this block has passed. What the host remembers of its frames and parities is no longer needed.
    Settled {
        /// Which.
        block: u16,
    },
}
