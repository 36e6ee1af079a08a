//! Fabrics in CSV files.

use wiremend_units::Rate;

use super::builder::{ConstraintScope, GBPS_MAX, Item, NamedTierLink, TiersBuilder};
use super::error::{TiersError, TiersFault};
use super::file::TiersFile;
use super::network::Tiers;
use crate::csv_line::{Field, excerpt, fields, is_blank};

const SWITCH: &str = "switch,NAME,TIER[,POD]";
const LINK: &str = "link,SWITCH,PORT,SWITCH,PORT[,GBPS[,LAG[,CABLE]]]";
const LAG: &str = "lag,SWITCH,SWITCH,LAG,MIN_LINKS";
const TOR: &str = "tor,NAME,CONSTRAINT";
const POD: &str = "pod,NAME,CONSTRAINT";
/// Default rate of a link.
const RATE: Rate = Rate::gbps(100);
const LEVEL_MAX: u32 = 1000;
const MIN_LINKS_MAX: u32 = 1024;

/// Parses rows `switch,NAME,TIER[,POD]`, `link,SWITCH,PORT,SWITCH,PORT[,GBPS[,LAG[,CABLE]]]`,
/// `lag,SWITCH,SWITCH,LAG,MIN_LINKS`, `tor,NAME,CONSTRAINT` and `pod,NAME,CONSTRAINT`. Blank lines and lines
/// that start with `#` are ignored. An invalid row is an error.
///
/// Tiers are numbers, 0 for ToRs, or common names. Members of a LAG are separate links: each carries its
/// share and is taken out alone. Links of one CABLE (a breakout) are repaired together.
pub fn parse_csv(text: &str) -> Result<Tiers, TiersError> {
    read_csv(text)?.strict()
}

/// Parses the same rows, and skips invalid ones.
pub fn read_csv(text: &str) -> Result<TiersFile, TiersError> {
    let mut rows = Rows::default();
    let mut skipped = Vec::new();
    let text = text.trim_start_matches('\u{feff}');
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !is_blank(line)) {
        match rows.row(line, number) {
            Ok(()) => {}
            Err((_, fault @ TiersFault::TooMany { .. })) => return Err(TiersError::whole(fault)),
            Err((column, fault)) => skipped.push(TiersError { place: Some((number, column)), fault }),
        }
    }
    let Rows { builder, switches, min_links, constraints } = rows;
    TiersFile::build(builder, skipped, |item, fault| {
        let (lines, number, column) = match item {
            Item::Switch(number) => (&switches, number, 8),
            Item::MinLinks(number) => (&min_links, number, 5),
            Item::Constraint(number) => (&constraints, number, 5),
        };
        TiersError { place: Some((lines[number], column)), fault }
    })
}

/// A fabric under construction, with the lines of its parts.
#[derive(Default)]
struct Rows {
    builder: TiersBuilder,
    switches: Vec<u64>,
    min_links: Vec<u64>,
    constraints: Vec<u64>,
}

impl Rows {
    fn row(&mut self, line: &str, number: u64) -> Result<(), (usize, TiersFault)> {
        let values: Vec<Field<'_>> = fields(line).take(10).collect();
        let given = |index: usize| values.get(index).copied().filter(|field| !field.text.is_empty());
        let fail = |wanted| (1, TiersFault::Fields { count: values.len(), wanted });
        let at = |index: usize| move |fault| (values_column(line, index), fault);
        match values[0].text {
            "switch" => {
                let (Some(name), Some(tier), 3..=4) = (given(1), given(2), values.len()) else {
                    return Err(fail(SWITCH));
                };
                let level = level(tier.text).map_err(at(2))?;
                self.builder.switch(name.text, level, given(3).map(|pod| pod.text)).map_err(at(1))?;
                self.switches.push(number);
            }
            "link" => {
                let (Some(a), Some(b), 5..=8) = (given(1), given(3), values.len()) else {
                    return Err(fail(LINK));
                };
                let port = |index: usize, switch: Field<'_>| {
                    let no_port = || (values_column(line, index), TiersFault::NoPort(excerpt(switch.text)));
                    given(index).ok_or_else(no_port)
                };
                let ends = [(a.text, port(2, a)?.text), (b.text, port(4, b)?.text)];
                let rate = given(5).map_or(Ok(RATE), |field| gbps(field.text)).map_err(at(5))?;
                let (lag, cable) = (given(6).map(|lag| lag.text), given(7).map(|cable| cable.text));
                self.builder.link(&NamedTierLink { ends, rate, lag, cable }).map_err(at(1))?;
            }
            "lag" => {
                let (Some(a), Some(b), Some(lag), Some(min), 5) =
                    (given(1), given(2), given(3), given(4), values.len())
                else {
                    return Err(fail(LAG));
                };
                let min = min_links(min.text).map_err(at(4))?;
                self.builder.min_links([a.text, b.text], lag.text, min).map_err(at(1))?;
                self.min_links.push(number);
            }
            kind @ ("tor" | "pod") => {
                let is_tor = kind == "tor";
                let (Some(name), Some(share), 3) = (given(1), given(2), values.len()) else {
                    return Err(fail(if is_tor { TOR } else { POD }));
                };
                let scope = if is_tor { ConstraintScope::Tor } else { ConstraintScope::Pod };
                let valid = share.text.parse().ok().and_then(constraint);
                // Without a valid constraint nothing may be taken.
                self.builder.constraint(scope, name.text, valid.unwrap_or(1.0));
                self.constraints.push(number);
                if valid.is_none() {
                    return Err(at(2)(TiersFault::BadConstraint(excerpt(share.text))));
                }
            }
            kind => return Err((values[0].column, TiersFault::UnknownRow(excerpt(kind)))),
        }
        Ok(())
    }
}

/// Parses the minimum of links of a LAG.
fn min_links(text: &str) -> Result<u32, TiersFault> {
    let min = text.parse().ok().filter(|min| (1..=MIN_LINKS_MAX).contains(min));
    min.ok_or_else(|| TiersFault::BadMinLinks(excerpt(text)))
}

/// Checks a constraint.
pub(super) fn constraint(share: f64) -> Option<f64> {
    Some(share).filter(|share| *share > 0.0 && *share <= 1.0)
}

fn values_column(line: &str, index: usize) -> usize {
    fields(line).nth(index).map_or(1, |field| field.column)
}

/// Parses a tier.
pub(super) fn level(text: &str) -> Result<u32, TiersFault> {
    match text.to_ascii_lowercase().as_str() {
        "tor" | "leaf" | "edge" | "access" => Ok(0),
        "fabric" | "agg" | "aggregation" => Ok(1),
        "spine" | "core" => Ok(2),
        "superspine" | "super-spine" => Ok(3),
        number => {
            let digits = number.bytes().all(|byte| byte.is_ascii_digit());
            let level = number.parse().ok().filter(|level| digits && *level <= LEVEL_MAX);
            level.ok_or_else(|| TiersFault::BadTier(excerpt(text)))
        }
    }
}

fn gbps(text: &str) -> Result<Rate, TiersFault> {
    text.parse().ok().and_then(rate).ok_or_else(|| TiersFault::BadRate(excerpt(text)))
}

/// Converts a rate in Gb/s; `None` if it is out of range.
pub(super) fn rate(gbps: f64) -> Option<Rate> {
    let bits = (gbps * 1e9).round();
    (bits >= 1.0 && gbps <= GBPS_MAX as f64).then(|| Rate::from_bits_per_s(bits as u64))
}
