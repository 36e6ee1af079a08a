//! A ledger: what papers claim, what was measured for it, and what follows.
//!
//! The same [`Ledger`] becomes JSON for programs ([`Ledger::json`]), a page to look at ([`Ledger::gallery`]) and a document
//! beside the code ([`Ledger::validation`]). Figures are files of their own beside the document, and part of the page.

mod gallery;
mod validation;

use serde::Serialize;

/// Claims that were measured together, and how.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ledger {
    /// Version of this layout. It grows when a field changes its meaning or goes, not when one is added.
    pub schema: u32,
    /// The command that measures all this again.
    pub command: String,
    /// How much was simulated.
    pub effort: String,
    /// The program's version.
    pub version: String,
    /// The day, as `2025-01-31`.
    pub date: String,
    /// What kind of machine computed it.
    pub machine: String,
    /// Time that the runs took, each on one thread, in seconds.
    pub computing_s: f64,
    /// What was changed in all scenarios: then nothing here speaks about the papers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The claims, in order.
    pub claims: Vec<Entry>,
}

/// One claim.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Entry {
    /// Its name in the ledger.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Who says so, and where.
    pub source: String,
    /// What came out.
    pub verdict: Verdict,
    /// What the paper says.
    pub paper: String,
    /// What was measured here.
    pub measured: String,
    /// Why it is so.
    pub why: String,
    /// What is measured, and what counts as reproduced.
    pub method: String,
    /// What the verdict follows from.
    pub checks: Vec<Check>,
    /// More numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Table>,
    /// Drawings.
    pub figures: Vec<Figure>,
    /// The commands that run what was measured, one for each run.
    pub runs: Vec<String>,
    /// Time that these took, in seconds.
    pub computing_s: f64,
}

/// Whether a claim holds here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Verdict {
    /// It does.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// It holds in part, or with other numbers, for a reason that is known and was measured too.
    #[serde(rename = "differs")]
    Differs,
    /// It does not.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

/// A measurement and what it is held against.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// What is measured.
    pub what: String,
    /// What it should be.
    pub wanted: String,
    /// What it is.
    pub measured: String,
    /// Whether it is as it should be.
    pub holds: bool,
    /// Whether it is held against what the paper prints, so that a miss makes the claim differ and not fail.
    pub as_printed: bool,
}

/// Numbers in rows. The first column names the row.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// A drawing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Figure {
    /// The name of its file, without an ending.
    pub name: String,
    /// What is seen, for those who do not see it.
    pub caption: String,
    /// The drawing, as [`crate::plot`] makes it.
    #[serde(skip)]
    pub svg: String,
}

impl Ledger {
    /// The version of the layout that this code writes.
    pub const SCHEMA: u32 = 1;

    /// `ledger.json`.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a ledger is plain values");
        text.push('\n');
        text
    }

    /// How many claims have this verdict.
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

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs => "differs",
            Self::NotReproduced => "not reproduced",
        }
    }

    /// A sign for those who skim, which does not depend on colour.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Reproduced => "✓",
            Self::Differs => "≠",
            Self::NotReproduced => "✗",
        }
    }
}

/// Text that ends as a sentence does.
fn sentence(text: &str) -> String {
    if text.is_empty() || text.ends_with(['.', '?', '!']) { text.to_owned() } else { format!("{text}.") }
}

/// A time of computing, as people say it.
fn spoken_s(seconds: f64) -> String {
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

    pub(super) fn sample() -> Ledger {
        let bars = Bars {
            title: "Timeouts".to_owned(),
            description: "Made up.".to_owned(),
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
        let entry = |id: &str, verdict, holds| Entry {
            id: id.to_owned(),
            title: "a claim & its <title>".to_owned(),
            source: "Somebody, Somewhere 2022".to_owned(),
            verdict,
            paper: "It is so.".to_owned(),
            measured: "It was so.".to_owned(),
            why: "Because it is.".to_owned(),
            method: "Two hosts.".to_owned(),
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
            runs: vec!["wiremend run 'a b' --seed 1".to_owned()],
            computing_s: 61.0,
        };
        Ledger {
            schema: Ledger::SCHEMA,
            command: "wiremend repro --all".to_owned(),
            effort: "full".to_owned(),
            version: "0.1.0 (abc)".to_owned(),
            date: "2025-01-31".to_owned(),
            machine: "2 cores of a kind".to_owned(),
            computing_s: 122.0,
            changed: Vec::new(),
            claims: vec![
                entry("V1", Verdict::Reproduced, true),
                entry("J8", Verdict::Differs, false),
                entry("X3", Verdict::NotReproduced, false),
            ],
        }
    }

    #[test]
    fn json_names_verdicts_as_people_do_and_leaves_drawings_out() {
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
    fn verdicts_are_counted() {
        assert_eq!(sample().tally(), "1 reproduced, 1 differs, 1 not reproduced");
    }

    #[test]
    fn times_are_spoken() {
        assert_eq!([8.34, 125.0, 5400.0].map(spoken_s), ["8.3 s", "2 min 05 s", "1 h 30 min"]);
    }
}
