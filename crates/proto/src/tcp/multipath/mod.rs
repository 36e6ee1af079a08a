//! Multipath TCP (RFC 8684): one stream over several subflows, each a TCP connection with a port of its own.
//!
//! A [`Sender`] distributes the segments of its stream to subflows with free windows, and a [`Receiver`]
//! restores the order. Each subflow has its own sequence numbers, loss recovery and round trip; [`Dss`] maps
//! its bytes to the stream.
//!
//! ```text
//!            messages                                          messages
//!               │                                                  ▲
//!     stream, data sequence        ◄──────── DATA_ACK ──────  Receiver of the data
//!        │ subflow with room and the shortest round trip      ▲    ▲
//!   ┌────┴────┐                                               │    │ in subflow order
//!   Sender  Sender  ═══════════ paths ════════════════►  Receiver Receiver
//! ```
//!
//! - **Scheduler**: the subflow with room and the shortest smoothed round trip. A subflow whose timer has
//!   expired gets no new data while another works.
//! - **Reinjection**: data in flight on a subflow whose timer expires are sent again over other subflows. The
//!   subflow retransmits them too, as it must (RFC 8684 §3.3.6).
//! - **Windows**: one receive window for all data (RFC 8684 §3.3.4). [`super::cc::Lia`] links the congestion
//!   windows.
//! - **Order**: as in Linux, data count only when they are in order on their subflow. So a subflow ACK always
//!   implies the `DATA_ACK`, and data need no timer of their own.
//! - **Acknowledgements**: each subflow sends its own. A complete message releases all delayed ACKs.
//! - **Set-up**: the first subflow opens the connection and the others join afterwards (RFC 8684 §3.1, §3.2),
//!   each in one round trip.
//!
//! Not implemented: address management, path priorities, checksums, the fourth packet of a join, fallback to
//! plain TCP.

mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

pub use super::dss::Dss;

/// Memory of both ends of a connection with `segments` in flight, in bytes.
pub const fn state_bytes(subflows: u8, segments: u32) -> usize {
    size_of::<Sender>()
        + size_of::<Receiver>()
        + subflows as usize * (sender::SUBFLOW_BYTES + receiver::SUBFLOW_BYTES)
        + segments as usize * super::flight::RECORD_BYTES
}

/// Maximum subflows of a connection, as in Linux.
pub const SUBFLOWS_MAX: u8 = 8;
