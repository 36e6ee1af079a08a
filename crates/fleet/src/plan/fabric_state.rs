//! The current state of a fabric, from a file.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use wiremend_fabric::csv_line::{fields, is_blank};
use wiremend_fabric::tiers::{Constraints, Tiers};
use wiremend_units::{LinkId, SwitchId};

use super::state_reader::{Place, StateReader};

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
    /// ToRs and pods with a constraint of their own.
    pub constraints: Constraints,
    /// Switches with a link that is down, but not known: no ToR below may lose capacity.
    pub uncertain: Vec<SwitchId>,
    /// Items that were skipped or changed, in the order of the file.
    pub skipped: Vec<BadState>,
}

/// A corrupting link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CorruptingLink {
    /// The link.
    pub link: LinkId,
    /// Share of frames that the link loses.
    pub loss: f64,
}

/// Why a state or one of its items is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadState {
    /// Line and column, from 1; `None` for the file as a whole.
    pub place: Option<(u64, usize)>,
    /// Reason.
    pub what: String,
}

impl FabricState {
    /// Parses rows `time,WHEN`, `down,LINK`, `draining,LINK`, `corrupt,LINK,LOSS`, `tor,NAME,CONSTRAINT` and
    /// `pod,NAME,CONSTRAINT`, in any order. Blank lines and lines that start with `#` are ignored. A link is
    /// a number, one end as `SWITCH:PORT`, or both ends. Invalid rows are skipped; only the time is required.
    pub fn parse_csv(text: &str, tiers: &Tiers) -> Result<Self, BadState> {
        let mut reader = StateReader::new(tiers);
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            if is_blank(line) {
                continue;
            }
            let values: Vec<&str> = fields(line).map(|field| field.text).collect();
            reader.row(&Place::Line(number), &values)?;
        }
        reader.finish()
    }

    /// Parses `{"time", "down": [LINK], "draining": [LINK], "corrupt": [{"link", "loss"}], "tors":
    /// [{"name", "constraint"}], "pods": [{"name", "constraint"}]}` with the same meaning.
    pub fn parse_json(text: &str, tiers: &Tiers) -> Result<Self, BadState> {
        let file: File = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
            let place = (error.line() > 0).then(|| (error.line() as u64, error.column().max(1)));
            BadState { place, what: format!("not a state in JSON: {what}") }
        })?;
        let mut reader = StateReader::new(tiers);
        reader.row(&Place::Whole, &["time", &text_of(&file.time)])?;
        let constraint: &[&str] = &["name", "constraint"];
        let lists = [
            ("down", "down", file.down, &[][..]),
            ("draining", "draining", file.draining, &[]),
            ("corrupt", "corrupt", file.corrupt, &["link", "loss"]),
            ("tors", "tor", file.tors, constraint),
            ("pods", "pod", file.pods, constraint),
        ];
        for (list, kind, items, keys) in lists {
            for (number, item) in items.iter().enumerate() {
                let place = Place::Item(list, number);
                match item_values(item, keys) {
                    Ok(values) => {
                        let values = [kind].into_iter().chain(values.iter().map(String::as_str));
                        reader.row(&place, &values.collect::<Vec<_>>())?;
                    }
                    Err(what) => reader.skip(&place, what),
                }
            }
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
    time: Value,
    #[serde(default)]
    down: Vec<Value>,
    #[serde(default)]
    draining: Vec<Value>,
    #[serde(default)]
    corrupt: Vec<Value>,
    #[serde(default)]
    tors: Vec<Value>,
    #[serde(default)]
    pods: Vec<Value>,
}

/// Returns the values of an item: a link, or an object with exactly these keys.
fn item_values(item: &Value, keys: &[&str]) -> Result<Vec<String>, String> {
    let is_scalar = |value: &Value| value.is_string() || value.is_number();
    if keys.is_empty() && is_scalar(item) {
        return Ok(vec![text_of(item)]);
    }
    let object = item.as_object().filter(|object| !keys.is_empty() && object.len() == keys.len());
    let values = keys.iter().map(|key| object?.get(*key).filter(|value| is_scalar(value)).map(text_of));
    let values: Option<Vec<String>> = values.collect();
    values.filter(|values| !values.is_empty()).ok_or_else(|| {
        if keys.is_empty() {
            "a link is required: a number, or a string with one or both ends".to_owned()
        } else {
            format!("an object with the keys {} is required", keys.join(" and "))
        }
    })
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
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
