//! Fabrics in CSV files.

use wiremend_units::Rate;

use super::builder::{GBPS_MAX, NamedTierLink, TiersBuilder};
use super::error::{TiersError, TiersFault};
use super::network::Tiers;
use crate::csv_line::{Field, excerpt, fields, is_blank};

const SWITCH: &str = "switch,NAME,TIER[,POD]";
const LINK: &str = "link,SWITCH,PORT,SWITCH,PORT[,GBPS[,LAG[,CABLE]]]";
/// Default rate of a link.
const RATE: Rate = Rate::gbps(100);
const LEVEL_MAX: u32 = 1000;

/// Parses rows `switch,NAME,TIER[,POD]` and `link,SWITCH,PORT,SWITCH,PORT[,GBPS[,LAG[,CABLE]]]`. Blank
/// lines and lines that start with `#` are ignored.
///
/// Tiers are numbers, 0 for ToRs, or common names. Members of a LAG are separate links: each carries its
/// share and is taken out alone. Links of one CABLE (a breakout) are repaired together.
pub fn parse_csv(text: &str) -> Result<Tiers, TiersError> {
    let mut builder = TiersBuilder::default();
    let text = text.trim_start_matches('\u{feff}');
    for (line, number) in text.lines().zip(1..) {
        if !is_blank(line) {
            row(&mut builder, line)
                .map_err(|(column, fault)| TiersError { place: Some((number, column)), fault })?;
        }
    }
    builder.build().map_err(TiersError::whole)
}

fn row(builder: &mut TiersBuilder, line: &str) -> Result<(), (usize, TiersFault)> {
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
            builder.switch(name.text, level, given(3).map(|pod| pod.text)).map_err(at(1))?;
        }
        "link" => {
            let ends = (given(1), given(2), given(3), given(4));
            let ((Some(a), Some(a_port), Some(b), Some(b_port)), 5..=8) = (ends, values.len()) else {
                return Err(fail(LINK));
            };
            let rate = given(5).map_or(Ok(RATE), |field| gbps(field.text)).map_err(at(5))?;
            let cable = given(7).map(|cable| cable.text);
            let ends = [(a.text, a_port.text), (b.text, b_port.text)];
            builder.link(&NamedTierLink { ends, rate, cable }).map_err(at(1))?;
        }
        kind => return Err((values[0].column, TiersFault::UnknownRow(excerpt(kind)))),
    }
    Ok(())
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
