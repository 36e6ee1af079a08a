//! Special functions for the intervals: incomplete gamma and beta functions, and quantiles.
//!
//! Series and continued fractions as in Abramowitz & Stegun 6.5 and 26.5. Quantiles by bisection, which needs
//! no starting point and cannot diverge.

use libm::{erfc, exp, lgamma, log, log1p, sqrt};

/// Relative accuracy at which a series stops.
const EPSILON: f64 = 1e-15;
/// Most terms of a series. Their number grows with the square root of the larger parameter.
const TERMS_MAX: u32 = 200_000;
/// Prevents a division by zero in the modified Lentz algorithm.
const TINY: f64 = 1e-300;

/// The regularised lower incomplete gamma function P(a, x): the probability that a gamma variate of shape `a`
/// is below `x`.
pub(crate) fn gamma_p(a: f64, x: f64) -> f64 {
    assert!(a > 0.0, "the shape is positive");
    if x <= 0.0 {
        return 0.0;
    }
    let scale = exp(a * log(x) - x - lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..TERMS_MAX {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * EPSILON {
                break;
            }
        }
        (scale * sum).min(1.0)
    } else {
        // A&S 6.5.31, even part: 1/(x+1−a− 1(1−a)/(x+3−a− 2(2−a)/(x+5−a− …)))
        let mut fraction = Lentz::new(x + 1.0 - a);
        for i in 1..TERMS_MAX {
            let n = f64::from(i);
            if fraction.step(n * (a - n), x + 2.0 * n + 1.0 - a) {
                break;
            }
        }
        (1.0 - scale / fraction.value).clamp(0.0, 1.0)
    }
}

/// The regularised incomplete beta function Iₓ(a, b).
pub(crate) fn beta_i(a: f64, b: f64, x: f64) -> f64 {
    assert!(a > 0.0 && b > 0.0, "the shapes are positive");
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges quickly below the mean; above it, the mirrored fraction does.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_i(b, a, 1.0 - x);
    }
    let scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a;
    let mut fraction = Lentz::new(1.0);
    for i in 0..TERMS_MAX {
        // A&S 26.5.8: the odd coefficient of this pair, then the even one.
        let m = f64::from(i);
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        fraction.step(odd, 1.0);
        let m = m + 1.0;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        if fraction.step(even, 1.0) {
            break;
        }
    }
    (scale / fraction.value).clamp(0.0, 1.0)
}

/// The `p`-quantile of the standard normal distribution.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    bisect(-40.0, 40.0, |z| 0.5 * erfc(-z / std::f64::consts::SQRT_2) < p)
}

/// Degrees of freedom above which Wilson and Hilferty's approximation is better than 10⁻⁷ and much faster.
const WILSON_HILFERTY: f64 = 2e6;

/// The `p`-quantile of the χ² distribution with `degrees` of freedom.
pub(crate) fn chi_square_quantile(p: f64, degrees: f64) -> f64 {
    if degrees > WILSON_HILFERTY {
        let spread = 2.0 / (9.0 * degrees);
        let root = 1.0 - spread + normal_quantile(p) * sqrt(spread);
        return degrees * root * root * root;
    }
    let most = degrees + 60.0 * sqrt(degrees) + 2_000.0;
    bisect(0.0, most, |x| gamma_p(degrees / 2.0, x / 2.0) < p)
}

/// The `p`-quantile of the beta distribution.
pub(crate) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    bisect(0.0, 1.0, |x| beta_i(a, b, x) < p)
}

/// The `p`-quantile, `p` ≥ ½, of Student's distribution.
pub(crate) fn student_quantile(p: f64, degrees: f64) -> f64 {
    assert!(p >= 0.5, "only the upper half is needed");
    let x = beta_quantile(2.0 * (1.0 - p), degrees / 2.0, 0.5);
    sqrt(degrees * (1.0 - x) / x)
}

/// The point where `is_below` changes from true to false, to the last bit.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    // Halving an interval that starts at zero may reach 1e-300.
    for _ in 0..1_200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if is_below(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Evaluates a continued fraction b₀ + a₁/(b₁ + a₂/(b₂ + …)) from the front.
struct Lentz {
    value: f64,
    c: f64,
    d: f64,
}

impl Lentz {
    fn new(b0: f64) -> Self {
        let value = if b0 == 0.0 { TINY } else { b0 };
        Self { value, c: value, d: 0.0 }
    }

    /// Adds the next coefficients; returns true once the value has converged.
    fn step(&mut self, a: f64, b: f64) -> bool {
        let nonzero = |x: f64| if x.abs() < TINY { TINY } else { x };
        self.d = 1.0 / nonzero(b + a * self.d);
        self.c = nonzero(b + a / self.c);
        let change = self.c * self.d;
        self.value *= change;
        (change - 1.0).abs() < EPSILON
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, table: f64, digits: i32) {
        assert!((found - table).abs() < 0.51 * 10_f64.powi(-digits), "{found} instead of {table}");
    }

    /// Abramowitz & Stegun, table 26.8.
    #[test]
    fn chi_square_matches_the_tables() {
        close(chi_square_quantile(0.95, 1.0), 3.841_46, 5);
        close(chi_square_quantile(0.99, 10.0), 23.209_3, 4);
        close(chi_square_quantile(0.025, 10.0), 3.246_97, 5);
        close(chi_square_quantile(0.975, 100.0), 129.561, 3);
        close(chi_square_quantile(0.005, 2.0), 0.010_025_1, 7);
    }

    #[test]
    fn normal_and_student_match_the_tables() {
        close(normal_quantile(0.975), 1.959_964, 6);
        close(normal_quantile(0.5), 0.0, 9);
        close(normal_quantile(0.001), -3.090_232, 6);
        close(student_quantile(0.975, 4.0), 2.776, 3);
        close(student_quantile(0.975, 1.0), 12.706, 3);
        close(student_quantile(0.995, 9.0), 3.250, 3);
        close(student_quantile(0.975, 1e6), 1.959_97, 4);
    }

    #[test]
    fn closed_forms_are_met() {
        for x in [0.1, 1.0, 5.0, 30.0] {
            close(gamma_p(1.0, x), 1.0 - exp(-x), 14);
        }
        for x in [0.001, 0.3, 0.5, 0.9] {
            close(beta_i(1.0, 3.0, x), 1.0 - (1.0 - x).powi(3), 14);
            close(beta_i(2.0, 2.0, x), x * x * (3.0 - 2.0 * x), 14);
        }
    }

    #[test]
    fn the_approximation_continues_the_exact_quantile() {
        for p in [0.025, 0.975] {
            let exact = chi_square_quantile(p, WILSON_HILFERTY);
            let quick = chi_square_quantile(p, WILSON_HILFERTY + 1e-6);
            assert!((exact / quick - 1.0).abs() < 1e-7, "{exact} {quick}");
        }
    }
}
