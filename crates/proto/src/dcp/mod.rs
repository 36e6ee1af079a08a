//! Transports over switches that cut payloads off: DCP, and its relatives NDP and CP.
//!
//! A switch that has no room for a packet keeps its header and passes that on in a queue of its own. So the receiver learns
//! exactly which packet was cut, whatever the order of arrival, and nobody has to conclude losses from gaps. DCP ("Revisiting
//! RDMA Reliability for Lossy Fabrics", SIGCOMM 2025) builds a NIC on that:
//!
//! ```text
//!  Requester ──── data: place, unit, round ────► switch ──► Responder: puts it there, counts it
//!      ▲                                          │ no room
//!      │                                          ▼
//!      │◄── bounced header ◄── Responder ◄── header alone
//!      │◄── ACK: units complete, packets arrived and cut ◄──┘
//!      └─ RetransQ (host memory) ─► fetched in batches ─► sent before anything new, within the window
//! ```
//!
//! Nothing else is said between the ends: no NAK, no SACK. A timer on the oldest unit is the last resort. When it expires the
//! unit is sent anew in a new *round*; the receiver counts packets of the newest round alone.
//!
//! # Units
//!
//! DCP counts the packets of a message. [`Parameters::unit_packets`] cuts long messages into units which are
//! counted each by itself, since a round of a unit repeats all of it: with one packet in a thousand corrupted, a round of ten
//! thousand packets never succeeds.
//!
//! # Exactly once
//!
//! | tracking | a packet that the network doubles | state for n packets of a unit |
//! |---|---|---|
//! | [`Tracking::Counter`] | stands in for one that is missing: the published counter relies on there being none | log2 n bits |
//! | [`Tracking::Sums`] | is seen; up to two are named and taken out, more make the receiver ask for a new round | 4 words |
//! | [`Tracking::Bitmap`] | is seen and dropped | n bits, one step |
//! | [`Tracking::Chunks`] | is seen and dropped | chunks as needed, steps grow with disorder |
//!
//! The default is [`Tracking::Sums`]: memory does not grow with the unit, every arrival costs one step (two
//! additions, a square, a hash), and a unit counts as complete only if each packet came. Payload is put in place on arrival, but
//! never after its unit is complete, and an application is told of each message once and in order.
//!
//! # Corruption
//!
//! A corrupted packet leaves no header, so plain DCP waits for its timer, and then repeats the unit. [`Hints`] close the gap at
//! the two ends, with any tracking:
//!
//! - The receiver names what later packets have passed by more than an allowance, except what went back as a
//!   header. With bits it knows each; with sums it names up to two of a complete unit; a counter can only ask for a new round.
//! - The sender asks after a quiet time, with the header of the last packet it sent. The question travels in the queue of
//!   the data, so that it overtakes nothing, and it covers what no later packet could show: tails, headers lost on their way
//!   back, lost answers.
//!
//! A switch could not help: it drops a corrupted frame because the check over header and payload fails, and a header of which no
//! check holds must not be bounced to anyone. Links that mend corruption themselves ([`crate::link`]) are the other remedy.
//!
//! # Relatives
//!
//! NDP (SIGCOMM 2017) sends a first window at once and then a packet for each pull; a receiver paces the pulls of all its senders
//! at the rate of its port ([`Pulls`]). CP (NSDI 2014) is precise notice of each cut packet to a stack in software, which takes
//! its time to act: [`Parameters::cp`]. Both keep bits in software. READ is offered by none: its data are answers.

use wiremend_wire::Opcode;

mod bits;
mod config;
pub mod counters;
mod credit;
mod header;
mod inbox;
mod outgoing;
mod pulls;
mod requester;
mod responder;
mod retrans_queue;
mod state;
mod sums;

pub use config::{Config, Fetch, Flow, Hints, Parameters, Tracking};
pub use pulls::Pulls;
pub use requester::Requester;
pub use responder::Responder;
pub use state::StateBytes;

use crate::rc::Packet;

/// Bytes that a whole packet takes on the wire beyond those of its opcode.
///
/// Behind the BTH and the extension headers of its opcode, data carry the number of their unit (3 B) and the round (1 B), which a
/// switch that trims keeps with the BTH. Then comes the place, where the opcode has none: of a WRITE the RETH (16 B), of a SEND the
/// receive buffer (SSN) and the offset (4 B each). The last packet of a unit adds the sum of hashes (8 B). Answers add
/// the totals of packets that came whole and cut (4 B each), then pulls (4 B) or a map of what is missing (8 B).
pub const fn extra_bytes(packet: &Packet) -> u16 {
    const UNIT: u16 = 4;
    let end = if packet.ends_unit() { 8 } else { 0 };
    match packet.opcode {
        Opcode::Acknowledge if packet.is_nak() => 16,
        Opcode::Acknowledge => 12,
        Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteLastImm => UNIT + 16 + end,
        opcode if opcode as u8 <= Opcode::SendOnlyImm as u8 => UNIT + 8 + end,
        opcode if opcode.is_response() => 0,
        Opcode::Cnp => 0,
        _ => UNIT + end,
    }
}
