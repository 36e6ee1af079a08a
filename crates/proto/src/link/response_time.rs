//! Estimate of response times from earlier ones (RFC 6298).

use std::hash::Hasher;

use wiremend_units::Span;

use super::fingerprint::Fingerprint;

/// Smoothed mean and mean deviation of response times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ResponseTime {
    mean_ps: u64,
    /// 0 along with the mean until the first measurement.
    deviation_ps: u64,
}

/// Upper bound of the mean.
const MEAN_PS_MAX: u64 = Span::from_ms(1000).as_ps();

impl ResponseTime {
    pub(super) fn is_known(&self) -> bool {
        self.mean_ps > 0
    }

    pub(super) fn mean(&self) -> Span {
        Span::from_ps(self.mean_ps)
    }

    pub(super) fn deviation(&self) -> Span {
        Span::from_ps(self.deviation_ps)
    }

    /// Adds a response time. An outlier, for instance of a process that was not scheduled, counts for at most
    /// twice the current estimate, which doubles each time if such times persist.
    pub(super) fn add(&mut self, took: Span) {
        let took_ps = took.as_ps().max(1);
        if !self.is_known() {
            (self.mean_ps, self.deviation_ps) = (took_ps, took_ps / 2);
            return;
        }
        let took_ps = took_ps.min(2 * (self.mean_ps + 4 * self.deviation_ps)).min(MEAN_PS_MAX);
        self.deviation_ps = self.deviation_ps - self.deviation_ps / 4 + self.mean_ps.abs_diff(took_ps) / 4;
        self.mean_ps = (self.mean_ps - self.mean_ps / 8 + took_ps / 8).max(1);
    }

    /// Adds a response to a repeated request, which may answer either request (Karn). The estimate grows by
    /// 1/8, so that repeated early requests soon end, while a real loss changes it little.
    pub(super) fn add_unknown(&mut self) {
        self.mean_ps = (self.mean_ps + self.mean_ps / 8).min(MEAN_PS_MAX);
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Fingerprint<H>) {
        print.add((self.mean_ps, self.deviation_ps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_converges_and_widens_with_variation() {
        let mut response_time = ResponseTime::default();
        assert!(!response_time.is_known());
        for _ in 0..100 {
            response_time.add(Span::from_us(20));
        }
        let off = response_time.mean().as_ps().abs_diff(Span::from_us(20).as_ps());
        assert!(off < 100 && response_time.deviation() < Span::from_ns(10), "{response_time:?}");
        response_time.add(Span::from_us(1300));
        assert!(
            timeout_estimate(&response_time) < Span::from_us(50),
            "{response_time:?}, one late response changes little"
        );
        for _ in 0..6 {
            response_time.add(Span::from_us(1300));
        }
        assert!(
            timeout_estimate(&response_time) > Span::from_us(1300),
            "{response_time:?}, persistent late responses count"
        );
    }

    #[test]
    fn repeated_early_requests_raise_the_estimate() {
        let mut response_time = ResponseTime::default();
        response_time.add_unknown();
        assert!(!response_time.is_known());
        response_time.add(Span::from_us(20));
        for _ in 0..1000 {
            response_time.add_unknown();
        }
        assert!(response_time.mean() > Span::from_us(1000), "{response_time:?}");
    }

    fn timeout_estimate(response_time: &ResponseTime) -> Span {
        response_time.mean() + response_time.deviation() * 4
    }
}
