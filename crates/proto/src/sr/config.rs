//! Parameters of a selective-repeat connection.

use wiremend_units::Span;

use super::scheme::Scheme;
use super::tracking::TrackingKind;
use crate::engine::BadConfig;
use crate::rc;

/// Parameters of a connection, shared by many queue pairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Parameters shared with [`rc`]. Its `window` limits the sequence numbers from the oldest missing to the
    /// newest sent one. Its timeout, recovery and `ack_every` are unused: every packet is acknowledged.
    pub base: rc::Config,
    /// Loss detection and recovery scheme.
    pub scheme: Scheme,
    /// How the responder stores which packets have arrived.
    pub tracking: TrackingKind,
    /// Packets beyond the first missing one that the responder can track; it drops packets beyond that.
    pub tracked_packets: u32,
    /// Timeout while few packets are in flight, where a spurious retransmission is cheap (IRN §3.1); the
    /// minimum timeout of schemes that measure round trips.
    pub rto_low: Span,
    /// Timeout otherwise; the initial timeout of schemes that measure round trips.
    pub rto_high: Span,
    /// Number of packets in flight up to which `rto_low` applies.
    pub rto_low_packets: u32,
    /// Whether each expiry without progress doubles the timeout (RFC 6298 §5.5).
    pub backoff: bool,
    /// MP-RDMA: initial window in packets.
    pub initial_window: u32,
    /// MP-RDMA: how far an acknowledged packet may lag behind the newest one before its path counts as slow
    /// (Δ).
    pub lag_max: u32,
    /// MP-RDMA: number of virtual paths.
    pub path_count: u16,
}

impl Config {
    /// Low and high timeout of IRN in microseconds, for a network of 40 Gb/s and 24 µs.
    const IRN_RTO_US: (u64, u64) = (100, 320);

    /// Creates a configuration with the values of the scheme's authors and the window of `base`.
    pub fn new(scheme: Scheme, base: rc::Config) -> Self {
        let (low, high) = Self::IRN_RTO_US;
        let window = base.window;
        let extra = u32::from(base.mend.dummies.count);
        let usual = Self {
            base,
            scheme,
            tracking: TrackingKind::Bitmap,
            tracked_packets: window.saturating_add(extra),
            rto_low: Span::from_us(low),
            rto_high: Span::from_us(high),
            rto_low_packets: 3,
            backoff: false,
            initial_window: window,
            lag_max: 32,
            path_count: 128,
        };
        match usual.scheme {
            Scheme::Irn | Scheme::Custom(_) => usual,
            Scheme::TimeoutOnly => Self { rto_low: usual.rto_high, ..usual },
            Scheme::RackTlp => Self { backoff: true, ..usual },
            Scheme::MpRdma => {
                Self { tracked_packets: 64, rto_low: Span::from_ms(8), rto_high: Span::from_ms(8), ..usual }
            }
        }
    }

    /// Checks the values.
    pub fn check(&self) -> Result<(), BadConfig> {
        self.base.check()?;
        let rules = [
            (self.base.window <= Self::WINDOW_MAX, "window must be 1 to 4194303 packets"),
            (
                self.rto_low > Span::ZERO && self.rto_low <= self.rto_high,
                "rto_low must be above zero and at most rto_high",
            ),
            (self.tracked_packets > 0, "packets tracked must be at least 1"),
            (self.initial_window > 0, "the first window must be at least 1 packet"),
            (self.path_count > 0, "paths must be at least 1"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(BadConfig::new(why)))
    }

    /// With more outstanding numbers, a PSN would be ambiguous when acknowledgements are reordered.
    pub const WINDOW_MAX: u32 = (1 << 22) - 1;
}
