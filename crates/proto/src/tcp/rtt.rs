//! Round-trip estimate and retransmission timeout (RFC 6298).

use wiremend_units::Span;

use super::config::Config;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RttEstimator {
    /// SRTT and RTTVAR in picoseconds.
    smoothed: Option<(u64, u64)>,
    min: Option<Span>,
}

impl RttEstimator {
    /// Updates SRTT and RTTVAR with the gains 1/8 and 1/4 (RFC 6298 §2.2, §2.3).
    pub(super) fn on_sample(&mut self, rtt: Span) {
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        let rtt = rtt.as_ps();
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, var)) => (srtt - srtt / 8 + rtt / 8, var - var / 4 + srtt.abs_diff(rtt) / 4),
        });
    }

    pub(super) fn smoothed(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| Span::from_ps(srtt))
    }

    /// Minimum round trip. Linux forgets it after five minutes, which is longer than runs last.
    pub(super) fn min(&self) -> Option<Span> {
        self.min
    }

    /// Retransmission timeout (RFC 6298 §2.3 to §2.5).
    pub(super) fn timeout(&self, config: &Config) -> Span {
        let Some((srtt, var)) = self.smoothed else { return config.rto_first };
        let spread = Span::from_ps(var.saturating_mul(4)).max(config.tick);
        (Span::from_ps(srtt) + spread).max(config.rto_min).min(config.rto_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::cc::Algorithm;

    /// RFC 6298 §2: the first sample R gives SRTT = R and RTTVAR = R/2; later samples have gains 1/8 and 1/4.
    #[test]
    fn timeout_follows_srtt_and_rttvar() {
        let config = Config { rto_min: Span::from_us(1), ..Config::new(Algorithm::Reno) };
        let mut trips = RttEstimator::default();
        assert_eq!(trips.timeout(&config), Span::from_ms(1_000), "§2.1");
        trips.on_sample(Span::from_us(800));
        assert_eq!(trips.timeout(&config), Span::from_us(800 + 4 * 400));
        trips.on_sample(Span::from_us(1_600));
        assert_eq!(trips.smoothed(), Some(Span::from_us(900)));
        assert_eq!(trips.timeout(&config), Span::from_us(900 + 4 * (300 + 200)));
        assert_eq!(trips.timeout(&Config::new(Algorithm::Reno)), Span::from_ms(200), "§2.4");
        assert_eq!(trips.min(), Some(Span::from_us(800)));
    }
}
