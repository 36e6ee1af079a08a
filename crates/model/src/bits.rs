//! Conversion between bit errors and frame loss (JCST Theorems 1 and 2, without their approximations).
//!
//! `ln_1p` and `exp_m1` keep all digits of probabilities from 10⁻¹⁶ up.

/// Probability that at least one bit of a frame is wrong, if each is with probability `alpha`: 1 − (1 −
/// α)^(8·bytes).
pub fn frame_loss(alpha: f64, bytes: f64) -> f64 {
    any(alpha, 8.0 * bytes)
}

/// Bit error rate at which a frame of this size is lost with probability `beta`.
pub fn bit_error_rate(beta: f64, bytes: f64) -> f64 {
    any(beta, 1.0 / (8.0 * bytes))
}

/// Loss of a frame of another size on the same link: γ and δ from β, 1 − (1 − β)^(bytes/full).
pub fn scaled(beta: f64, full_bytes: f64, bytes: f64) -> f64 {
    any(beta, bytes / full_bytes)
}

/// Probability that at least one of `times` independent events of probability `chance` occurs; `times` need
/// not be whole.
pub(crate) fn any(chance: f64, times: f64) -> f64 {
    if times == 0.0 { 0.0 } else { -(times * (-chance).ln_1p()).exp_m1() }
}

/// Effect of a corrupting link on frames.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Corruption {
    /// Each bit is wrong with this probability, so that long frames are lost more often, as on optical links.
    Bits(f64),
    /// Each frame is lost with this probability whatever its length, as by a switch that drops at random.
    Frames(f64),
}

impl Corruption {
    /// Bit errors with which a frame of `full_bytes` is lost with probability `beta`.
    pub fn from_full_frame_loss(beta: f64, full_bytes: u32) -> Self {
        Self::Bits(bit_error_rate(beta, f64::from(full_bytes)))
    }

    /// Probability that a frame is lost on a path with this number of corrupting links.
    pub fn loss(self, bytes: f64, links: u32) -> f64 {
        match self {
            Self::Bits(alpha) => any(alpha, 8.0 * bytes * f64::from(links)),
            Self::Frames(beta) => any(beta, f64::from(links)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_probabilities_keep_their_digits() {
        let beta = frame_loss(1e-16, 1086.0);
        assert!((beta / 8.688e-13 - 1.0).abs() < 1e-9, "{beta:e}");
        assert!((bit_error_rate(beta, 1086.0) / 1e-16 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn certainty_stays_certain() {
        for links in [1, 3] {
            assert!((Corruption::Frames(1.0).loss(66.0, links) - 1.0).abs() < 1e-15);
            assert!((Corruption::Bits(1.0).loss(66.0, links) - 1.0).abs() < 1e-15);
        }
        assert!(Corruption::Frames(1.0).loss(66.0, 0).abs() < 1e-300);
    }

    #[test]
    fn links_in_a_row_compound() {
        let one = Corruption::Bits(1e-6).loss(1102.0, 1);
        let four = Corruption::Bits(1e-6).loss(1102.0, 4);
        assert!((four - (1.0 - (1.0 - one).powi(4))).abs() < 1e-15);
    }
}
