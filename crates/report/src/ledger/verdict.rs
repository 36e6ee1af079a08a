//! The verdict on a claim, computed from its data by one function.
//!
//! Data are the [checks](Check), each a measured value and its band, and the remedies of checks against printed
//! figures that miss: [corrections](Correction) and [explanations](Explanation). Both carry numbers. A reason in
//! words has no place here and cannot change a verdict.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::band::{Band, Measured, Unit};

/// Whether the measurement confirms a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// Every printed figure is within its band.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The paper's figure is wrong or outside its own assumptions: an exact derivation that the measurement
    /// confirms gives another value.
    #[serde(rename = "corrected")]
    Corrected,
    /// Ours differs, and with the named cause applied the printed figure is within its band.
    #[serde(rename = "explained")]
    Explained,
    /// All else.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

/// A measured value and its criterion.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Name of the measured value.
    pub what: String,
    /// Unit of the value and of the band.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub unit: Unit,
    /// The criterion.
    pub band: Band,
    /// The measured value.
    pub measured: Measured,
    /// Whether the criterion is a figure that the paper prints. Only such a miss can be corrected or explained.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub printed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_plain(unit: &Unit) -> bool {
    *unit == Unit::Number
}

/// An exact derivation of a printed figure. It counts if its value is outside the printed figure's band, and the
/// measured value agrees with it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Correction {
    /// Place of the check of the printed figure.
    pub check: usize,
    /// What the paper's figure leaves out or gets wrong.
    pub cause: String,
    /// The derived value.
    pub exact: f64,
    /// The band around it in which the measured value has to be.
    pub band: Band,
}

/// A cause of differences from printed figures, applied in a measurement. It counts if it brings all its figures
/// into their bands, and has fewer free values than figures.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The cause.
    pub cause: String,
    /// Number of values of the cause that were chosen with the printed figures in view.
    pub free_values: usize,
    /// Places of the checks of printed figures, and the values measured with the cause applied.
    pub figures: Vec<(usize, Measured)>,
}

/// Derives the verdict.
pub fn verdict(checks: &[Check], corrections: &[Correction], explanations: &[Explanation]) -> Verdict {
    let missed = |check: &&Check| !check.holds();
    if checks.is_empty() || checks.iter().filter(|check| !check.printed).any(|check| missed(&check)) {
        return Verdict::NotReproduced;
    }
    let remedied = |place: usize| {
        let corrected = corrections.iter().any(|of| of.check == place && of.counts(checks));
        let explained = explanations.iter().any(|of| of.covers(place) && of.counts(checks));
        match (corrected, explained) {
            (true, _) => Verdict::Corrected,
            (false, true) => Verdict::Explained,
            (false, false) => Verdict::NotReproduced,
        }
    };
    let misses = (0..checks.len()).filter(|&place| !checks[place].holds());
    misses.map(remedied).max().unwrap_or(Verdict::Reproduced)
}

impl Check {
    /// Whether the measured value meets the criterion.
    pub fn holds(&self) -> bool {
        self.band.holds(&self.measured)
    }

    /// `✓` if it holds, `≠` if it misses a printed figure, `✗` if it misses another criterion.
    pub fn sign(&self) -> &'static str {
        match (self.holds(), self.printed) {
            (true, _) => "✓",
            (false, true) => "≠",
            (false, false) => "✗",
        }
    }

    /// The criterion as text.
    pub fn wanted(&self) -> String {
        self.band.text(self.unit)
    }

    /// The measured value as text.
    pub fn measured_text(&self) -> String {
        self.measured.text(self.unit, &self.band)
    }
}

impl Correction {
    /// Whether it proves the printed figure wrong.
    pub fn counts(&self, checks: &[Check]) -> bool {
        checks.get(self.check).is_some_and(|check| {
            check.printed && !check.band.holds_value(self.exact) && self.band.holds(&check.measured)
        })
    }
}

impl Explanation {
    /// Whether its cause accounts for all its figures without being fitted to them one by one.
    pub fn counts(&self, checks: &[Check]) -> bool {
        let places: BTreeSet<_> = self.figures.iter().map(|(place, _)| place).collect();
        self.free_values < places.len()
            && self.figures.iter().all(|(place, applied)| {
                checks.get(*place).is_some_and(|check| check.printed && check.band.holds(applied))
            })
    }

    /// Whether it applies to the check at this place.
    pub fn covers(&self, place: usize) -> bool {
        self.figures.iter().any(|(covered, _)| *covered == place)
    }
}

impl Verdict {
    /// All verdicts, from the best.
    pub const ALL: [Self; 4] = [Self::Reproduced, Self::Corrected, Self::Explained, Self::NotReproduced];

    /// The verdict as text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Corrected => "corrected",
            Self::Explained => "explained",
            Self::NotReproduced => "not reproduced",
        }
    }

    /// A sign that does not depend on colour.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Reproduced => "✓",
            Self::Corrected => "!",
            Self::Explained => "≠",
            Self::NotReproduced => "✗",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(value: f64, measured: f64) -> Check {
        let band = Band::Near { value, part: 0.01 };
        let what = format!("printed {value}");
        Check { what, unit: Unit::Number, band, measured: Measured::Value(measured), printed: true }
    }

    fn own(value: f64, measured: f64) -> Check {
        Check { printed: false, ..printed(value, measured) }
    }

    fn correction(exact: f64) -> Correction {
        let band = Band::Near { value: exact, part: 0.01 };
        Correction { check: 0, cause: "a factor is missing".to_owned(), exact, band }
    }

    fn explanation(free_values: usize, applied: &[f64]) -> Explanation {
        let figures = applied.iter().map(|value| Measured::Value(*value)).enumerate().collect();
        Explanation { cause: "a slower clock".to_owned(), free_values, figures }
    }

    #[test]
    fn a_miss_alone_is_not_reproduced() {
        assert_eq!(verdict(&[printed(2.0, 2.0)], &[], &[]), Verdict::Reproduced);
        assert_eq!(verdict(&[printed(2.0, 3.0)], &[], &[]), Verdict::NotReproduced);
        assert_eq!(verdict(&[own(2.0, 3.0)], &[], &[]), Verdict::NotReproduced);
        assert_eq!(verdict(&[], &[], &[]), Verdict::NotReproduced, "nothing was checked");
    }

    #[test]
    fn a_correction_counts_if_it_contradicts_the_figure_and_agrees_with_the_measurement() {
        let checks = [printed(4.0, 2.0)];
        assert_eq!(verdict(&checks, &[correction(2.0)], &[]), Verdict::Corrected);
        assert_eq!(verdict(&checks, &[correction(3.0)], &[]), Verdict::NotReproduced, "not as measured");
        assert_eq!(verdict(&checks, &[correction(4.0)], &[]), Verdict::NotReproduced, "as printed");
        // A wrong figure in the paper does not excuse a wrong measurement.
        let checks = [printed(4.0, 2.0), own(3.0, 2.0)];
        assert_eq!(verdict(&checks, &[correction(2.0)], &[]), Verdict::NotReproduced);
        // A criterion of our own cannot be corrected.
        assert_eq!(verdict(&[own(4.0, 2.0)], &[correction(2.0)], &[]), Verdict::NotReproduced);
    }

    #[test]
    fn an_explanation_counts_if_its_cause_gives_more_figures_than_it_has_free_values() {
        let checks = [printed(4.0, 2.0), printed(6.0, 3.0)];
        assert_eq!(verdict(&checks, &[], &[explanation(0, &[4.0, 6.0])]), Verdict::Explained);
        assert_eq!(verdict(&checks, &[], &[explanation(1, &[4.0, 6.0])]), Verdict::Explained);
        assert_eq!(verdict(&checks, &[], &[explanation(2, &[4.0, 6.0])]), Verdict::NotReproduced, "a fit");
        assert_eq!(
            verdict(&checks, &[], &[explanation(0, &[4.0, 5.0])]),
            Verdict::NotReproduced,
            "one misses"
        );
        assert_eq!(verdict(&checks, &[], &[explanation(0, &[4.0])]), Verdict::NotReproduced, "one is left");
        // The same figure twice is one figure.
        let twice = Explanation { figures: vec![(0, Measured::Value(4.0)); 2], ..explanation(1, &[]) };
        assert_eq!(verdict(&[printed(4.0, 2.0)], &[], &[twice]), Verdict::NotReproduced);
    }

    #[test]
    fn the_weakest_remedy_decides() {
        let checks = [printed(4.0, 2.0), printed(6.0, 3.0)];
        let both = Explanation { figures: vec![(1, Measured::Value(6.0))], ..explanation(0, &[]) };
        assert_eq!(verdict(&checks, &[correction(2.0)], &[both]), Verdict::Explained);
    }
}
