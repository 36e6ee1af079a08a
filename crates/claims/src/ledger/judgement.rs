//! Collects checks and derives the verdict.

use wiremend_report::ledger::{Check, Figure, Table, Verdict};
use wiremend_report::plot::{Bars, Plot};

use super::number::Test;

/// Result of judging a claim.
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) measured: String,
    pub(crate) why: String,
    pub(crate) checks: Vec<Check>,
    pub(crate) table: Option<Table>,
    pub(crate) figures: Vec<Figure>,
}

/// Collects the checks of a claim.
///
/// A check that [must](Self::must) hold and misses makes the claim *not reproduced*. A miss against a number
/// that the paper [printed](Self::printed) makes the claim *differ*, for the given reason. Checks that must
/// hold measure that reason.
#[derive(Default)]
pub(crate) struct Judgement {
    checks: Vec<Check>,
    reasons: Vec<String>,
    table: Option<Table>,
    figures: Vec<Figure>,
}

/// Largest number of misses that the reason of a verdict lists.
const MISSES_LISTED_MAX: usize = 4;

impl Judgement {
    /// A judgement without checks.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a check that must hold.
    pub(crate) fn must(&mut self, what: impl Into<String>, test: Test) {
        self.check(what.into(), test, false);
    }

    /// Adds a check against a number that the paper prints. `reason` explains a miss.
    pub(crate) fn printed(&mut self, what: impl Into<String>, test: Test, reason: &str) {
        if !test.holds && !self.reasons.iter().any(|known| known == reason) {
            self.reasons.push(reason.to_owned());
        }
        self.check(what.into(), test, true);
    }

    /// Sets the table. `columns` has the column heads, separated by `|`.
    pub(crate) fn table(&mut self, columns: &str, rows: Vec<Vec<String>>) {
        let columns = columns.split('|').map(|column| column.trim().to_owned()).collect();
        self.table = Some(Table { columns, rows });
    }

    /// Adds a plot. `name` is the file name: the id of the claim, and a suffix if it has several figures.
    pub(crate) fn plot(&mut self, name: &str, plot: &Plot) {
        self.figures.push(Figure { name: name.to_owned(), caption: plot.title.clone(), svg: plot.svg() });
    }

    /// Adds a bar chart.
    pub(crate) fn bars(&mut self, name: &str, bars: &Bars) {
        self.figures.push(Figure { name: name.to_owned(), caption: bars.title.clone(), svg: bars.svg() });
    }

    /// Derives the verdict. `measured` summarizes the result; `why` is the reason given for *reproduced*.
    pub(crate) fn finding(self, measured: impl Into<String>, why: &str) -> Finding {
        assert!(self.checks.iter().any(|check| !check.as_printed), "a claim needs a check that can fail");
        let misses: Vec<_> = self.checks.iter().filter(|check| !check.holds && !check.as_printed).collect();
        let (verdict, why) = if !misses.is_empty() {
            (Verdict::NotReproduced, misses_text(&misses))
        } else if self.reasons.is_empty() {
            (Verdict::Reproduced, why.to_owned())
        } else {
            (Verdict::Differs, self.reasons.join(". "))
        };
        let Self { checks, table, figures, .. } = self;
        Finding { verdict, measured: measured.into(), why, checks, table, figures }
    }

    fn check(&mut self, what: String, test: Test, as_printed: bool) {
        let Test { wanted, measured, holds } = test;
        self.checks.push(Check { what, wanted, measured, holds, as_printed });
    }
}

fn misses_text(misses: &[&Check]) -> String {
    let miss_text =
        |check: &&Check| format!("{}: {} instead of {}", check.what, check.measured, check.wanted);
    let mut text: Vec<_> = misses.iter().take(MISSES_LISTED_MAX).map(miss_text).collect();
    if misses.len() > MISSES_LISTED_MAX {
        text.push(format!("and {} more", misses.len() - MISSES_LISTED_MAX));
    }
    text.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::number::number;
    use super::*;

    fn judged(measured: f64, exact: f64, print: f64) -> Finding {
        let mut judgement = Judgement::new();
        judgement.must("the exact formula", number(measured).near(exact, 0.01));
        judgement.printed("the printed formula", number(measured).near(print, 0.01), "a factor is missing");
        judgement.finding("something", "as expected")
    }

    #[test]
    fn verdicts_follow_from_checks() {
        let good = judged(2.0, 2.0, 2.0);
        assert_eq!((good.verdict, good.why.as_str()), (Verdict::Reproduced, "as expected"));
        let other = judged(2.0, 2.0, 4.0);
        assert_eq!((other.verdict, other.why.as_str()), (Verdict::Differs, "a factor is missing"));
        let bad = judged(2.0, 3.0, 2.0);
        assert_eq!(bad.verdict, Verdict::NotReproduced);
        assert_eq!(bad.why, "the exact formula: 2 instead of 3 within 1 %");
        // A wrong number in the paper does not excuse a wrong measurement.
        assert_eq!(judged(2.0, 3.0, 4.0).verdict, Verdict::NotReproduced);
    }

    #[test]
    #[should_panic(expected = "a claim needs a check that can fail")]
    fn a_claim_without_a_check_is_a_bug() {
        let _ = Judgement::new().finding("nothing", "as expected");
    }
}
