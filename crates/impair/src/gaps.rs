//! Independent errors, drawn as the gaps between them.

use rand_core::Rng;

/// Distance to the next error among independent trials (bits or frames) of equal probability.
///
/// The gap is geometric and memoryless, so it may be drawn again after an error or after a frame with an
/// error.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    /// Clean trials before the next error.
    left: u64,
    /// ln(1 − p): 0 if errors never occur, −∞ if always.
    ln_clean: f64,
}

impl Gaps {
    pub(crate) fn new(probability: f64, rng: &mut impl Rng) -> Self {
        debug_assert!((0.0..=1.0).contains(&probability));
        let ln_clean = libm::log1p(-probability);
        Self { left: draw(ln_clean, rng), ln_clean }
    }

    /// Whether at least one of the next `trials` has an error.
    #[inline]
    pub(crate) fn hit(&mut self, trials: u64, rng: &mut impl Rng) -> bool {
        if self.left >= trials {
            self.left -= trials;
            return false;
        }
        self.redraw(rng)
    }

    /// Whether errors never occur.
    pub(crate) const fn is_zero(&self) -> bool {
        self.ln_clean == 0.0
    }

    /// Takes the clean trials before the next error.
    pub(crate) const fn lend(&mut self) -> u64 {
        std::mem::replace(&mut self.left, 0)
    }

    pub(crate) const fn return_rest(&mut self, rest: u64) {
        self.left += rest;
    }

    #[cold]
    fn redraw(&mut self, rng: &mut impl Rng) -> bool {
        self.left = draw(self.ln_clean, rng);
        // Without errors the gap is large but finite; when it is used up, it starts again.
        self.ln_clean != 0.0
    }
}

/// Draws the number of clean trials before the first error, each clean with probability e^`ln_clean`: ⌊ln u /
/// `ln_clean`⌋ is at least n exactly if u ≤ (1 − p)ⁿ.
pub(crate) fn draw(ln_clean: f64, rng: &mut impl Rng) -> u64 {
    if ln_clean == 0.0 {
        return u64::MAX;
    }
    // The conversion saturates: no run is longer than gaps beyond 2⁶⁴ (p < 10⁻¹⁸).
    (libm::log(uniform(rng)) / ln_clean) as u64
}

/// A number in (0, 1], a multiple of 2⁻⁵³.
pub(crate) fn uniform(rng: &mut impl Rng) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    ((rng.next_u64() >> 11) + 1) as f64 * STEP
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// More frames than any run has: the gap of rate zero is used up without an error.
    #[test]
    fn no_error_comes_when_the_longest_gap_ends() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut gaps = Gaps::new(0.0, &mut rng);
        for trials in [u64::MAX, u64::MAX, 1, u64::MAX] {
            assert!(!gaps.hit(trials, &mut rng));
        }
    }

    #[test]
    fn the_ends_of_the_generator_stay_inside_the_unit_interval() {
        struct Constant(u64);
        impl rand_core::TryRng for Constant {
            type Error = std::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(self.0 as u32)
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(self.0)
            }
            fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Self::Error> {
                dst.fill(self.0 as u8);
                Ok(())
            }
        }
        assert_eq!(uniform(&mut Constant(0)).to_bits(), 2_f64.powi(-53).to_bits());
        assert_eq!(uniform(&mut Constant(u64::MAX)).to_bits(), 1_f64.to_bits());
        // The largest draw is an immediate error at any rate.
        assert_eq!(draw(libm::log1p(-1e-300), &mut Constant(u64::MAX)), 0);
        assert_eq!(draw(libm::log1p(-1.0), &mut Constant(0)), 0);
        assert_eq!(draw(libm::log1p(-1e-300), &mut Constant(0)), u64::MAX);
    }
}
