//! The complementary error function, precise for small values.

use std::f64::consts::PI;

/// The complementary error function, to about 13 digits over its whole range.
pub(crate) fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.0 { 1.0 - erf_series(x) } else { (-x * x).exp() / PI.sqrt() * fraction(x) }
}

/// Σ (−1)ⁿ x^(2n+1)/(n!(2n+1)), in the form with terms of one sign.
fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term > sum * 1e-17 {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// 1/(x + ½/(x + 1/(x + 3⁄2/(x + …)))), evaluated from the inside.
fn fraction(x: f64) -> f64 {
    let inner = (1..=80).rev().fold(x, |below, k| x + f64::from(k) / 2.0 / below);
    1.0 / inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erfc_has_known_values() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.479_500_122_186_953_5),
            (1.999_999, 0.004_677_755_648_073_953),
            (2.0, 0.004_677_734_981_047_266),
            (5.0, 1.537_459_794_428_035e-12),
            (-1.0, 1.842_700_792_949_715),
            (20.0, 5.395_865_611_607_901e-176),
        ] {
            assert!((erfc(x) / expected - 1.0).abs() < 1e-11, "{x}: {:e}", erfc(x));
        }
        let tail = erfc(7.034_483_825 / std::f64::consts::SQRT_2) / 2.0;
        assert!((tail / 1e-12 - 1.0).abs() < 1e-8, "{tail:e}");
    }
}
