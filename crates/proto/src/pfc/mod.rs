//! Priority flow control of a switch (IEEE 802.1Qbb): when to pause and resume neighbours.
//!
//! A switch has one buffer for all ports. Frames are accounted by ingress, because only the neighbour there
//! can be paused. The first bytes of each ingress and class are in a *reserve* of its own. Further bytes are
//! *shared*, up to a threshold that falls as the buffer fills: t = α (m − m′), with m the shared bytes and m′
//! those in use. Bytes above it are in the *headroom* of that ingress, and its neighbour is paused:
//!
//! ```text
//!   frame ─► admit ──┬─► reserve, shared ───────────────► … queue … ─► release ─► XON?
//!                    └─► headroom, and XOFF: pause                 (headroom empty, and far enough below t)
//! ```
//!
//! Headroom takes all that the neighbour sends until the pause takes effect ([`HeadroomParams::headroom`]),
//! so a lossless frame is never dropped while PFC frames arrive. [`Buffer`] has no frames: its host admits
//! and releases frames, sends the PFC frames of [`Buffer::poll_transmit`] before all others on a port, and
//! calls [`Buffer::on_timeout`] at [`Buffer::next_timeout`].
//!
//! A PFC frame carries a state, not a change: all paused classes of the port and those that were resumed. A
//! pause ends by itself after its quanta, which makes up for a lost resume, and is refreshed after half of
//! them. A lost pause costs all frames that arrive until its refresh; on links that corrupt frames, copies
//! protect it ([`Config::copies`]).

mod buffer;
mod config;
mod counters;

pub use buffer::{Admission, Buffer, CLASSES, PauseTimes};
pub use config::{Alpha, Config, ConfigError, HeadroomParams, PortConfig};
pub use counters::Counters;
