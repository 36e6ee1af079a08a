//! The current state of a fabric, from a file.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use wiremend_fabric::csv_line::{excerpt, fields, is_blank};
use wiremend_fabric::tiers::Tiers;
use wiremend_units::{LinkId, SwitchId};

use super::timestamp::parse_timestamp;

/// The current state of a fabric.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FabricState {
    /// Time of the state, in seconds since 1970.
    pub time_s: i64,
    /// Links that are down, in the expected order of their return.
    pub down: Vec<LinkId>,
    /// Links that are being drained; they count as down.
    pub draining: Vec<LinkId>,
    /// Corrupting links.
    pub corrupting: Vec<CorruptingLink>,
    /// ToRs with a constraint of their own.
    pub tors: Vec<(SwitchId, f64)>,
}

/// A corrupting link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CorruptingLink {
    /// The link.
    pub link: LinkId,
    /// Share of frames that the link loses.
    pub loss: f64,
}

/// Why a state is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadState {
    /// Line and column, from 1; `None` for the file as a whole.
    pub place: Option<(u64, usize)>,
    /// Reason.
    pub what: String,
}

impl FabricState {
    /// Parses rows `time,WHEN`, `down,LINK`, `draining,LINK`, `corrupt,LINK,LOSS` and
    /// `tor,NAME,CONSTRAINT`, in any order. Blank lines and lines that start with `#` are ignored. A link
    /// is a number, one end as `SWITCH:PORT`, or both ends.
    pub fn parse_csv(text: &str, tiers: &Tiers) -> Result<Self, BadState> {
        let mut reader = Reader::new(tiers);
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            if is_blank(line) {
                continue;
            }
            let values: Vec<&str> = fields(line).map(|field| field.text).collect();
            reader.row(&values).map_err(|what| BadState { place: Some((number, 1)), what })?;
        }
        reader.finish()
    }

    /// Parses `{"time", "down": [LINK], "draining": [LINK], "corrupt": [{"link", "loss"}], "tors":
    /// [{"name", "constraint"}]}` with the same meaning.
    pub fn parse_json(text: &str, tiers: &Tiers) -> Result<Self, BadState> {
        let file: File = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
            let place = (error.line() > 0).then(|| (error.line() as u64, error.column().max(1)));
            BadState { place, what: format!("not a state in JSON: {what}") }
        })?;
        let mut reader = Reader::new(tiers);
        let time = file.time.to_string();
        let mut rows = vec![vec!["time".to_owned(), time.trim_matches('"').to_owned()]];
        rows.extend(file.down.into_iter().map(|link| vec!["down".to_owned(), link]));
        rows.extend(file.draining.into_iter().map(|link| vec!["draining".to_owned(), link]));
        let corrupt = file.corrupt.into_iter();
        rows.extend(corrupt.map(|ill| vec!["corrupt".to_owned(), ill.link, ill.loss.to_string()]));
        let tors = file.tors.into_iter();
        rows.extend(tors.map(|tor| vec!["tor".to_owned(), tor.name, tor.constraint.to_string()]));
        for row in rows {
            let values: Vec<&str> = row.iter().map(String::as_str).collect();
            reader.row(&values).map_err(|what| BadState { place: None, what })?;
        }
        reader.finish()
    }

    /// Iterates over the links out of service: down, or being drained.
    pub fn out(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.down.iter().chain(&self.draining).copied()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    time: serde_json::Value,
    #[serde(default)]
    down: Vec<String>,
    #[serde(default)]
    draining: Vec<String>,
    #[serde(default)]
    corrupt: Vec<FileCorrupt>,
    #[serde(default)]
    tors: Vec<FileTor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCorrupt {
    link: String,
    loss: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTor {
    name: String,
    constraint: f64,
}

/// Collects the rows of a state.
struct Reader<'a> {
    tiers: &'a Tiers,
    state: FabricState,
    time: Option<i64>,
    out: BTreeSet<LinkId>,
    ill: BTreeSet<LinkId>,
    set: BTreeSet<SwitchId>,
}

impl<'a> Reader<'a> {
    fn new(tiers: &'a Tiers) -> Self {
        let (out, ill, set) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { tiers, state: FabricState::default(), time: None, out, ill, set }
    }

    fn row(&mut self, values: &[&str]) -> Result<(), String> {
        match values {
            ["time", when] => {
                let time = parse_timestamp(when).ok_or_else(|| {
                    format!(
                        "`{}` is not a time: write 2026-11-15T12:00:00Z, or seconds since 1970",
                        excerpt(when)
                    )
                })?;
                if self.time.replace(time).is_some() {
                    return Err("the time is given twice: remove one".to_owned());
                }
            }
            [kind @ ("down" | "draining"), name] => {
                let link = self.link(name)?;
                if !self.out.insert(link) {
                    return Err(format!("`{}` is already down or draining: remove one row", excerpt(name)));
                }
                let list = if *kind == "down" { &mut self.state.down } else { &mut self.state.draining };
                list.push(link);
            }
            ["corrupt", name, loss] => {
                let link = self.link(name)?;
                let parsed: Option<f64> = loss.parse().ok().filter(|loss| *loss > 0.0 && *loss < 1.0);
                let loss = parsed.ok_or_else(|| {
                    format!("`{}` is not a loss rate between 0 and 1, both excluded", excerpt(loss))
                })?;
                if !self.ill.insert(link) {
                    return Err(format!("`{}` already has a corrupt row: remove one", excerpt(name)));
                }
                self.state.corrupting.push(CorruptingLink { link, loss });
            }
            ["tor", name, part] => self.tor(name, part)?,
            [kind, ..] => {
                return Err(format!(
                    "unknown row `{}` with {} values: use time,WHEN or down,LINK or draining,LINK or corrupt,LINK,LOSS or tor,NAME,CONSTRAINT",
                    excerpt(kind),
                    values.len() - 1
                ));
            }
            [] => {}
        }
        Ok(())
    }

    fn tor(&mut self, name: &str, part: &str) -> Result<(), String> {
        let found = self.tiers.switch_by_name(name).filter(|switch| self.tiers.tier(*switch) == 0);
        let tor = found.ok_or_else(|| format!("`{}` is not a ToR of the fabric", excerpt(name)))?;
        let parsed: Option<f64> = part.parse().ok().filter(|part| *part > 0.0 && *part <= 1.0);
        let part = parsed
            .ok_or_else(|| format!("`{}` is not a constraint: a number above 0, at most 1", excerpt(part)))?;
        if !self.set.insert(tor) {
            return Err(format!("ToR `{}` is given twice: remove one row", excerpt(name)));
        }
        self.state.tors.push((tor, part));
        Ok(())
    }

    fn link(&self, name: &str) -> Result<LinkId, String> {
        self.tiers.link_by_name(name).ok_or_else(|| {
            format!(
                "`{}` is not a link of the fabric: write a number below {}, SWITCH:PORT, or both ends separated by a blank",
                excerpt(name),
                self.tiers.link_count()
            )
        })
    }

    fn finish(self) -> Result<FabricState, BadState> {
        let Self { time, mut state, out, .. } = self;
        let Some(time_s) = time else {
            let what = "the time is missing: add a row time,2026-11-15T12:00:00Z".to_owned();
            return Err(BadState { place: None, what });
        };
        state.time_s = time_s;
        // A link out of service carries no frames that it could corrupt.
        state.corrupting.retain(|ill| !out.contains(&ill.link));
        Ok(state)
    }
}

impl fmt::Display for BadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for BadState {}
