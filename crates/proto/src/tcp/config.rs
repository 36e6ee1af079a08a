//! What both ends of a connection agree on.

use wiremend_units::Span;

use super::cc::Algorithm;
use crate::engine::BadConfig;

/// Parameters of a connection; one value serves all that share them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// What governs the congestion window.
    pub congestion: Algorithm,
    /// Segments that may be sent before the first acknowledgement (RFC 6928).
    pub first_window: u32,
    /// Bytes beyond the first missing one that the receiver takes.
    pub receive_window: u32,
    /// The receiver tells what it holds beyond a gap, and losses are found by time (RFC 8985). Without it they are found by
    /// duplicate acknowledgements, one in a round trip (RFC 6582).
    pub sack: bool,
    /// How much disorder is tolerated before a segment counts as lost, where the receiver tells what it holds.
    pub reordering: Reordering,
    /// Whether and how marks of switches are echoed.
    pub ecn: Ecn,
    /// The least retransmission timeout (RFC 6298 §2.4 wants 1 s, Linux takes 200 ms).
    pub rto_min: Span,
    /// The retransmission timeout before the first round trip is measured (RFC 6298 §2.1).
    pub rto_first: Span,
    /// The most that backing off makes of it (RFC 6298 §5.5).
    pub rto_max: Span,
    /// Expiries in a row after which the connection is given up; Linux: 15.
    pub retries: u8,
    /// How long the receiver may keep an acknowledgement back; zero: every segment is acknowledged.
    pub delayed_ack: Span,
    /// Segments that one acknowledgement stands for at most: 2 (RFC 5681 §4.2), more where a receiver's NIC gathers them.
    pub ack_every: u32,
    /// Segments that are acknowledged at once when a connection is young; Linux: 16.
    pub quick_acks: u32,
    /// Whether a lost tail is probed for before the retransmission timer expires (RFC 8985 §7).
    pub tail_probe: bool,
    /// The tick of the host's clock: probes wait two of them longer, and CUBIC looks at its curve by it, as in Linux. Zero: as the RFCs say.
    pub tick: Span,
    /// Whether algorithms that do not pace by themselves are paced over the round trip.
    pub pacing: bool,
    /// Bytes that leave in one burst at most when a connection is paced: what segmentation offload takes.
    pub burst_max: u32,
    /// Whether the first segment waits until the peer has answered (SYN). Else the connection is there already.
    pub handshake: bool,
    /// The round trip that a connection without handshake has measured before.
    pub first_rtt: Option<Span>,
}

/// What makes a loss of a segment that others have overtaken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reordering {
    /// Time: a part of the least round trip, more after each round trip in which a segment came twice (RFC 8985 §6.2).
    #[default]
    Adaptive,
    /// Time: a quarter of the least round trip, whatever came twice.
    Fixed,
    /// Time, as if adaptive, but from the first gap on: three segments alone make no loss. Linux does so with `tcp_recovery` of 5.
    Time,
    /// Three segments, and no time (RFC 6675 §4).
    Segments,
}

/// What becomes of marks of switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// Segments say that they cannot be marked.
    #[default]
    Off,
    /// The receiver echoes a mark until the sender has heard of it (RFC 3168).
    Classic,
    /// The receiver's echo tells which bytes were marked (RFC 8257 §3.2).
    Dctcp,
}

impl Config {
    /// More than this many bytes under way could not be told from others by the 24 bits that traces show.
    pub const WINDOW_MAX: u32 = (1 << 23) - 1;

    /// Linux' values for an algorithm.
    pub fn new(congestion: Algorithm) -> Self {
        Self {
            mss: 1448,
            congestion,
            first_window: 10,
            receive_window: 6 << 20,
            sack: true,
            reordering: Reordering::Adaptive,
            ecn: if congestion == Algorithm::Dctcp { Ecn::Dctcp } else { Ecn::Off },
            rto_min: Span::from_ms(200),
            rto_first: Span::from_ms(1_000),
            rto_max: Span::from_ms(120_000),
            retries: 15,
            delayed_ack: Span::from_ms(40),
            ack_every: 2,
            quick_acks: 16,
            tail_probe: true,
            tick: Span::ZERO,
            pacing: false,
            burst_max: 65_536,
            handshake: false,
            first_rtt: None,
        }
    }

    /// Whether a connection can work with these values.
    pub fn check(&self) -> Result<(), BadConfig> {
        let rules = [
            (self.mss >= 64, "mss must be at least 64 bytes"),
            ((1..=1_000).contains(&self.first_window), "first window must be 1 to 1000 segments"),
            (
                self.receive_window >= 2 * self.mss as u32 && self.receive_window <= Self::WINDOW_MAX,
                "receive window must be two segments to 8388607 bytes",
            ),
            ((1..=1_000).contains(&self.ack_every), "ack_every must be 1 to 1000 segments"),
            (self.rto_min > Span::ZERO, "rto_min must be above zero"),
            (
                self.rto_first > Span::ZERO && self.rto_first <= self.rto_max,
                "rto_first must be above zero and at most rto_max",
            ),
            (self.rto_min <= self.rto_max, "rto_min must be at most rto_max"),
            (self.rto_max <= Span::from_ms(3_600_000), "rto_max must be at most an hour"),
            (self.delayed_ack <= Span::from_ms(500), "delayed_ack must be at most 500ms (RFC 5681 §4.2)"),
            (self.burst_max >= self.mss as u32, "burst_max must be at least a segment"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(BadConfig::because(why)))
    }
}
