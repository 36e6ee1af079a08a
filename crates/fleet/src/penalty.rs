//! Exact sums of loss rates.

/// A loss rate in units of 2^-100, so that sums are exact. A sum of doubles would keep rounding errors of
/// losses around 1e-2, which exceed the total of a clean fabric with 1e-18 per link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Penalty(u128);

const SCALE_BITS: i32 = 100;

impl Penalty {
    /// Converts a loss rate from 0 to 1, or an objective value up to 2048.
    pub(crate) fn from_loss(loss: f64) -> Self {
        assert!(
            (0.0..=2048.0).contains(&loss),
            "a loss rate or objective value between 0 and 2048 is expected: {loss}"
        );
        // A double has 53 significant bits; the rest is a shift.
        let (part, exponent) = libm::frexp(loss);
        let whole = (part * (1_u64 << 53) as f64) as u128;
        let shift = exponent - 53 + SCALE_BITS;
        Self(if shift >= 0 { whole << shift } else { whole.checked_shr(shift.unsigned_abs()).unwrap_or(0) })
    }

    pub(crate) fn value(self) -> f64 {
        libm::ldexp(self.0 as f64, -SCALE_BITS)
    }

    pub(crate) const fn from_raw(raw: u128) -> Self {
        Self(raw)
    }

    pub(crate) const fn raw(self) -> u128 {
        self.0
    }

    /// Returns `count` times this value.
    pub(crate) fn times(self, count: u32) -> Self {
        Self(self.0 * u128::from(count))
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 += other.0;
    }

    pub(crate) fn remove(&mut self, other: Self) {
        self.0 = self.0.checked_sub(other.0).expect("only added values are removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let clean = Penalty::from_loss(1e-18);
        let mut sum = clean.times(100_224);
        let begun = sum;
        for step in 1..2000_u32 {
            sum.add(Penalty::from_loss(1e-2 / f64::from(step)));
        }
        for step in 1..2000_u32 {
            sum.remove(Penalty::from_loss(1e-2 / f64::from(step)));
        }
        assert_eq!(sum, begun);
        assert!((sum.value() / 1.00224e-13 - 1.0).abs() < 1e-9, "{}", sum.value());
    }

    #[test]
    fn values_are_converted_back() {
        for loss in [0.0, 1e-8, 1.43e-5, 0.01, 0.999, 1.0, 1e3] {
            let back = Penalty::from_loss(loss).value();
            assert!((back - loss).abs() <= loss * 1e-15, "{loss} {back}");
        }
    }
}
