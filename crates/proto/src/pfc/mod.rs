//! Priority flow control of a switch (IEEE 802.1Qbb): when to tell a neighbour to stop, and when to go on.
//!
//! A switch has one memory for the frames that wait in it, whichever port they leave by. They are counted by where they came
//! in, since only the neighbour there can be told to stop. Of each ingress and class the first bytes lie in a *reserve* of
//! its own, those beyond it in the part that all *share*, as long as they are below a threshold that falls as the memory
//! fills: t = α (m − m′), with m the shared bytes and m′ those in use. What comes above it lies in a *headroom* of that
//! ingress, and its neighbour is told to stop:
//!
//! ```text
//!   frame ─► admit ──┬─► reserve, shared ───────────────► … queue … ─► release ─► XON?
//!                    └─► headroom, and XOFF: the neighbour stops   (headroom empty, and far enough below t)
//! ```
//!
//! Headroom takes what the neighbour sends until it has obeyed ([`Reach::headroom`]), so a lossless frame is never dropped
//! while PFC frames arrive. [`Buffer`] has no frames: its host asks it where a frame may lie, tells it when one leaves, sends
//! what [`Buffer::poll_transmit`] gives before all else on that port, and comes back at [`Buffer::next_timeout`].
//!
//! A PFC frame says a state, not a change: every class of the port that must wait, and those that no longer must. A pause ends
//! by itself after its quanta, so it is said again after half of them; a resume that is lost is made good by that end.
//! A pause that is lost costs all that comes until it is said again: over links that corrupt, each frame may be followed by copies
//! ([`Config::copies`]).

mod buffer;
mod config;
mod counters;

pub use buffer::{Admission, Buffer, CLASSES, Classes};
pub use config::{Alpha, Config, PortConfig, Reach, Unworkable};
pub use counters::Counters;
