//! Counters of requesters and responders.

use std::ops::AddAssign;

/// Counters of a requester.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequesterCounters {
    /// Packets sent, retransmissions and repeats included.
    pub packets: u64,
    /// Packets retransmitted.
    pub retransmitted_packets: u64,
    /// Payload bytes of the retransmitted packets.
    pub retransmitted_bytes: u64,
    /// Dummies sent for the first time.
    pub dummies: u64,
    /// Copies sent immediately after the original packet.
    pub repeats: u64,
    /// Expiries of the retransmission timer with posted work outstanding.
    pub timeouts: u32,
    /// Expiries of the retransmission timer with only dummies outstanding.
    pub dummy_timeouts: u32,
    /// NAKs for a missing packet that caused a retransmission.
    pub naks: u32,
    /// "Receiver not ready" NAKs that were obeyed.
    pub rnr_naks: u32,
    /// Losses of READ responses inferred from a later response (implied NAKs).
    pub implied_naks: u32,
    /// Responses ignored because they were late, duplicate, malformed or for another connection.
    pub ignored: u32,
}

/// Adds the counters of another requester.
impl AddAssign for RequesterCounters {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.retransmitted_packets += other.retransmitted_packets;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.dummies += other.dummies;
        self.repeats += other.repeats;
        self.timeouts += other.timeouts;
        self.dummy_timeouts += other.dummy_timeouts;
        self.naks += other.naks;
        self.rnr_naks += other.rnr_naks;
        self.implied_naks += other.implied_naks;
        self.ignored += other.ignored;
    }
}

/// Counters of a responder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResponderCounters {
    /// Requests accepted.
    pub accepted: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// READ responses sent.
    pub responses: u64,
    /// Requests received again after they were executed.
    pub duplicates: u64,
    /// Requests received with a higher PSN than expected.
    pub out_of_sequence: u64,
    /// NAKs sent, fatal ones included.
    pub naks: u32,
    /// "Receiver not ready" NAKs sent.
    pub rnr_naks: u32,
    /// Acknowledgements not sent because a later response replaced them.
    pub coalesced: u32,
    /// Packets ignored because they are invalid here.
    pub ignored: u32,
}
