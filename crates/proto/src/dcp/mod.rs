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

mod bits;
mod config;
pub mod counters;
mod credit;
mod inbox;
mod outgoing;
mod packet;
mod pulls;
mod requester;
mod responder;
mod retrans_queue;
mod state;
mod sums;

pub use config::{Config, Fetch, Flow, Hints, Parameters, Tracking};
pub use packet::{Ack, Data, Missing, Packet, Progress, Recount, TRIMMED_BYTES, Target};
pub use pulls::Pulls;
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
    fn packets_have_the_bytes_that_they_are_counted_with() {
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
            let answer = responder.poll_transmit(&config).expect("each packet asks");
            assert_eq!(answer.wire_bytes().len(), usize::from(answer.extra_bytes()), "{answer:?}");
            requester.on_packet(&config, Time::ZERO, &answer);
        }
        assert_eq!(extras.into_iter().collect::<Vec<_>>(), [4, 12, 20, 28]);
        assert!(requester.is_idle());
    }
}
