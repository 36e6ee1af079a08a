//! What the modules of a trimming transport are set to.

use wiremend_units::Span;

use crate::rc;

/// What both ends of a connection agree on; one value serves all connections that share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// What these connections have in common with those of [`rc`]. Its `window` is the bound on packets under way, its timeout
    /// that of the last resort; its recovery and what mends losses mean nothing here.
    pub base: rc::Config,
    /// Everything else.
    pub parameters: Parameters,
}

impl Config {
    /// Why these values cannot work, if they cannot.
    pub fn check(&self) -> Result<(), String> {
        self.base.check().map_err(|why| why.to_string())?;
        self.parameters.check().map_err(str::to_owned)
    }
}

/// Parameters beside those of every reliable connection; by default DCP's, with the guarded counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// How the receiver knows what has arrived.
    pub tracking: Tracking,
    /// Units that the receiver has room for; the sender starts no more.
    pub units_max: u32,
    /// Packets that are counted together at most; [`Parameters::WHOLE_MESSAGES`]: those of a message, however long.
    pub unit_packets: u32,
    /// What it takes to send again.
    pub fetch: Fetch,
    /// How what leaves no header behind is noticed before the timer.
    pub hints: Option<Hints>,
    /// What lets a sender send.
    pub flow: Flow,
}

/// How the receiver knows what has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tracking {
    /// A count of packets per unit, as DCP has it. Exactly-once holds only where the network never doubles a packet.
    Counter,
    /// The count and three sums of the numbers that came: tells doubles, and names up to two packets that are missing.
    Sums,
    /// One bit for each of so many packets from the oldest missing one on.
    Bitmap {
        /// Bits: as many as packets may be in flight.
        packets: u32,
    },
    /// Bits in chunks that are linked where needed: small while order holds, and slow to search where it does not.
    Chunks {
        /// Packets from the oldest missing one on that chunks may be linked for.
        packets: u32,
    },
}

/// The way from a returned header to the packet: the entry in host memory, then its work request, then the payload.
/// The last is what every packet needs; the first two are read for a batch of entries at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetch {
    /// A read of host memory over `PCIe`; two of them precede a batch. Zero: entries are at hand.
    pub round_trip: Span,
    /// Entries that are read together at most.
    pub batch: u32,
}

/// How packets that vanish are noticed: by what passes them, or by asking after a quiet time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hints {
    /// A packet that later ones have passed by more than this number is reported as missing.
    pub allowance: u32,
    /// The sender asks when it has heard nothing of the oldest unit, nor sent any of it, for so long; the wait doubles
    /// with every question that stays without answer. None: it does not ask.
    pub probe_after: Option<Span>,
}

/// What lets a sender send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// A bound on packets under way.
    Window,
    /// So many packets at once, then one for each pull of the receiver (NDP §3.2).
    Pull {
        /// The first window.
        burst: u32,
    },
}

impl Parameters {
    /// The value of `unit_packets` that counts whole messages.
    pub const WHOLE_MESSAGES: u32 = u32::MAX;

    /// DCP: tracking by counters guarded by sums, `RetransQ` in host memory read in batches of 16.
    pub const DCP: Self = Self {
        tracking: Tracking::Sums,
        units_max: 64,
        unit_packets: Self::WHOLE_MESSAGES,
        fetch: Fetch { round_trip: Span::from_us(1), batch: 16 },
        hints: None,
        flow: Flow::Window,
    };

    /// DCP as far as it is published: a bare counter.
    pub const PUBLISHED: Self = Self { tracking: Tracking::Counter, ..Self::DCP };

    /// NDP: the receiver pulls, and software at both ends has everything at hand.
    pub const fn ndp(burst: u32) -> Self {
        Self {
            tracking: Tracking::Bitmap { packets: Self::SOFTWARE_BITS },
            units_max: 1 << 16,
            unit_packets: Self::WHOLE_MESSAGES,
            fetch: Fetch { round_trip: Span::ZERO, batch: 1 },
            hints: None,
            flow: Flow::Pull { burst },
        }
    }

    /// CP: precise notice of each cut packet to a stack in software, which takes `latency` to act.
    pub const fn cp(latency: Span) -> Self {
        Self {
            fetch: Fetch { round_trip: Span::from_ps(latency.as_ps() / 2), batch: 64 },
            flow: Flow::Window,
            ..Self::ndp(0)
        }
    }

    /// Software keeps as many bits as it likes.
    const SOFTWARE_BITS: u32 = 1 << 16;

    /// Why these values cannot work, if they cannot.
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
            (self.flow != Flow::Pull { burst: 0 }, "the first window must be at least 1 packet"),
            (
                self.hints.is_none_or(|hints| hints.probe_after != Some(Span::ZERO)),
                "the quiet time before a question must be above zero",
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
    /// Whether the receiver knows of each packet, and thus the oldest that is missing.
    pub(super) const fn has_bits(self) -> bool {
        matches!(self, Self::Bitmap { .. } | Self::Chunks { .. })
    }

    /// Packets from the oldest missing one on that the receiver can take.
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
    fn values_that_cannot_work_are_refused_with_what_is_allowed() {
        let usual = Parameters::DCP;
        assert_eq!(usual.check(), Ok(()));
        assert_eq!(Parameters::ndp(8).check(), Ok(()));
        assert_eq!(Parameters::cp(Span::from_us(5)).check(), Ok(()));
        let bad = [
            Parameters { units_max: 0, ..usual },
            Parameters { unit_packets: 0, ..usual },
            Parameters { tracking: Tracking::Bitmap { packets: 0 }, ..usual },
            Parameters { fetch: Fetch { batch: 0, ..usual.fetch }, ..usual },
            Parameters::ndp(0),
            Parameters { hints: Some(Hints { allowance: 8, probe_after: Some(Span::ZERO) }), ..usual },
        ];
        for parameters in bad {
            assert!(parameters.check().unwrap_err().contains("must be"), "{parameters:?}");
        }
    }
}
