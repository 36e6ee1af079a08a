//! Protocol cores without a clock, a socket, a thread, randomness or a log: the same code runs in the simulator
//! and on a real wire.
//!
//! A core has three doors. Inputs are methods (`post`, `on_packet`, `on_timeout`) that take the time as an
//! argument; outputs are polled (`poll_transmit`, `poll_completion`) until they run dry; `next_timeout` says when
//! the host must call again if nothing else happens. A core never calls out, so a host decides when a packet is
//! made: a NIC polls when its port can send, and a rewind is therefore never overtaken by packets already queued.
//!
//! ```text
//!            post ─►┌───────────┐─► poll_completion
//!                   │ Requester │─► poll_transmit ──► SEND, WRITE, READ request ──┐
//!       on_packet ─►└───────────┘                                                 ▼
//!            ▲      ┌───────────┐◄─ on_packet ◄───────────────────────────── (the network)
//!            │      │ Responder │─► Outcome: where the payload goes, what completed
//!            │      └───────────┘─► poll_transmit ──► ACK, NAK, READ response ──┐
//!            └──────────────────────────────────────────────────────────────────┘
//! ```
//!
//! - [`engine`]: the contract of the two ends of a connection, and the words that all protocols share; [`Packet`]: what
//!   travels between them.
//! - [`rc`]: reliable connections of `RoCEv2`, with loss recovery as a policy that owns both ends.
//! - [`sr`]: reliable connections that take packets out of order and send again only what is missing.
//! - [`tcp`]: TCP with SACK, RACK-TLP, and CUBIC, DCTCP, BBR or Reno.
//! - [`link`]: link-local retransmission, which masks corruption from everything that crosses a link.
//! - [`fec`]: error correction over frames, the alternative that needs no way back.
//! - [`dcp`]: transports over switches that cut payloads off, with headers that come back.
//! - [`mend`]: dummies, repeats: what the ends and their switches do against timeouts.
//! - [`pfc`]: priority flow control of a switch: what its neighbours may still send, and what they are told.
//! - [`cc`]: congestion control, which tells a host when a queue pair may send next.

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
