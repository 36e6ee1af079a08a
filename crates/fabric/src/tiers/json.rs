//! Parses fabrics from JSON files.

use serde::Deserialize;

use super::builder::{NamedTierLink, TiersBuilder};
use super::csv::{level, rate};
use super::error::{TiersError, TiersFault};
use super::network::Tiers;

/// Parses `{"switches": [{"name", "tier", "pod"}], "links": [{"a": {"switch", "port"}, "b": …, "gbps",
/// "lag", "cable"}]}`. The fields have the same meaning as in [CSV](super::parse_csv).
pub fn parse_json(text: &str) -> Result<Tiers, TiersError> {
    let file: File = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what).to_owned();
        let place = (error.line() > 0).then(|| (error.line() as u64, error.column().max(1)));
        TiersError { place, fault: TiersFault::Json(what) }
    })?;
    let named = |what: &str, number: usize, fault: TiersFault| {
        TiersError::whole(TiersFault::Json(format!("{what}[{number}]: {fault}")))
    };
    let mut builder = TiersBuilder::default();
    for (number, switch) in file.switches.iter().enumerate() {
        let added =
            tier(&switch.tier).and_then(|level| builder.switch(&switch.name, level, switch.pod.as_deref()));
        added.map_err(|fault| named("switches", number, fault))?;
    }
    for (number, link) in file.links.iter().enumerate() {
        let gbps = link.gbps.unwrap_or(100.0);
        let added = rate(gbps).ok_or_else(|| TiersFault::BadRate(gbps.to_string())).and_then(|rate| {
            let ends = [(&*link.a.switch, &*link.a.port), (&*link.b.switch, &*link.b.port)];
            builder.link(&NamedTierLink { ends, rate, cable: link.cable.as_deref() })
        });
        added.map_err(|fault| named("links", number, fault))?;
    }
    builder.build().map_err(TiersError::whole)
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
    switches: Vec<Switch>,
    links: Vec<Link>,
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
    #[serde(rename = "lag")]
    _lag: Option<String>,
    cable: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    switch: String,
    port: String,
}
