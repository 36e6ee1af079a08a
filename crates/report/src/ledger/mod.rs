//! The ledger: claims of papers, the results measured for them, and the verdicts.
//!
//! A [`Ledger`] holds results only and is stored as JSON ([`Ledger::json`]). Titles, citations and methods
//! are constants of the program ([`Statement`]). Both together make one HTML file ([`Ledger::gallery`]) and a
//! folder of Markdown pages ([`Ledger::pages`]), so that the pages can be written again without measuring
//! again.

mod band;
mod gallery;
mod pages;
mod verdict;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use band::{Band, LEVEL, Measured, Unit, shown};
pub use pages::Page;
pub use verdict::{Check, Correction, Explanation, Verdict, verdict};

/// Measured claims. The first fields describe the latest measurement; a claim from an earlier one keeps its
/// [`Origin`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ledger {
    /// Version of this layout. It grows when a field changes its meaning or is removed, not when a field is
    /// added.
    pub schema: u32,
    /// Command of the latest measurement.
    pub command: String,
    /// Simulated amount: `quick` or `full`.
    pub effort: String,
    /// Version of the program.
    pub version: String,
    /// Day of the measurement: `2025-01-31`.
    pub date: String,
    /// Cores, processor and operating system.
    pub machine: String,
    /// Sum of the computing times of all runs, each on one thread, in seconds.
    pub computing_s: f64,
    /// Values that `--set` changed in all scenarios. If there are any, the verdicts do not apply to the
    /// papers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The claims, in the order of the program.
    pub claims: Vec<ClaimResult>,
}

/// Result of one claim: what was measured. The verdict follows from it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Identifier of the claim: `J1`.
    pub id: String,
    /// Version of the criteria.
    pub criteria: usize,
    /// Measured values and their bands.
    pub checks: Vec<Check>,
    /// Derivations of printed figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// Causes of differences, applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<Explanation>,
    /// More numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Table>,
    /// Drawings.
    pub figures: Vec<Figure>,
    /// Computing time of its runs and of its judgement, in seconds.
    pub computing_s: f64,
    /// The measurement that produced this result.
    pub origin: Origin,
}

/// Texts of a claim that do not depend on a measurement, and the history of its criteria.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Identifier of the claim: `J1`.
    pub id: &'static str,
    /// Subject of the claim in a few words.
    pub title: &'static str,
    /// The paper, and the place in it.
    pub source: Source,
    /// The claim of the paper, with its numbers.
    pub paper: &'static str,
    /// The measurement.
    pub method: &'static str,
    /// What is known about the result beyond its numbers. It has no effect on the verdict.
    pub note: &'static str,
    /// Whether this is a question of our own, which no paper answers.
    pub is_own: bool,
    /// Changes of the criteria, from the first.
    pub revisions: &'static [Revision],
}

/// A change of the criteria of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Revision {
    /// The criterion before.
    pub from: &'static str,
    /// The criterion since.
    pub to: &'static str,
    /// The reason.
    pub why: &'static str,
}

/// A paper, and a place in it. Its text is the citation, a comma and the place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// Short name for tables: `Gao et al. 2022`.
    pub name: &'static str,
    /// Authors, title, venue and year.
    pub citation: &'static str,
    /// Section, theorem or figure. Empty if there is none.
    pub place: &'static str,
}

/// The measurement that produced a result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// Simulated amount: `quick` or `full`.
    pub effort: String,
    /// The command.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Day of the measurement: `2025-01-31`.
    pub date: String,
    /// Cores, processor and operating system.
    pub machine: String,
}

/// A table of numbers. The first column names the row.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// Column heads.
    pub columns: Vec<String>,
    /// Rows, each with a cell for every column.
    pub rows: Vec<Vec<String>>,
}

/// A drawing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// File name without extension.
    pub name: String,
    /// Title of the drawing, used as alternative text.
    pub caption: String,
    /// The drawing as [`crate::plot`] renders it. Empty in a ledger that was read from JSON.
    #[serde(skip, default)]
    pub svg: String,
}

impl Statement {
    /// Version of the criteria: 1 before the first change.
    pub const fn version(&self) -> usize {
        self.revisions.len() + 1
    }

    /// Name of a verdict: an own question has no paper to reproduce.
    pub const fn verdict_name(&self, verdict: Verdict) -> &'static str {
        match (self.is_own, verdict) {
            (false, verdict) => verdict.name(),
            (true, Verdict::Reproduced) => "as expected",
            (true, _) => "not as expected",
        }
    }
}

/// Largest number of misses that the reason of a verdict lists.
const MISSES_LISTED_MAX: usize = 4;

impl ClaimResult {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        verdict(&self.checks, &self.corrections, &self.explanations)
    }

    /// Whether all its runs had full effort, and the criteria have not changed since.
    pub fn is_judged_in_full(&self, statement: &Statement) -> bool {
        self.origin.effort == Ledger::FULL && self.criteria == statement.version()
    }

    /// The data behind the verdict: misses, or causes.
    pub fn why(&self) -> String {
        let counts = |of: &Explanation| of.counts(&self.checks);
        let mut causes: Vec<&str> = Vec::new();
        let corrections = self.corrections.iter().filter(|of| of.counts(&self.checks));
        let known = corrections.map(|of| of.cause.as_str());
        for cause in known.chain(self.explanations.iter().filter(|of| counts(of)).map(|of| of.cause.as_str()))
        {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        match self.verdict() {
            Verdict::Reproduced => String::new(),
            Verdict::Corrected | Verdict::Explained => causes.join(". "),
            Verdict::NotReproduced => self.misses(),
        }
    }

    /// The checks that decide for *not reproduced*, and the causes that did not help.
    fn misses(&self) -> String {
        let is_remedied = |place: usize| {
            self.corrections.iter().any(|of| of.check == place && of.counts(&self.checks))
                || self.explanations.iter().any(|of| of.counts(&self.checks) && of.covers(place))
        };
        let missed =
            self.checks.iter().enumerate().filter(|(place, check)| !check.holds() && !is_remedied(*place));
        let texts: Vec<_> = missed
            .map(|(_, check)| {
                format!("{}: {} instead of {}", check.what, check.measured_text(), check.wanted())
            })
            .collect();
        let mut text: Vec<_> = texts.iter().take(MISSES_LISTED_MAX).cloned().collect();
        if texts.len() > MISSES_LISTED_MAX {
            text.push(format!("and {} more", texts.len() - MISSES_LISTED_MAX));
        }
        text.join("; ")
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.citation)?;
        if self.place.is_empty() { Ok(()) } else { write!(f, ", {}", self.place) }
    }
}

impl Ledger {
    /// Version of the layout that this code writes.
    pub const SCHEMA: u32 = 3;
    /// Name of the effort of published results.
    pub const FULL: &str = "full";
    /// Folder of the figures, relative to the pages.
    pub const FIGURES: &str = "images";

    /// The text of `ledger.json`. For other programs it also has what follows from the data: verdicts, their
    /// reasons, and whether each check holds.
    pub fn json(&self) -> String {
        let mut whole = serde_json::to_value(self).expect("a ledger is plain values");
        for (claim, value) in self.claims.iter().zip(whole["claims"].as_array_mut().into_iter().flatten()) {
            value["verdict"] = claim.verdict().name().into();
            value["why"] = claim.why().into();
            for (check, value) in
                claim.checks.iter().zip(value["checks"].as_array_mut().into_iter().flatten())
            {
                value["holds"] = check.holds().into();
            }
        }
        format!("{whole:#}\n")
    }

    /// Adds the claims of an earlier ledger that this one lacks. A quick result does not replace a full one by
    /// the same criteria. `order` lists the ids of all claims of the program; claims that are not in it are
    /// dropped. A ledger read from JSON has no drawings: its figures stay in their files.
    #[must_use]
    pub fn merged_with(mut self, earlier: Self, order: &[&str]) -> Self {
        let place = |id: &str| order.iter().position(|known| *known == id);
        for old in earlier.claims.into_iter().filter(|claim| place(&claim.id).is_some()) {
            let is_full = |claim: &ClaimResult| claim.origin.effort == Self::FULL;
            match self.claims.iter_mut().find(|new| new.id == old.id) {
                None => self.claims.push(old),
                Some(new) if is_full(&old) && !is_full(new) && old.criteria == new.criteria => *new = old,
                Some(_) => {}
            }
        }
        self.computing_s = self.claims.iter().map(|claim| claim.computing_s).sum();
        self.claims.sort_by_key(|claim| place(&claim.id));
        self
    }

    /// The measurements, in the order of their first claims, each with the ids and the computing time of its
    /// claims.
    fn origins(&self) -> Vec<(&Origin, Vec<&str>, f64)> {
        let mut origins: Vec<(&Origin, Vec<&str>, f64)> = Vec::new();
        for claim in &self.claims {
            match origins.iter_mut().find(|(origin, ..)| **origin == claim.origin) {
                Some((_, ids, computing_s)) => {
                    ids.push(&claim.id);
                    *computing_s += claim.computing_s;
                }
                None => origins.push((&claim.origin, vec![&claim.id], claim.computing_s)),
            }
        }
        origins
    }

    /// Each claim with its texts. `statements` must have every claim of the ledger.
    fn stated<'a>(
        &'a self,
        statements: &'a [Statement],
    ) -> impl Iterator<Item = (&'a Statement, &'a ClaimResult)> {
        self.claims.iter().map(|claim| {
            let statement = statements.iter().find(|statement| statement.id == claim.id);
            (statement.expect("every claim of a ledger has a statement"), claim)
        })
    }

    /// Number of claims with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict() == verdict).count()
    }

    /// `2 reproduced, 1 corrected, 0 explained, 0 not reproduced`.
    pub fn tally(&self) -> String {
        let counts = Verdict::ALL.map(|verdict| format!("{} {}", self.count(verdict), verdict.name()));
        counts.join(", ")
    }
}

/// The text with a full stop, unless it ends a sentence already.
fn sentence(text: &str) -> String {
    if text.is_empty() || text.ends_with(['.', '?', '!']) { text.to_owned() } else { format!("{text}.") }
}

/// A computing time with units: `2 min 05 s`.
fn time_text(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", s as u64 / 60, s as u64 % 60),
        s => format!("{} h {:02} min", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Bar, Bars};

    pub(super) const STATEMENTS: [Statement; 4] =
        [statement("V1"), statement("J8"), statement("X3"), statement("W4")];

    const fn statement(id: &'static str) -> Statement {
        let source =
            Source { name: "Author 2022", citation: "Author, Title, Venue 2022", place: "section 1" };
        let (title, paper) = ("a claim & its <title>", "1562 of 100 000 flows time out");
        let (method, note) = ("Two hosts, | and *", "A note");
        let is_own = matches!(id.as_bytes(), b"W4");
        let revisions: &[Revision] = if is_own {
            &[Revision { from: "within 1 %", to: "within 2 %", why: "a typing error" }]
        } else {
            &[]
        };
        Statement { id, title, source, paper, method, note, is_own, revisions }
    }

    pub(super) fn sample() -> Ledger {
        let bars = Bars {
            title: "Timeouts".to_owned(),
            description: "Invented.".to_owned(),
            parts: vec!["tail".to_owned()],
            bars: vec![Bar { name: "1/128".to_owned(), counts: vec![1562] }],
        };
        let check = |count, printed| Check {
            what: "timeouts | of 10⁵".to_owned(),
            unit: Unit::Number,
            band: Band::Expected { value: 1562.0, part: 0.0 },
            measured: Measured::Count(count),
            printed,
        };
        let corrected = Correction {
            check: 1,
            cause: "<b>lost ACKs".to_owned(),
            exact: 1660.0,
            band: Band::Expected { value: 1660.0, part: 0.0 },
        };
        let fitted = Explanation {
            cause: "a fit".to_owned(),
            free_values: 1,
            figures: vec![(1, Measured::Count(1562))],
        };
        let claim =
            |id: &str, second, corrections: &[Correction], explanations: &[Explanation]| ClaimResult {
                id: id.to_owned(),
                criteria: 1,
                checks: vec![check(1571, false), check(second, true)],
                corrections: corrections.to_vec(),
                explanations: explanations.to_vec(),
                table: Some(Table {
                    columns: vec!["rate".to_owned(), "p99".to_owned()],
                    rows: vec![vec!["1/128".to_owned(), "268 ms".to_owned()]],
                }),
                figures: vec![Figure {
                    name: id.to_lowercase(),
                    caption: "Timeouts".to_owned(),
                    svg: bars.svg(),
                }],
                computing_s: 61.0,
                origin: Origin {
                    effort: "full".to_owned(),
                    command: "wiremend repro --all".to_owned(),
                    version: "0.1.0 (abc)".to_owned(),
                    date: "2025-01-31".to_owned(),
                    machine: "2 cores of a kind".to_owned(),
                },
            };
        Ledger {
            schema: Ledger::SCHEMA,
            command: "wiremend repro --all".to_owned(),
            effort: "full".to_owned(),
            version: "0.1.0 (abc)".to_owned(),
            date: "2025-01-31".to_owned(),
            machine: "2 cores of a kind".to_owned(),
            computing_s: 183.0,
            changed: Vec::new(),
            claims: vec![
                claim("V1", 1571, &[], &[]),
                claim("J8", 1750, &[corrected], &[]),
                claim("X3", 1750, &[], &[fitted]),
                claim("W4", 1571, &[], &[]),
            ],
        }
    }

    #[test]
    fn json_has_verdicts_by_name_and_no_drawings() {
        let value: serde_json::Value = serde_json::from_str(&sample().json()).unwrap();
        let verdicts: Vec<_> =
            value["claims"].as_array().unwrap().iter().map(|claim| &claim["verdict"]).collect();
        assert_eq!(verdicts, ["reproduced", "corrected", "not reproduced", "reproduced"]);
        assert_eq!(
            value["claims"][0]["figures"][0],
            serde_json::json!({ "name": "v1", "caption": "Timeouts" })
        );
        assert!(value.get("changed").is_none());
        assert_eq!(value["claims"][2]["checks"][1]["holds"], false);
        let read: Ledger = serde_json::from_str(&sample().json()).unwrap();
        assert_eq!(read.tally(), sample().tally());
    }

    #[test]
    fn claims_of_an_earlier_ledger_stay_with_their_origin() {
        let (mut earlier, mut later) = (sample(), sample());
        later.claims.truncate(1);
        later.computing_s = 61.0;
        later.claims[0].origin.version = "0.2.0".to_owned();
        earlier.claims[2].id = "GONE".to_owned();
        let read: Ledger = serde_json::from_str(&earlier.json()).unwrap();
        let merged = later.merged_with(read, &["J8", "V1"]);
        let versions: Vec<_> =
            merged.claims.iter().map(|claim| (&*claim.id, &*claim.origin.version)).collect();
        assert_eq!(
            versions,
            [("J8", "0.1.0 (abc)"), ("V1", "0.2.0")],
            "in order; the later result wins; unknown claims are dropped"
        );
        assert!((merged.computing_s - 122.0).abs() < 1e-9);
        let index = &merged.pages(&STATEMENTS)[0].text;
        assert!(
            index.contains("| J8 | `wiremend repro --all` | full | 0.1.0 (abc) | 2025-01-31 |"),
            "{index}"
        );
        assert!(index.contains("| V1 | `wiremend repro --all` | full | 0.2.0 | 2025-01-31 |"), "{index}");
    }

    #[test]
    fn a_quick_result_replaces_only_one_by_older_criteria() {
        let quick = || {
            let mut ledger = sample();
            ledger.claims.truncate(1);
            ledger.claims[0].origin.effort = "quick".to_owned();
            ledger
        };
        let effort = |ledger: Ledger| ledger.claims[0].origin.effort.clone();
        assert_eq!(effort(quick().merged_with(sample(), &["V1"])), "full");
        let mut newer = quick();
        newer.claims[0].criteria = 2;
        assert_eq!(effort(newer.merged_with(sample(), &["V1"])), "quick");
    }

    #[test]
    fn verdicts_are_counted() {
        assert_eq!(sample().claims[2].why(), "timeouts | of 10⁵: 1750 (1592…1919) instead of 1562");
        assert_eq!(sample().tally(), "2 reproduced, 1 corrected, 0 explained, 1 not reproduced");
    }

    #[test]
    fn times_have_units() {
        assert_eq!([8.34, 125.0, 5400.0].map(time_text), ["8.3 s", "2 min 05 s", "1 h 30 min"]);
    }
}
