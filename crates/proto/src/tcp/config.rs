//! Parameters that both ends of a connection share.

use wiremend_units::Span;

use super::algorithm::Algorithm;
use super::clock::Clock;
use crate::engine::BadConfig;

/// Parameters of a connection. Connections with equal parameters share one value.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// Congestion control algorithm.
    pub congestion: Algorithm,
    /// Initial window in segments (RFC 6928).
    pub first_window: u32,
    /// Receive window in bytes.
    pub receive_window: u32,
    /// SACK, with loss detection by time (RFC 8985). Without SACK duplicate ACKs show the losses, one per
    /// round trip (RFC 6582).
    pub sack: bool,
    /// Rule that declares an overtaken segment lost, with SACK.
    pub reordering: Reordering,
    /// Use of ECN marks.
    pub ecn: Ecn,
    /// Minimum retransmission timeout (RFC 6298 §2.4: 1 s; Linux: 200 ms).
    pub rto_min: Span,
    /// Retransmission timeout before the first round-trip sample (RFC 6298 §2.1).
    pub rto_first: Span,
    /// Maximum retransmission timeout after backoff (RFC 6298 §5.5).
    pub rto_max: Span,
    /// Timeouts in a row after which the connection fails (Linux: 15).
    pub retries: u8,
    /// Maximum delay of an ACK. 0: every segment is acknowledged at once.
    pub delayed_ack: Span,
    /// Maximum segments per ACK: 2 (RFC 5681 §4.2), more with receive offload.
    pub ack_every: u32,
    /// First segments of a connection that are acknowledged at once (Linux: 16).
    pub quick_acks: u32,
    /// Tail loss probes before the retransmission timer expires (RFC 8985 §7).
    pub tail_probe: bool,
    /// Tick of the host's clock: timers expire at a tick, probes and the reordering timer wait 2 ms longer, and
    /// CUBIC updates its curve once a tick, as in Linux. 0: as in the RFCs.
    pub tick: Span,
    /// Pacing over the round trip for algorithms that do not pace themselves.
    pub pacing: bool,
    /// Target delay of Swift, with the hosts.
    pub delay_target: Span,
    /// Maximum bytes of a paced burst: the limit of segmentation offload.
    pub burst_max: u32,
    /// SYN exchange before the first segment. Otherwise the connection is open from the start.
    pub handshake: bool,
    /// Round-trip sample that a connection without SYN exchange starts with.
    pub first_rtt: Option<Span>,
}

/// Rule that declares an overtaken segment lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reordering {
    /// Time: a fraction of the minimum round trip, which grows with each round trip with a DSACK (RFC 8985
    /// §6.2).
    #[default]
    Adaptive,
    /// Time: always a quarter of the minimum round trip.
    Fixed,
    /// Time as in `Adaptive`, but three sacked segments alone never suffice (Linux: `tcp_recovery` = 5).
    Time,
    /// Three sacked segments, without time (RFC 6675 §4).
    Segments,
}

/// Use of ECN marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// Segments are not ECN-capable.
    #[default]
    Off,
    /// The receiver echoes a mark until it receives CWR (RFC 3168).
    Classic,
    /// The receiver echoes exactly which bytes were marked (RFC 8257 §3.2).
    Dctcp,
}

impl Config {
    /// Largest receive window: traces show sequence numbers in 24 bits, of which half may be in flight.
    pub const WINDOW_MAX: u32 = (1 << 23) - 1;

    /// Linux's defaults with the given algorithm.
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
            delay_target: Span::from_us(50),
            burst_max: 65_536,
            handshake: false,
            first_rtt: None,
        }
    }

    pub(super) const fn clock(&self) -> Clock {
        Clock::new(self.tick)
    }

    /// Checks that a connection can work with these values.
    pub fn check(&self) -> Result<(), BadConfig> {
        let rules = [
            (self.mss >= 64, "mss must be at least 64 bytes"),
            ((1..=1_000).contains(&self.first_window), "first_window must be 1 to 1000 segments"),
            (
                self.receive_window >= 2 * self.mss as u32 && self.receive_window <= Self::WINDOW_MAX,
                "receive_window must be two segments to 8388607 bytes",
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
            (self.burst_max >= self.mss as u32, "burst_max must be at least one segment"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(BadConfig::new(why)))
    }
}
