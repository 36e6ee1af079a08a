//! Parses fabrics from JSON files.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::builder::{ConstraintScope, Item, NamedTierLink, TiersBuilder};
use super::csv::{constraint, level, rate};
use super::error::{TiersError, TiersFault};
use super::file::TiersFile;
use super::network::Tiers;

/// Parses `{"switches": [{"name", "tier", "pod"}], "links": [{"a": {"switch", "port"}, "b": …, "gbps",
/// "lag", "cable"}], "lags": [{"a", "b", "lag", "min_links"}], "tors": [{"name", "constraint"}], "pods":
/// [{"name", "constraint"}]}`. The fields have the same meaning as in [CSV](super::parse_csv). An invalid
/// item is an error.
pub fn parse_json(text: &str) -> Result<Tiers, TiersError> {
    read_json(text)?.strict()
}

/// Parses the same fields, and skips invalid items.
pub fn read_json(text: &str) -> Result<TiersFile, TiersError> {
    let file: File = serde_json::from_str(text).map_err(|error| {
        let place = (error.line() > 0).then(|| (error.line() as u64, error.column().max(1)));
        TiersError { place, fault: TiersFault::Json(without_place(&error)) }
    })?;
    let mut items = Items { builder: TiersBuilder::default(), skipped: Vec::new() };
    let switches = items.add("switches", file.switches, |builder, switch: Switch| {
        builder.switch(&switch.name, tier(&switch.tier)?, switch.pod.as_deref()).map(|_| ())
    })?;
    items.add("links", file.links, |builder, link: Link| {
        let gbps = link.gbps.unwrap_or(100.0);
        let rate = rate(gbps).ok_or_else(|| TiersFault::BadRate(gbps.to_string()))?;
        let ends = [(&*link.a.switch, link.a.port()?), (&*link.b.switch, link.b.port()?)];
        let (lag, cable) = (link.lag.as_deref(), link.cable.as_deref());
        builder.link(&NamedTierLink { ends, rate, lag, cable }).map(|_| ())
    })?;
    let min_links = items.add("lags", file.lags, |builder, lag: Lag| {
        builder.min_links([&lag.a, &lag.b], &lag.name, lag.min_links)
    })?;
    let add = |builder: &mut TiersBuilder, scope, item: Constraint| -> Result<(), TiersFault> {
        let valid = constraint(item.constraint);
        // Without a valid constraint nothing may be taken.
        builder.constraint(scope, &item.name, valid.unwrap_or(1.0));
        if valid.is_none() {
            return Err(TiersFault::BadConstraint(item.constraint.to_string()));
        }
        Ok(())
    };
    let lists = [("tors", &file.tors), ("pods", &file.pods)];
    let constraints: Vec<(&str, usize)> = lists
        .into_iter()
        .flat_map(|(list, items)| items.iter().enumerate().map(move |(number, item)| (list, number, item)))
        .filter(|(.., item)| matches!(item, Checked::Valid(_)))
        .map(|(list, number, _)| (list, number))
        .collect();
    items.add("tors", file.tors, |builder, item| add(builder, ConstraintScope::Tor, item))?;
    items.add("pods", file.pods, |builder, item| add(builder, ConstraintScope::Pod, item))?;
    TiersFile::build(items.builder, items.skipped, |item, fault| match item {
        Item::Switch(number) => named("switches", switches[number], &fault),
        Item::MinLinks(number) => named("lags", min_links[number], &fault),
        Item::Constraint(number) => {
            let (list, item) = constraints[number];
            named(list, item, &fault)
        }
    })
}

/// A fabric under construction.
struct Items {
    builder: TiersBuilder,
    skipped: Vec<TiersError>,
}

impl Items {
    /// Adds the items of a list. Returns the positions of those that are valid.
    fn add<T: DeserializeOwned>(
        &mut self,
        list: &str,
        items: Vec<Checked<T>>,
        mut add: impl FnMut(&mut TiersBuilder, T) -> Result<(), TiersFault>,
    ) -> Result<Vec<usize>, TiersError> {
        let mut valid = Vec::new();
        for (number, item) in items.into_iter().enumerate() {
            let added = match item {
                Checked::Valid(item) => add(&mut self.builder, item),
                Checked::Invalid(value) => Err(TiersFault::Json(
                    serde_json::from_value::<T>(value)
                        .err()
                        .map_or_else(String::new, |why| without_place(&why)),
                )),
            };
            match added {
                Ok(()) => valid.push(number),
                Err(fault @ TiersFault::TooMany { .. }) => return Err(named(list, number, &fault)),
                Err(fault) => self.skipped.push(named(list, number, &fault)),
            }
        }
        Ok(valid)
    }
}

fn named(list: &str, number: usize, fault: &TiersFault) -> TiersError {
    let what = match fault {
        TiersFault::Json(what) => format!("{list}[{number}]: {what}"),
        fault => format!("{list}[{number}]: {fault}"),
    };
    TiersError::whole(TiersFault::Item(what))
}

fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what).to_owned()
}

fn tier(tier: &Tier) -> Result<u32, TiersFault> {
    match tier {
        Tier::Number(number) => level(&number.to_string()),
        Tier::Name(name) => level(name),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    switches: Vec<Checked<Switch>>,
    links: Vec<Checked<Link>>,
    #[serde(default = "Vec::new")]
    lags: Vec<Checked<Lag>>,
    #[serde(default = "Vec::new")]
    tors: Vec<Checked<Constraint>>,
    #[serde(default = "Vec::new")]
    pods: Vec<Checked<Constraint>>,
}

/// An item of a list; an invalid one does not stop the others.
#[derive(Deserialize)]
#[serde(untagged)]
enum Checked<T> {
    Valid(T),
    Invalid(serde_json::Value),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    name: String,
    tier: Tier,
    pod: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Tier {
    Number(u32),
    Name(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    a: End,
    b: End,
    gbps: Option<f64>,
    lag: Option<String>,
    cable: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    switch: String,
    port: Option<String>,
}

impl End {
    fn port(&self) -> Result<&str, TiersFault> {
        self.port.as_deref().ok_or_else(|| TiersFault::NoPort(self.switch.clone()))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lag {
    a: String,
    b: String,
    #[serde(rename = "lag")]
    name: String,
    min_links: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Constraint {
    name: String,
    constraint: f64,
}
