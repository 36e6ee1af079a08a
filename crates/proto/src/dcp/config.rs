//! Parameters of a trimming transport.

use wiremend_units::Span;

use crate::rc;

/// Parameters of a connection, shared by many connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Parameters shared with [`rc`]. Its `window` limits the packets in flight, and its timeout is the last
    /// resort; its recovery and mending are unused.
    pub base: rc::Config,
    /// Parameters of the trimming transport.
    pub parameters: Parameters,
}

impl Config {
    /// Checks the values.
    pub fn check(&self) -> Result<(), String> {
        self.base.check().map_err(|why| why.to_string())?;
        self.parameters.check().map_err(str::to_owned)
    }
}

/// Parameters of a trimming transport; the default is DCP with [`Tracking::Sums`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// How the receiver tracks arrivals.
    pub tracking: Tracking,
    /// Units that the receiver can track; the sender starts no more.
    pub units_max: u32,
    /// Maximum packets of a unit; [`Parameters::WHOLE_MESSAGES`]: a unit is a message of any length.
    pub unit_packets: u32,
    /// Cost of a retransmission.
    pub fetch: RetransFetch,
    /// Detection of losses that leave no header, before the timeout.
    pub hints: Option<LossHints>,
    /// When the sender may send.
    pub flow_control: FlowControl,
}

/// How the receiver tracks arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tracking {
    /// A count of packets per unit, as in DCP. Delivery is exactly once only if the network never duplicates
    /// packets.
    Counter,
    /// The count and three sums of the packet numbers: detects duplicates and identifies up to two missing
    /// packets.
    Sums,
    /// One bit for each packet from the oldest missing one on.
    Bitmap {
        /// Number of bits: the packets that may be in flight.
        packets: u32,
    },
    /// Bits in chunks that are linked on demand: small while packets arrive in order, slow to search with
    /// reordering.
    Chunks {
        /// Packets from the oldest missing one on for which chunks may be linked.
        packets: u32,
    },
}

/// Reads between a returned header and its retransmission: the entry in host memory, then its work request,
/// then the payload. Every packet needs the payload; the first two are read for a batch of entries at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetransFetch {
    /// Duration of a read of host memory over `PCIe`; two of them precede a batch. Zero: entries are
    /// available at once.
    pub pcie_round_trip: Span,
    /// Maximum entries of a batch.
    pub batch: u32,
    /// Whether an entry that was read is sent at once, whatever congestion control permits: without `RetransQ`,
    /// each returned header sends its packet again, at the rate at which headers arrive.
    pub per_header: bool,
}

/// Detection of lost packets: by packets that overtake them, or by a probe after a quiet time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossHints {
    /// The receiver reports a packet as missing when a packet more than this many numbers later has arrived.
    pub reorder_allowance: u32,
    /// The sender probes when the oldest unit had no transmission and no response for this time; each
    /// unanswered probe doubles the wait. `None`: no probes.
    pub probe_after: Option<Span>,
}

/// The flow control of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowControl {
    /// A limit of packets in flight.
    Window,
    /// A first window, then one packet for each pull of the receiver (NDP §3.2).
    Pull {
        /// First window in packets.
        burst: u32,
    },
}

impl Parameters {
    /// Value of `unit_packets` that makes each message one unit.
    pub const WHOLE_MESSAGES: u32 = u32::MAX;

    /// DCP: counters with sums; `RetransQ` in host memory, read in batches of 16.
    pub const DCP: Self = Self {
        tracking: Tracking::Sums,
        units_max: 64,
        unit_packets: Self::WHOLE_MESSAGES,
        fetch: RetransFetch { pcie_round_trip: Span::from_us(1), batch: 16, per_header: false },
        hints: None,
        flow_control: FlowControl::Window,
    };

    /// NDP: the receiver pulls; software at both ends has all state available at once.
    pub const fn ndp(burst: u32) -> Self {
        Self {
            tracking: Tracking::Bitmap { packets: Self::SOFTWARE_BITS },
            units_max: 1 << 16,
            unit_packets: Self::WHOLE_MESSAGES,
            fetch: RetransFetch { pcie_round_trip: Span::ZERO, batch: 1, per_header: false },
            hints: None,
            flow_control: FlowControl::Pull { burst },
        }
    }

    /// CP: notifies a software stack, which takes `latency` to react, of each trimmed packet.
    pub const fn cp(latency: Span) -> Self {
        Self {
            fetch: RetransFetch {
                pcie_round_trip: Span::from_ps(latency.as_ps() / 2),
                batch: 64,
                per_header: false,
            },
            flow_control: FlowControl::Window,
            ..Self::ndp(0)
        }
    }

    /// Software can afford a large bitmap.
    const SOFTWARE_BITS: u32 = 1 << 16;

    /// Checks the values.
    pub fn check(&self) -> Result<(), &'static str> {
        let bits = match self.tracking {
            Tracking::Counter | Tracking::Sums => 64,
            Tracking::Bitmap { packets } | Tracking::Chunks { packets } => packets,
        };
        let rules = [
            ((1..=1 << 22).contains(&self.units_max), "units tracked at a time must be 1 to 4194304"),
            (self.unit_packets >= 1, "packets of a unit must be at least 1"),
            ((1..=1 << 22).contains(&bits), "packets tracked must be 1 to 4194304"),
            (self.fetch.batch >= 1, "entries fetched together must be at least 1"),
            (
                self.flow_control != FlowControl::Pull { burst: 0 },
                "the first window must be at least 1 packet",
            ),
            (
                self.hints.is_none_or(|hints| hints.probe_after != Some(Span::ZERO)),
                "the quiet time before a probe must be above zero",
            ),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DCP
    }
}

impl Tracking {
    /// Returns whether the receiver tracks each packet and therefore knows the oldest missing one.
    pub(super) const fn has_bits(self) -> bool {
        matches!(self, Self::Bitmap { .. } | Self::Chunks { .. })
    }

    /// Packets from the oldest missing one on that the receiver can accept.
    pub(super) const fn span(self) -> u64 {
        match self {
            Self::Counter | Self::Sums => 1 << 22,
            Self::Bitmap { packets } | Self::Chunks { packets } => packets as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_refused_with_the_valid_range() {
        let usual = Parameters::DCP;
        assert_eq!(usual.check(), Ok(()));
        assert_eq!(Parameters::ndp(8).check(), Ok(()));
        assert_eq!(Parameters::cp(Span::from_us(5)).check(), Ok(()));
        let bad = [
            Parameters { units_max: 0, ..usual },
            Parameters { unit_packets: 0, ..usual },
            Parameters { tracking: Tracking::Bitmap { packets: 0 }, ..usual },
            Parameters { fetch: RetransFetch { batch: 0, ..usual.fetch }, ..usual },
            Parameters::ndp(0),
            Parameters {
                hints: Some(LossHints { reorder_allowance: 8, probe_after: Some(Span::ZERO) }),
                ..usual
            },
        ];
        for parameters in bad {
            assert!(parameters.check().unwrap_err().contains("must be"), "{parameters:?}");
        }
    }
}
