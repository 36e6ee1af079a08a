//! The formula of a timer, from its periods.

use wiremend_units::Span;

/// How a requester makes a timeout out of a timeout code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerFormula {
    /// Clock tick; zero: none was found.
    pub tick: Span,
    /// Shortest timeout.
    pub shortest: Span,
    /// Percentage of 4.096 µs · 2^t.
    pub percent: u32,
}

/// Ticks of the kernels in use: 1000, 300, 250 and 100 per second.
const TICKS_US: [u64; 4] = [1_000, 3_333, 4_000, 10_000];
const PERCENTS: [u32; 5] = [100, 50, 200, 300, 400];
/// A formula with ticks, a floor or a percentage must explain the periods better by this factor.
const BETTER: f64 = 0.5;

impl TimerFormula {
    /// The formula that fits best to median periods by timeout code. `None` without periods.
    pub fn fit(periods: &[(u8, Span)]) -> Option<Self> {
        let shortest = periods.iter().map(|(_, period)| *period).min()?;
        let plain = Self { tick: Span::ZERO, shortest: Span::ZERO, percent: 100 };
        let mut best = (plain, plain.error(periods));
        for percent in PERCENTS {
            for floor in [Span::ZERO, shortest] {
                let exact = Self { tick: Span::ZERO, shortest: floor, percent };
                let ticked =
                    TICKS_US.map(|us| Self { tick: Span::from_us(us), shortest: Span::ZERO, percent });
                for formula in std::iter::once(exact).chain(ticked) {
                    let error = formula.error(periods);
                    if error < best.1 * BETTER {
                        best = (formula, error);
                    }
                }
            }
        }
        Some(best.0)
    }

    /// Period of a timer that starts when it has expired.
    pub fn period(&self, code: u8) -> Span {
        let asked = Span::from_timeout_code(code).unwrap_or(Span::ZERO);
        let timeout = Span::from_ps(asked.as_ps() / 100 * u64::from(self.percent)).max(self.shortest);
        if self.tick == Span::ZERO {
            return timeout;
        }
        self.tick * ((timeout.as_ps() / self.tick.as_ps()).max(1) + 1)
    }

    /// Sum of squared relative errors, beyond what the measurement adds: two percent and 0.2 ms.
    fn error(&self, periods: &[(u8, Span)]) -> f64 {
        let of_one = |(code, measured): &(u8, Span)| {
            let (measured, expected) = (measured.as_secs_f64(), self.period(*code).as_secs_f64());
            let beyond = (measured - expected).abs() - 0.02 * expected - 0.2e-3;
            let ratio = beyond.max(0.0) / expected.min(measured).max(1e-9);
            ratio * ratio
        };
        periods.iter().map(of_one).sum::<f64>() + 1e-6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(periods_us: [u64; 4]) -> TimerFormula {
        let periods = [8, 10, 12, 14].into_iter().zip(periods_us.map(Span::from_us));
        TimerFormula::fit(&periods.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn formulas_are_found_from_periods() {
        let exact = TimerFormula { tick: Span::ZERO, shortest: Span::ZERO, percent: 100 };
        assert_eq!(fitted([1_060, 4_250, 16_800, 67_200]), exact);
        // Soft-RoCE with 250 jiffies per second.
        assert_eq!(
            fitted([8_010, 8_030, 19_990, 68_040]),
            TimerFormula { tick: Span::from_us(4_000), ..exact }
        );
        // The same with 1000.
        assert_eq!(
            fitted([2_010, 5_030, 17_010, 68_040]),
            TimerFormula { tick: Span::from_us(1_000), ..exact }
        );
        // A vendor's floor, and one that takes four times as long.
        let floor = TimerFormula { shortest: Span::from_us(30_000), ..exact };
        assert_eq!(fitted([30_000, 30_000, 30_000, 67_100]), floor);
        assert_eq!(fitted([4_200, 16_800, 67_100, 268_500]), TimerFormula { percent: 400, ..exact });
        assert_eq!(TimerFormula::fit(&[]), None);
    }
}
