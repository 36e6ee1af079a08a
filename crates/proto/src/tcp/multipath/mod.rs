//! Multipath TCP (RFC 8684): one stream over several subflows, each of which is a TCP connection with a port of its own.
//!
//! A [`Sender`] hands the segments of its stream to subflows as these have room, and a [`Receiver`] puts them in order again. Each subflow
//! numbers its own bytes, recovers its own losses and measures its own round trip; [`Signal`] tells where they stand in the stream.
//!
//! ```text
//!            messages                                          messages
//!               │                                                  ▲
//!     stream, numbers of the data  ◄──────── DATA_ACK ──────  a Receiver of the data
//!        │ who has room, nearest first                        ▲    ▲
//!   ┌────┴────┐                                               │    │ in the order of the subflow
//!   Sender  Sender  ═══════════ paths ════════════════►  Receiver Receiver
//! ```
//!
//! - **Scheduler**: of the subflows with room the one with the shortest smoothed round trip; one whose timer has expired gets nothing new while there is another.
//! - **Reinjection**: what is under way on a subflow whose timer expires goes again over others, as they have room. The subflow sends it again
//!   too, as it must (RFC 8684 §3.3.6).
//! - **Windows**: the receive window is one of the data (RFC 8684 §3.3.4); [`super::cc::Lia`] links the increase of congestion windows.
//! - **Order**: as in Linux, data of a subflow count when they are in order there, so that whoever has heard that a subflow
//!   has everything has heard of all of it as data too. So data need no timer of their own.
//! - **Acknowledgements**: each subflow sends its own; when a message is complete none is kept back any longer.
//! - **Set-up**: the first subflow opens the connection, and others join when it is open (RFC 8684 §3.1, §3.2), a round trip for each.
//!
//! Not there: addresses that come and go, priorities of paths, checksums, the fourth packet of a join, and the fall back to one path in front of middleboxes.

mod receiver;
mod sender;
mod signal;

pub use receiver::Receiver;
pub use sender::Sender;
pub use signal::Signal;

/// Bytes that both ends of a connection keep with so many segments under way, as they lie here.
pub const fn state_bytes(subflows: u8, segments: u32) -> usize {
    size_of::<Sender>()
        + size_of::<Receiver>()
        + subflows as usize * (sender::SUBFLOW_BYTES + receiver::SUBFLOW_BYTES)
        + segments as usize * super::flight::RECORD_BYTES
}

/// The most subflows of a connection; Linux has the same bound.
pub const SUBFLOWS_MAX: u8 = 8;
