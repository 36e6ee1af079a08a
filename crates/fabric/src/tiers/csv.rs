//! A fabric from lines of values.

use wiremend_units::Rate;

use super::error::{TiersError, TiersFault};
use super::network::Tiers;
use super::parts::{GBPS_MAX, NamedTierLink, Parts};
use crate::row::{Field, fields, is_blank, shown};

const SWITCH: &str = "switch,NAME,TIER[,POD]";
const LINK: &str = "link,SWITCH,PORT,SWITCH,PORT[,GBPS[,LAG[,CABLE]]]";
/// What a link has that says nothing of its rate.
const RATE: Rate = Rate::gbps(100);
const LEVEL_MAX: u32 = 1000;

/// Reads a fabric: rows `switch,NAME,TIER[,POD]` and `link,SWITCH,PORT,SWITCH,PORT[,GBPS[,LAG[,CABLE]]]`. Blank lines and
/// those that start with `#` say nothing.
///
/// Tiers are numbers, 0 for ToRs, or the usual names. Members of a LAG are links like others, since each carries its part and
/// is taken out alone. Links of one CABLE (a breakout) are repaired together.
pub fn parse_csv(text: &str) -> Result<Tiers, TiersError> {
    let mut parts = Parts::default();
    let text = text.trim_start_matches('\u{feff}');
    for (line, number) in text.lines().zip(1..) {
        if !is_blank(line) {
            row(&mut parts, line)
                .map_err(|(column, fault)| TiersError { place: Some((number, column)), fault })?;
        }
    }
    parts.build().map_err(TiersError::whole)
}

fn row(parts: &mut Parts, line: &str) -> Result<(), (usize, TiersFault)> {
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
            parts.switch(name.text, level, given(3).map(|pod| pod.text)).map_err(at(1))?;
        }
        "link" => {
            let ends = (given(1), given(2), given(3), given(4));
            let ((Some(a), Some(a_port), Some(b), Some(b_port)), 5..=8) = (ends, values.len()) else {
                return Err(fail(LINK));
            };
            let rate = given(5).map_or(Ok(RATE), |field| gbps(field.text)).map_err(at(5))?;
            let cable = given(7).map(|cable| cable.text);
            let ends = [(a.text, a_port.text), (b.text, b_port.text)];
            parts.link(&NamedTierLink { ends, rate, cable }).map_err(at(1))?;
        }
        kind => return Err((values[0].column, TiersFault::UnknownRow(shown(kind)))),
    }
    Ok(())
}

fn values_column(line: &str, index: usize) -> usize {
    fields(line).nth(index).map_or(1, |field| field.column)
}

/// Where a tier stands.
pub(super) fn level(text: &str) -> Result<u32, TiersFault> {
    match text.to_ascii_lowercase().as_str() {
        "tor" | "leaf" | "edge" | "access" => Ok(0),
        "fabric" | "agg" | "aggregation" => Ok(1),
        "spine" | "core" => Ok(2),
        "superspine" | "super-spine" => Ok(3),
        number => {
            let digits = number.bytes().all(|byte| byte.is_ascii_digit());
            let level = number.parse().ok().filter(|level| digits && *level <= LEVEL_MAX);
            level.ok_or_else(|| TiersFault::BadTier(shown(text)))
        }
    }
}

fn gbps(text: &str) -> Result<Rate, TiersFault> {
    text.parse().ok().and_then(rate).ok_or_else(|| TiersFault::BadRate(shown(text)))
}

/// A rate in Gb/s, if it is one.
pub(super) fn rate(gbps: f64) -> Option<Rate> {
    let bits = (gbps * 1e9).round();
    (bits >= 1.0 && gbps <= GBPS_MAX as f64).then(|| Rate::from_bits_per_s(bits as u64))
}
