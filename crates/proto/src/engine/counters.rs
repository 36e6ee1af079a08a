//! What the two ends have done and seen.

/// What a requester has done and seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequesterCounters {
    /// Packets sent, first and further copies.
    pub packets: u64,
    /// Packets that had been sent before.
    pub retransmitted_packets: u64,
    /// Payload bytes in them.
    pub retransmitted_bytes: u64,
    /// Dummies sent for the first time.
    pub dummies: u64,
    /// Copies of packets sent right behind them.
    pub repeats: u64,
    /// Expiries of the retransmission timer that held up what a host posted.
    pub timeouts: u32,
    /// Expiries with nothing but dummies outstanding.
    pub dummy_timeouts: u32,
    /// NAKs for a missing packet that were acted on.
    pub naks: u32,
    /// "Receiver not ready" answers that were acted on.
    pub rnr_naks: u32,
    /// Losses of READ responses concluded from what came instead of them.
    pub implied_naks: u32,
    /// Answers that were late, doubled, malformed or not meant for this end.
    pub ignored: u32,
}

/// What a responder has done and seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResponderCounters {
    /// Requests taken in order.
    pub accepted: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// READ responses sent.
    pub responses: u64,
    /// Requests that had been executed before.
    pub duplicates: u64,
    /// Requests that came before the expected one.
    pub ahead: u64,
    /// NAKs sent, fatal ones included.
    pub naks: u32,
    /// "Receiver not ready" answers sent.
    pub rnr_naks: u32,
    /// Acknowledgements never sent because a later answer said the same and more.
    pub coalesced: u32,
    /// Packets that make no sense here.
    pub ignored: u32,
}
