//! The ledger: claims of papers, the results measured for them, and the verdicts.
//!
//! A [`Ledger`] holds results only and is stored as JSON ([`Ledger::json`]). Titles, citations and methods
//! are constants of the program ([`Statement`]). Both together make one HTML file ([`Ledger::gallery`]) and a
//! folder of Markdown pages ([`Ledger::pages`]), so that the pages can be written again without measuring
//! again.

mod gallery;
mod pages;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use pages::Page;

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

/// Result of one claim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Identifier of the claim: `J1`.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Summary of the measurement.
    pub measured: String,
    /// Reason for the verdict.
    pub why: String,
    /// Comparisons that decide the verdict.
    pub checks: Vec<Check>,
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

/// Texts of a claim that do not depend on a measurement.
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
    /// The measurement, and the criteria for `reproduced`.
    pub method: &'static str,
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
    /// The command.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Day of the measurement: `2025-01-31`.
    pub date: String,
    /// Cores, processor and operating system.
    pub machine: String,
}

/// Whether the measurement confirms a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// Every check holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Only checks against printed numbers miss, each for a reason that another check measured.
    #[serde(rename = "differs")]
    Differs,
    /// A check misses that must hold.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

/// A measured value and its criterion.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Name of the measured value.
    pub what: String,
    /// The criterion.
    pub wanted: String,
    /// The measured value.
    pub measured: String,
    /// Whether the measured value meets the criterion.
    pub holds: bool,
    /// Whether the criterion is a number that the paper prints. A miss then makes the claim differ, not fail.
    pub as_printed: bool,
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

impl Check {
    /// `✓` if it holds, `≠` if it misses a printed number, `✗` if it misses a criterion that must hold.
    pub const fn sign(&self) -> &'static str {
        self.outcome().sign()
    }

    /// The verdict that this check alone would give.
    pub const fn outcome(&self) -> Verdict {
        match (self.holds, self.as_printed) {
            (true, _) => Verdict::Reproduced,
            (false, true) => Verdict::Differs,
            (false, false) => Verdict::NotReproduced,
        }
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
    pub const SCHEMA: u32 = 2;
    /// Folder of the figures, relative to the pages.
    pub const FIGURES: &str = "images";

    /// The text of `ledger.json`.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a ledger is plain values");
        text.push('\n');
        text
    }

    /// Adds the claims of an earlier ledger that this one lacks. `order` lists the ids of all claims of the
    /// program; claims that are not in it are dropped. A ledger read from JSON has no drawings: its figures
    /// stay in their files.
    #[must_use]
    pub fn merged_with(mut self, earlier: Self, order: &[&str]) -> Self {
        let place = |id: &str| order.iter().position(|known| *known == id);
        let old = earlier.claims.into_iter().filter(|claim| place(&claim.id).is_some());
        for claim in old {
            if !self.claims.iter().any(|new| new.id == claim.id) {
                self.computing_s += claim.computing_s;
                self.claims.push(claim);
            }
        }
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
        self.claims.iter().filter(|claim| claim.verdict == verdict).count()
    }

    /// `2 reproduced, 1 differs, 0 not reproduced`.
    pub fn tally(&self) -> String {
        let counts = Verdict::ALL.map(|verdict| format!("{} {}", self.count(verdict), verdict.name()));
        counts.join(", ")
    }
}

impl Verdict {
    /// All verdicts, from the best.
    pub const ALL: [Self; 3] = [Self::Reproduced, Self::Differs, Self::NotReproduced];

    /// The verdict as text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs => "differs",
            Self::NotReproduced => "not reproduced",
        }
    }

    /// A sign that does not depend on colour.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Reproduced => "✓",
            Self::Differs => "≠",
            Self::NotReproduced => "✗",
        }
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

    pub(super) const STATEMENTS: [Statement; 3] = [statement("V1"), statement("J8"), statement("X3")];

    const fn statement(id: &'static str) -> Statement {
        let source =
            Source { name: "Author 2022", citation: "Author, Title, Venue 2022", place: "section 1" };
        let (title, paper) = ("a claim & its <title>", "1562 of 100 000 flows time out");
        Statement { id, title, source, paper, method: "Two hosts. Reproduced if | and * are kept" }
    }

    pub(super) fn sample() -> Ledger {
        let bars = Bars {
            title: "Timeouts".to_owned(),
            description: "Invented.".to_owned(),
            parts: vec!["tail".to_owned()],
            bars: vec![Bar { name: "1/128".to_owned(), counts: vec![1562] }],
        };
        let check = |holds, as_printed| Check {
            what: "timeouts | of 10⁵".to_owned(),
            wanted: "1562".to_owned(),
            measured: "<b>1571</b>".to_owned(),
            holds,
            as_printed,
        };
        let claim = |id: &str, verdict, holds| ClaimResult {
            id: id.to_owned(),
            verdict,
            measured: "1571 timeouts".to_owned(),
            why: "The model gives 1562.".to_owned(),
            checks: vec![check(true, false), check(holds, true)],
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
                claim("V1", Verdict::Reproduced, true),
                claim("J8", Verdict::Differs, false),
                claim("X3", Verdict::NotReproduced, false),
            ],
        }
    }

    #[test]
    fn json_has_verdicts_by_name_and_no_drawings() {
        let value: serde_json::Value = serde_json::from_str(&sample().json()).unwrap();
        let verdicts: Vec<_> =
            value["claims"].as_array().unwrap().iter().map(|claim| &claim["verdict"]).collect();
        assert_eq!(verdicts, ["reproduced", "differs", "not reproduced"]);
        assert_eq!(
            value["claims"][0]["figures"][0],
            serde_json::json!({ "name": "v1", "caption": "Timeouts" })
        );
        assert!(value.get("changed").is_none());
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
    fn verdicts_are_counted() {
        assert_eq!(sample().tally(), "1 reproduced, 1 differs, 1 not reproduced");
    }

    #[test]
    fn times_have_units() {
        assert_eq!([8.34, 125.0, 5400.0].map(time_text), ["8.3 s", "2 min 05 s", "1 h 30 min"]);
    }
}
