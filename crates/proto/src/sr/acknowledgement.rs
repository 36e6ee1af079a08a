//! What a responder says of each packet: how far everything has come, and which packet made it speak.
//!
//! IRN (Mittal et al., SIGCOMM 2018, §3.1) and MP-RDMA (Lu et al., NSDI 2018, §3.2) both carry these two numbers;
//! RACK needs the second to know what was delivered, and a word about duplicates as DSACK (RFC 2883) says it.
//! On the wire it is an acknowledgement of `RoCEv2` with [`SAID_BYTES`] more: the second number and a byte of flags.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{AethRepr, NakCode, Syndrome};

use crate::rc::Packet;

/// Bytes that follow the AETH: a PSN and the flags.
pub const SAID_BYTES: u16 = 4;

const DROPPED: u32 = 1;
const DUPLICATE: u32 = 2;
const MARKED: u32 = 4;

/// An answer to one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Acknowledgement {
    /// The first number that has not arrived.
    pub(super) expected: Psn,
    /// The packet that is answered.
    pub(super) trigger: Psn,
    /// Messages executed: 24 bits.
    pub(super) msn: u32,
    pub(super) verdict: Verdict,
    /// The packet was dropped, because it lies beyond what the responder can track.
    pub(super) dropped: bool,
    /// The packet had arrived before.
    pub(super) duplicate: bool,
    /// A switch had marked the packet for congestion.
    pub(super) marked: bool,
}

/// What kind of answer it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Nothing is asked for.
    Ack,
    /// What is expected is missing, or whatever else the code says.
    Nak(NakCode),
}

impl Acknowledgement {
    /// Nothing but that everything up to a packet has arrived: a later one says the same and more.
    pub(super) fn is_plain(&self) -> bool {
        self.verdict == Verdict::Ack
            && !(self.dropped || self.duplicate || self.marked)
            && self.trigger.distance(self.expected) < 0
    }

    /// An ACK carries the number of the last packet in order, a NAK that of the missing one (IBA 9.7.5), as switches
    /// that repeat NAKs read it.
    pub(super) fn packet(&self, peer: QpNum) -> Packet {
        let (psn, syndrome) = match self.verdict {
            Verdict::Ack => (self.expected.ahead(u32::MAX), Syndrome::ACK),
            Verdict::Nak(code) => (self.expected, Syndrome::Nak(code)),
        };
        let flags = [(self.dropped, DROPPED), (self.duplicate, DUPLICATE), (self.marked, MARKED)];
        let flags = flags.into_iter().filter_map(|(is, flag)| is.then_some(flag)).sum();
        Packet::acknowledge(peer, psn, AethRepr { syndrome, msn: self.msn }).with_said([
            self.trigger.get(),
            flags,
            0,
        ])
    }

    /// `None`: it is no acknowledgement, or one that this scheme has no use for.
    pub(super) fn read(packet: &Packet) -> Option<Self> {
        let aeth = packet.aeth()?;
        let (verdict, expected) = match aeth.syndrome {
            Syndrome::Ack { .. } => (Verdict::Ack, packet.psn.ahead(1)),
            Syndrome::Nak(code) => (Verdict::Nak(code), packet.psn),
            Syndrome::Rnr { .. } | Syndrome::Reserved(_) => return None,
        };
        let [trigger, flags, _] = packet.said();
        Some(Self {
            expected,
            trigger: Psn::new(trigger),
            msn: aeth.msn,
            verdict,
            dropped: flags & DROPPED != 0,
            duplicate: flags & DUPLICATE != 0,
            marked: flags & MARKED != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        for bits in 0..16 {
            let flag = |bit: u32| bits & bit != 0;
            let said = Acknowledgement {
                expected: Psn::new(0),
                trigger: Psn::new(7),
                msn: 3,
                verdict: if flag(8) { Verdict::Nak(NakCode::PsnSequence) } else { Verdict::Ack },
                dropped: flag(1),
                duplicate: flag(2),
                marked: flag(4),
            };
            let packet = said.packet(QpNum::new(1));
            assert_eq!(Acknowledgement::read(&packet), Some(said));
            assert_eq!(packet.is_nak(), flag(8));
            assert!(!said.is_plain(), "it is about a packet out of order");
        }
    }
}
