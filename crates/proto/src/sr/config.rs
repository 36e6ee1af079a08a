//! What both ends of a connection agree on.

use wiremend_units::Span;

use super::scheme::Scheme;
use super::tracking::TrackingKind;
use crate::engine::BadConfig;
use crate::rc;

/// Parameters of a connection; one value serves all queue pairs that share them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// What these connections have in common with those of [`rc`]. Its `window` is the bound on sequence numbers
    /// between the oldest that is missing and the newest sent. Its timeout, recovery and `ack_every` mean nothing
    /// here: every packet is acknowledged.
    pub base: rc::Config,
    /// How losses are noticed and repaired.
    pub scheme: Scheme,
    /// How the responder remembers what has arrived.
    pub tracking: TrackingKind,
    /// Packets beyond the first missing one that the responder can remember; what lies further is dropped.
    pub tracked: u32,
    /// The timeout while few packets are in flight, who cannot all get lost without being missed (IRN §3.1); where
    /// round trips are measured, the least timeout.
    pub rto_low: Span,
    /// The timeout otherwise; where round trips are measured, the one before the first measurement.
    pub rto_high: Span,
    /// How many packets are few.
    pub rto_low_packets: u32,
    /// Each expiry without progress doubles the timeout (RFC 6298 §5.5).
    pub backoff: bool,
    /// MP-RDMA: packets that may be in flight at first.
    pub window_first: u32,
    /// MP-RDMA: how far an acknowledged packet may lag behind the newest one before its path counts as slow (Δ).
    pub lag_max: u32,
    /// MP-RDMA: virtual paths.
    pub paths: u16,
}

impl Config {
    /// The least and the usual timeout, in microseconds: IRN's for a network of 40 Gb/s and 24 µs.
    const IRN_RTO_US: (u64, u64) = (100, 320);

    /// The values that the scheme's authors used, on a connection with that window.
    pub fn new(scheme: Scheme, base: rc::Config) -> Self {
        let (low, high) = Self::IRN_RTO_US;
        let window = base.window;
        let extra = u32::from(base.mend.dummies.count);
        let usual = Self {
            base,
            scheme,
            tracking: TrackingKind::Bitmap,
            tracked: window.saturating_add(extra),
            rto_low: Span::from_us(low),
            rto_high: Span::from_us(high),
            rto_low_packets: 3,
            backoff: false,
            window_first: window,
            lag_max: 32,
            paths: 128,
        };
        match usual.scheme {
            Scheme::Irn | Scheme::Other(_) => usual,
            Scheme::TimeoutOnly => Self { rto_low: usual.rto_high, ..usual },
            Scheme::RackTlp => Self { backoff: true, ..usual },
            Scheme::MpRdma => {
                Self { tracked: 64, rto_low: Span::from_ms(8), rto_high: Span::from_ms(8), ..usual }
            }
        }
    }

    /// Whether a connection can work with these values.
    pub fn check(&self) -> Result<(), BadConfig> {
        self.base.check()?;
        let rules = [
            (self.base.window <= Self::WINDOW_MAX, "window must be 1 to 4194303 packets"),
            (
                self.rto_low > Span::ZERO && self.rto_low <= self.rto_high,
                "timeouts must be above zero and in order",
            ),
            (self.tracked > 0, "packets tracked must be at least 1"),
            (self.window_first > 0, "the first window must be at least 1 packet"),
            (self.paths > 0, "paths must be at least 1"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(BadConfig::because(why)))
    }

    /// More could not be told from earlier ones when acknowledgements overtake each other.
    pub const WINDOW_MAX: u32 = (1 << 22) - 1;
}
