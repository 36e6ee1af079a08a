//! From checks to a verdict.

use wiremend_report::ledger::{Check, Figure, Table, Verdict};
use wiremend_report::plot::{Bars, Plot};

use super::number::Test;

/// What came out of a claim.
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) measured: String,
    pub(crate) why: String,
    pub(crate) checks: Vec<Check>,
    pub(crate) table: Option<Table>,
    pub(crate) figures: Vec<Figure>,
}

/// A claim while it is judged.
///
/// What [must](Self::must) hold and does not makes the claim *not reproduced*. What is held against the paper's
/// [print](Self::printed) and misses it makes the claim *differ*, for the reason that goes with it: the reason is measured by
/// what must hold.
#[derive(Default)]
pub(crate) struct Judgement {
    checks: Vec<Check>,
    reasons: Vec<String>,
    table: Option<Table>,
    figures: Vec<Figure>,
}

/// Misses that a sentence names.
const MISSES_NAMED: usize = 4;

impl Judgement {
    /// Nothing checked yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// This must hold.
    pub(crate) fn must(&mut self, what: impl Into<String>, test: Test) {
        self.check(what.into(), test, false);
    }

    /// The paper prints this. If it does not hold, the paper is wrong, or speaks of something else, because of `reason`.
    pub(crate) fn printed(&mut self, what: impl Into<String>, test: Test, reason: &str) {
        if !test.holds && !self.reasons.iter().any(|known| known == reason) {
            self.reasons.push(reason.to_owned());
        }
        self.check(what.into(), test, true);
    }

    /// Shows more numbers. The names of columns stand in one line, with `|` between them.
    pub(crate) fn table(&mut self, columns: &str, rows: Vec<Vec<String>>) {
        let columns = columns.split('|').map(|column| column.trim().to_owned()).collect();
        self.table = Some(Table { columns, rows });
    }

    /// Shows curves. `name` is the name of the file: the claim's id, and what tells several of its figures apart.
    pub(crate) fn plot(&mut self, name: &str, plot: &Plot) {
        self.figures.push(Figure { name: name.to_owned(), caption: plot.title.clone(), svg: plot.svg() });
    }

    /// Shows bars.
    pub(crate) fn bars(&mut self, name: &str, bars: &Bars) {
        self.figures.push(Figure { name: name.to_owned(), caption: bars.title.clone(), svg: bars.svg() });
    }

    /// The verdict, with what was measured in a sentence or two. `why` is said of a claim that is reproduced.
    pub(crate) fn finding(self, measured: impl Into<String>, why: &str) -> Finding {
        assert!(self.checks.iter().any(|check| !check.as_printed), "a claim that cannot fail is none");
        let misses: Vec<_> = self.checks.iter().filter(|check| !check.holds && !check.as_printed).collect();
        let (verdict, why) = if !misses.is_empty() {
            (Verdict::NotReproduced, told(&misses))
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

fn told(misses: &[&Check]) -> String {
    let told = |check: &&Check| format!("{}: {} instead of {}", check.what, check.measured, check.wanted);
    let mut text: Vec<_> = misses.iter().take(MISSES_NAMED).map(told).collect();
    if misses.len() > MISSES_NAMED {
        text.push(format!("and {} more", misses.len() - MISSES_NAMED));
    }
    text.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::number::number;
    use super::*;

    fn judged(measured: f64, exact: f64, print: f64) -> Finding {
        let mut judgement = Judgement::new();
        judgement.must("the exact form", number(measured).near(exact, 0.01));
        judgement.printed("the printed form", number(measured).near(print, 0.01), "a factor is missing");
        judgement.finding("something", "it is so")
    }

    #[test]
    fn verdicts_follow_from_checks() {
        let good = judged(2.0, 2.0, 2.0);
        assert_eq!((good.verdict, good.why.as_str()), (Verdict::Reproduced, "it is so"));
        let other = judged(2.0, 2.0, 4.0);
        assert_eq!((other.verdict, other.why.as_str()), (Verdict::Differs, "a factor is missing"));
        let bad = judged(2.0, 3.0, 2.0);
        assert_eq!(bad.verdict, Verdict::NotReproduced);
        assert_eq!(bad.why, "the exact form: 2 instead of 3 within 1 %");
        // A paper that is wrong does not excuse a measurement that is.
        assert_eq!(judged(2.0, 3.0, 4.0).verdict, Verdict::NotReproduced);
    }

    #[test]
    #[should_panic(expected = "a claim that cannot fail is none")]
    fn a_claim_without_a_check_is_a_bug() {
        let _ = Judgement::new().finding("nothing", "it is so");
    }
}
