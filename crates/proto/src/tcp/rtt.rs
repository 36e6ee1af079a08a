//! Round-trip estimate and retransmission timeout: RFC 6298, with the deviation of Linux.

use wiremend_units::Span;

use super::config::Config;

/// The estimates of Linux (`tcp_rtt_estimator` in `tcp_input.c`), in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RttEstimator {
    /// SRTT.
    smoothed: Option<u64>,
    /// Four times the mean deviation.
    deviation: u64,
    /// Largest deviation since `round_end` was set, at least the minimum timeout.
    deviation_max: u64,
    /// What the timeout adds to SRTT; falls slowly.
    spread: u64,
    /// The current round ends when a byte beyond this one is acknowledged.
    round_end: u64,
    min: Option<Span>,
}

impl RttEstimator {
    /// Updates the estimates. `una` and `nxt`: the first byte that is not acknowledged, and the next new one.
    ///
    /// SRTT and RTTVAR have the gains 1/8 and 1/4 (RFC 6298 §2.3). If a sample is below SRTT, the deviation
    /// grows by an eighth of that. The timeout uses the largest deviation of a round trip, bounded below by the
    /// minimum: it is SRTT + max(4 RTTVAR, minimum), and not max(SRTT + 4 RTTVAR, minimum).
    pub(super) fn on_sample(&mut self, config: &Config, rtt: Span, una: u64, nxt: u64) {
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        let (rtt, least) = (rtt.as_ps(), config.rto_min.as_ps());
        let Some(srtt) = self.smoothed else {
            self.smoothed = Some(rtt);
            self.deviation = rtt * 2;
            self.spread = self.deviation.max(least);
            (self.deviation_max, self.round_end) = (self.spread, nxt);
            return;
        };
        self.smoothed = Some(srtt - srtt / 8 + rtt / 8);
        let (error, quarter) = (srtt.abs_diff(rtt), self.deviation / 4);
        if error <= quarter {
            self.deviation -= quarter - error;
        } else {
            self.deviation += if rtt < srtt { (error - quarter) / 8 } else { error - quarter };
        }
        self.deviation_max = self.deviation_max.max(self.deviation);
        self.spread = self.spread.max(self.deviation_max);
        if una > self.round_end {
            self.spread -= (self.spread - self.deviation_max) / 4;
            (self.deviation_max, self.round_end) = (least, nxt);
        }
    }

    pub(super) fn smoothed(&self) -> Option<Span> {
        self.smoothed.map(Span::from_ps)
    }

    /// Minimum round trip. Linux forgets it after five minutes, which is longer than runs last.
    pub(super) fn min(&self) -> Option<Span> {
        self.min
    }

    /// Retransmission timeout before backoff.
    pub(super) fn timeout(&self, config: &Config) -> Span {
        let Some(srtt) = self.smoothed else { return config.rto_first };
        Span::from_ps(srtt.saturating_add(self.spread)).min(config.rto_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::cc::Algorithm;

    fn config(rto_min: Span) -> Config {
        Config { rto_min, ..Config::new(Algorithm::Reno) }
    }

    /// RFC 6298 §2: the first sample R gives SRTT = R and RTTVAR = R/2; later samples have gains 1/8 and 1/4.
    #[test]
    fn timeout_follows_srtt_and_rttvar() {
        let config = config(Span::from_us(1));
        let mut trips = RttEstimator::default();
        assert_eq!(trips.timeout(&config), Span::from_ms(1_000), "§2.1");
        trips.on_sample(&config, Span::from_us(800), 0, 1_000);
        assert_eq!(trips.timeout(&config), Span::from_us(800 + 4 * 400));
        trips.on_sample(&config, Span::from_us(1_600), 500, 1_500);
        assert_eq!(trips.smoothed(), Some(Span::from_us(900)));
        assert_eq!(trips.timeout(&config), Span::from_us(900 + 4 * (300 + 200)));
        assert_eq!(trips.min(), Some(Span::from_us(800)));
    }

    /// Linux: the minimum bounds the deviation and not the timeout.
    #[test]
    fn minimum_is_added_to_the_round_trip() {
        let config = config(Span::from_ms(200));
        let mut trips = RttEstimator::default();
        trips.on_sample(&config, Span::from_ms(8), 0, 1_000);
        assert_eq!(trips.timeout(&config), Span::from_ms(208));
    }

    /// Linux: the timeout follows the largest deviation of a round trip at once, and falls by a quarter of the
    /// difference per round trip.
    #[test]
    fn spread_rises_at_once_and_falls_slowly() {
        let config = config(Span::from_us(1));
        let mut trips = RttEstimator::default();
        trips.on_sample(&config, Span::from_us(100), 0, 1_000);
        trips.on_sample(&config, Span::from_us(900), 1_000, 2_000);
        assert_eq!(trips.timeout(&config), Span::from_us(200 + 950), "at once");
        let mut spreads = Vec::new();
        for round in 2..8 {
            let srtt = trips.smoothed().unwrap();
            trips.on_sample(&config, srtt, round * 1_000, (round + 1) * 1_000);
            spreads.push(trips.timeout(&config).as_ns() - srtt.as_ns());
        }
        // A round ends with the first byte beyond those that were sent when it began: each second sample here.
        assert!(spreads.is_sorted_by(|one, next| one >= next), "{spreads:?}");
        assert!(spreads[4] < 750_000 && spreads[4] > 600_000, "{spreads:?}");
    }

    /// Linux: a shorter round trip hardly increases the deviation.
    #[test]
    fn shorter_round_trip_hardly_raises_the_timeout() {
        let config = config(Span::from_us(1));
        let after = |rtt: u64| {
            let mut trips = RttEstimator::default();
            trips.on_sample(&config, Span::from_us(1_000), 0, 1_000);
            (1..40).for_each(|_| trips.on_sample(&config, Span::from_us(1_000), 0, 1_000));
            trips.on_sample(&config, Span::from_us(rtt), 0, 1_000);
            trips.deviation / 1_000_000
        };
        assert!(after(1_400) >= 390 && after(600) <= 60, "{} {}", after(1_400), after(600));
    }
}
