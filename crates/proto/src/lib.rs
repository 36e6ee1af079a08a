//! Protocol cores without a clock, a socket, a thread, randomness or a log. The same code runs in the
//! simulator and on a real wire.
//!
//! A host uses a core in three ways. Inputs are methods (`post`, `on_packet`, `on_timeout`) that take the
//! time as an argument. The host polls outputs (`poll_transmit`, `poll_completion`) until there are none.
//! `next_timeout` returns the time at which the host must call again if nothing else happens. A core has no
//! callbacks, so the host decides when a packet is built: a NIC polls when its port can send, and packets
//! that are already queued therefore never overtake a rewind.
//!
//! ```text
//!            post ─►┌───────────┐─► poll_completion
//!                   │ Requester │─► poll_transmit ──► SEND, WRITE, READ request ──┐
//!       on_packet ─►└───────────┘                                                 ▼
//!            ▲      ┌───────────┐◄─ on_packet ◄───────────────────────────── (the network)
//!            │      │ Responder │─► RequestOutcome: where the payload goes, what completed
//!            │      └───────────┘─► poll_transmit ──► ACK, NAK, READ response ──┐
//!            └──────────────────────────────────────────────────────────────────┘
//! ```
//!
//! - [`engine`]: the traits of both ends of a connection and the types that all protocols share.
//! - [`Packet`]: a packet of any protocol.
//! - [`rc`]: reliable connections of `RoCEv2`; a loss recovery policy controls both ends.
//! - [`sr`]: reliable connections that accept packets out of order and retransmit only missing packets.
//! - [`tcp`]: TCP with SACK, RACK-TLP, and CUBIC, DCTCP, BBR or Reno.
//! - [`link`]: link-local retransmission, which hides corruption from everything that crosses a link.
//! - [`fec`]: forward error correction over frames, which needs no reverse channel.
//! - [`dcp`]: transports over switches that trim packets; receivers return the headers of trimmed packets.
//! - [`mend`]: dummies and repeats with which hosts and ToR switches avoid timeouts.
//! - [`pfc`]: priority flow control of a switch: buffer accounting, and when to pause each neighbour.
//! - [`cc`]: congestion control, which limits when and how much a queue pair may send.

#[macro_use]
mod counters;

pub mod cc;
pub mod dcp;
pub mod engine;
pub mod fec;
pub mod link;
pub mod mend;
mod packet;
pub mod pfc;
pub mod rc;
pub mod sr;
pub mod tcp;

pub use packet::Packet;
