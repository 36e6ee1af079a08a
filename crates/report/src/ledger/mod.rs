//! A ledger: what papers claim, what was measured for it, and what follows.
//!
//! The same [`Ledger`] becomes JSON for programs ([`Ledger::json`]), a page to look at ([`Ledger::gallery`]) and a document
//! beside the code ([`Ledger::validation`]). Figures are files of their own beside the document, and part of the page.

mod gallery;
mod validation;

use serde::{Deserialize, Serialize};

/// Claims that were measured, and how. The first fields are about the latest measurement; claims of an earlier one that was merged keep
/// their [`Origin`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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
    /// Time that the runs computed, each on one thread, in seconds.
    pub computing_s: f64,
    /// What was changed in all scenarios: then nothing here speaks about the papers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The claims, in order.
    pub claims: Vec<Entry>,
}

/// One claim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Table>,
    /// Drawings.
    pub figures: Vec<Figure>,
    /// The commands that run what was measured.
    pub runs: Vec<String>,
    /// Time that these computed, in seconds.
    pub computing_s: f64,
    /// By what it was measured, and when.
    pub origin: Origin,
}

/// The measurement that a claim belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The command.
    pub command: String,
    /// The program's version.
    pub version: String,
    /// The day, as `2025-01-31`.
    pub date: String,
    /// What kind of machine computed it.
    pub machine: String,
}

/// Whether a claim holds here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// A drawing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// The name of its file, without an ending.
    pub name: String,
    /// What is seen, for those who do not see it.
    pub caption: String,
    /// The drawing, as [`crate::plot`] makes it.
    #[serde(skip, default)]
    pub svg: String,
}

impl Entry {
    /// What was run for it, and how long that took.
    fn effort(&self) -> String {
        let commands = if self.runs.len() == 1 { "command" } else { "commands" };
        format!("{} {commands}, {} of computing", self.runs.len(), spoken_s(self.computing_s))
    }
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

    /// Takes over what an earlier ledger has and this one does not: claims that are in `order`, which names all there are. Their drawings
    /// are not in the earlier ledger, and stay where they are.
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

    /// The measurements that claims belong to, in the order of their first claims, each with the claims and their time of computing.
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
            "in order, the later one wins, what is gone is gone"
        );
        assert!((merged.computing_s - 122.0).abs() < 1e-9);
        let page = merged.validation("images");
        assert!(page.contains("| J8 | `wiremend repro --all` | full | 0.1.0 (abc) | 2025-01-31 |"), "{page}");
        assert!(page.contains("| V1 | `wiremend repro --all` | full | 0.2.0 | 2025-01-31 |"), "{page}");
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
