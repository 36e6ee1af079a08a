//! Transports over switches that trim packets: DCP, and the related NDP and CP.
//!
//! A switch without room for a packet removes the payload and forwards the header in a separate queue. The
//! receiver therefore knows exactly which packet was trimmed, in any order of arrival, and nobody has to
//! infer losses from gaps. DCP ("Revisiting RDMA Reliability for Lossy Fabrics", SIGCOMM 2025) builds a NIC
//! on this:
//!
//! ```text
//!  Requester ──── data: position, unit, round ─► switch ─► Responder: places and counts it
//!      ▲                                          │ no room
//!      │                                          ▼
//!      │◄── bounced header ◄── Responder ◄── header only
//!      │◄── ACK: units complete, packets arrived and trimmed
//!      └─ RetransQ (host memory) ─► fetched in batches ─► sent before anything new, within the window
//! ```
//!
//! There are no other messages between the ends: no NAK, no SACK. A timer on the oldest unit is the last
//! resort. When it expires, the sender resends the unit in a new *round*; the receiver counts only packets of
//! the newest round.
//!
//! # Units
//!
//! DCP counts the packets of a message. [`Parameters::unit_packets`] divides long messages into units that
//! are counted separately, because a round repeats the whole unit: with one packet in a thousand corrupted, a
//! round of ten thousand packets never succeeds.
//!
//! # Exactly once
//!
//! | tracking | a packet that the network duplicates | state for n packets of a unit |
//! |---|---|---|
//! | [`Tracking::Counter`] | replaces a missing one in the count: the published counter assumes that there is none | log2 n bits |
//! | [`Tracking::Sums`] | is detected; up to two are identified and subtracted, more cause a recount in a new round | 4 words |
//! | [`Tracking::Bitmap`] | is detected and dropped | n bits, one step |
//! | [`Tracking::Chunks`] | is detected and dropped | chunks on demand, steps grow with reordering |
//!
//! The default is [`Tracking::Sums`]: its memory does not grow with the unit, every arrival costs one step
//! (two additions, a square, a hash), and a unit is complete only if each packet arrived. The receiver places
//! payload on arrival, but never after its unit is complete, and it reports each message once and in order.
//!
//! # READ
//!
//! The slides say nothing about READ. Here the request of a READ is a message without payload, and its data
//! are a SEND of the responder into the buffer that the READ names. The responder has a sending half for them
//! with queue, window and timer, the requester a receiving half with counters:
//!
//! ```text
//!  Requester ── request: address, length ─────────────► Responder: keeps it until it is its turn
//!      │ ◄── data: number of the READ, offset ─┬─────── sending half
//!   receiving half: places, counts         switch │ no room     ▲
//!      │ ◄── header only ─────────────────────────┘             │
//!      └── returned header; ACK: units complete ────────────────┘
//! ```
//!
//! Both directions count units and rounds of their own. The responder resends data whose headers return or
//! whose timer expires. If it stops, the requester gives up after all its retries and one timeout more.
//!
//! # Corruption
//!
//! A corrupted packet leaves no header, so plain DCP waits for its timer and then repeats the unit.
//! [`LossHints`] detect such losses earlier at the two ends, with any tracking:
//!
//! - The receiver reports packets that later ones have overtaken by more than an allowance, except those
//!   whose headers it returned. With bits it knows each missing packet; with sums it identifies up to two of
//!   a unit; with a counter it can only request a new round.
//! - After a quiet time, the sender probes with the header of the last packet it sent. The probe travels in
//!   the data queue, so it overtakes nothing. It covers losses that no later packet can show: tails, headers
//!   lost on their way back, lost responses.
//!
//! A switch cannot help: it drops a corrupted frame because the checksum over header and payload fails, and
//! an unverified header must not be returned to anyone. Links that repair corruption themselves
//! ([`crate::link`]) are the alternative.
//!
//! # Related transports
//!
//! NDP (SIGCOMM 2017) sends a first window at once and then one packet for each pull; a receiver paces the
//! pulls of all its senders at the rate of its port ([`PullQueue`]). CP (NSDI 2014) notifies a software
//! stack, which takes some time to react, of each trimmed packet: [`Parameters::cp`]. Both track packets by
//! bits in software. They have no READ.

mod config;
pub mod counters;
mod credit;
mod packet;
mod pull_queue;
mod read_sink;
mod read_source;
mod receive_bitmap;
mod receive_units;
mod requester;
mod responder;
mod retrans_queue;
mod send_units;
mod state;
mod sums;
mod timers;

pub use config::{Config, FlowControl, LossHints, Parameters, RetransFetch, Tracking};
pub use packet::{
    Ack, Data, MissingReport, Packet, PayloadTarget, ReceiverProgress, RecountRequest, TRIMMED_BYTES,
};
pub use pull_queue::PullQueue;
pub use requester::Requester;
pub use responder::Responder;
pub use state::StateBytes;

#[cfg(test)]
mod tests {
    use wiremend_units::{Psn, QpNum, Time};

    use super::*;
    use crate::engine::{Op, Requester as _, Responder as _, Work};
    use crate::rc;

    #[test]
    fn packets_have_as_many_wire_bytes_as_are_counted() {
        let base = rc::Config { mtu: 256, ..rc::Config::default() };
        let config = Config { base, parameters: Parameters::DCP };
        let mut requester = Requester::new(QpNum::new(2), Psn::new(0));
        let mut responder = Responder::new(&config, QpNum::new(1), Psn::new(0));
        for (op, imm) in [(Op::Write, None), (Op::Send, None), (Op::Write, Some(7)), (Op::Send, Some(8))] {
            for len in [0, 100, 700] {
                requester.post(&config, Time::ZERO, Work { id: 1, op, len, addr: 1 << 40, rkey: 5, imm });
            }
        }
        let mut extras = std::collections::BTreeSet::new();
        while let Some(transmit) = requester.poll_transmit(&config, Time::ZERO) {
            let packet = transmit.packet;
            assert_eq!(packet.wire_bytes().len(), usize::from(packet.extra_bytes()), "{packet:?}");
            extras.insert(packet.extra_bytes());
            responder.on_packet(&config, Time::ZERO, &packet);
            let response = responder.poll_transmit(&config).expect("each packet requests an acknowledgement");
            assert_eq!(response.wire_bytes().len(), usize::from(response.extra_bytes()), "{response:?}");
            requester.on_packet(&config, Time::ZERO, &response);
        }
        let read = Work { id: 9, op: Op::Read, len: 700, addr: 1 << 40, rkey: 5, imm: None };
        requester.post(&config, Time::ZERO, read);
        while let Some(transmit) = requester.poll_transmit(&config, Time::ZERO) {
            let packet = transmit.packet;
            assert_eq!(packet.wire_bytes().len(), usize::from(packet.extra_bytes()), "{packet:?}");
            let is_bare = matches!(packet.to_wire().1, wiremend_wire::Extension::Bare);
            assert!(!is_bare, "the request has a RETH, acknowledgements have an AETH: {packet:?}");
            responder.on_packet(&config, Time::ZERO, &packet);
            while let Some(data) = responder.poll_transmit(&config) {
                assert_eq!(data.wire_bytes().len(), usize::from(data.extra_bytes()), "{data:?}");
                assert_eq!(data.to_wire().0.opcode, data.opcode());
                requester.on_packet(&config, Time::ZERO, &data);
            }
        }
        assert_eq!(extras.into_iter().collect::<Vec<_>>(), [4, 12, 20, 28]);
        assert!(requester.is_idle());
    }
}
