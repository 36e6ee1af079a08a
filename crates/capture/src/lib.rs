//! Captures of `RoCEv2` traffic: their packets, and why queue pairs stalled.
//!
//! [`dissect`] reads one captured frame: link headers, VLAN tags, tunnels of mirrors, and the packets of all
//! services. [`Analysis`] takes the frames of one or more taps and returns an [`Explanation`].
//!
//! ```text
//! bytes ─► decompressed ─► pcap::Reader ─► dissect ─► Analysis ───────────────────────────► Explanation
//!                                                      taps ─► pairing ─► flow ─► cause ─► report
//! ```
//!
//! A flow is the requests from one host to one queue pair. The analysis follows what both ends know, as far
//! as the tap tells. An event is a request below the highest PSN that does not follow the request before it:
//! the requester went back. It asked for that itself if no NAK did: its timer fired. Silence alone is never an
//! event. The module `cause` says why the timer had to fire, and how sure that is.
//!
//! Memory is bounded for any input: tables of hosts, flows and interfaces have limits, histories are shortened,
//! and the explanation counts what was left out.

mod analysis;
mod cause;
mod compression;
mod event;
mod flow;
mod history;
mod ip;
mod link_layer;
mod not_roce;
mod operation;
mod packet;
mod pairing;
mod reaction;
mod read;
mod reads;
mod record;
mod remedy;
mod report;
mod resend;
mod summary;
mod taps;
mod text;
mod trail;
mod truth;
mod two_taps;

pub use analysis::{Analysis, Captured, Step, Tally};
pub use cause::TapPosition;
pub use compression::decompressed;
pub use event::{Certainty, Event, EventKind, Evidence, Side, Verdict};
pub use ip::IpHeader;
pub use link_layer::{LinkHeaders, Tunnel};
pub use not_roce::NotRoce;
pub use operation::{Operation, Service};
pub use packet::{Content, Dissected, RocePacket, dissect};
pub use read::ReadError;
pub use remedy::Remedy;
pub use report::Explanation;
pub use summary::{FlowSummary, Summary};
pub use truth::Truth;
