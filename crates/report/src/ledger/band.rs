//! Bands: criteria for measured values, and both as text.
//!
//! Random variation is covered by exact intervals at confidence [`LEVEL`]. The level is high because a ledger
//! has hundreds of checks and fixed seeds: a false miss would stay until somebody explains it.

use serde::{Deserialize, Deserializer, Serialize};
use wiremend_measure::interval::{self, Interval};

use crate::human;

/// Confidence level of all intervals.
pub const LEVEL: f64 = 0.9999;

/// A measured value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// A number.
    Value(#[serde(deserialize_with = "real")] f64),
    /// A number of events.
    Count(u64),
    /// A number of events in a number of trials.
    Share {
        /// Events.
        count: u64,
        /// Trials.
        of: u64,
    },
    /// Several numbers, in an order that the band names.
    Values(#[serde(deserialize_with = "reals")] Vec<f64>),
}

/// Values that meet a criterion.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Band {
    /// Not below.
    AtLeast(f64),
    /// Not above.
    AtMost(f64),
    /// Below.
    Below(f64),
    /// From the first to the second.
    Between(f64, f64),
    /// Within the relative distance `part` of `value`.
    Near {
        /// Centre.
        value: f64,
        /// Relative half width.
        part: f64,
    },
    /// The exact interval of a count or share, widened by `part`, contains `value`.
    Expected {
        /// Expected count or probability.
        value: f64,
        /// Relative error of the expectation itself.
        part: f64,
    },
    /// Values ascend; each may be smaller than the one before by the fraction `slack`.
    Ascending {
        /// Names of the values.
        names: Vec<String>,
        /// Tolerated fraction.
        slack: f64,
    },
}

/// Unit of a measured value and of its band.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A plain number or a probability: `0.0576`, `2.4e-5`.
    #[default]
    Number,
    /// A fraction, shown in per cent.
    Percent,
    /// Nanoseconds.
    TimeNs,
    /// Bytes.
    Bytes,
    /// Bits per second.
    RateBps,
    /// 1 for yes, 0 for no.
    Mark,
}

/// JSON has no infinity: it is written as null.
fn real<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

fn reals<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let values: Vec<Option<f64>> = Vec::deserialize(deserializer)?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::INFINITY)).collect())
}

impl Band {
    /// Whether a value lies in this band. A band for another kind of value does not hold it.
    pub fn holds(&self, measured: &Measured) -> bool {
        match (self, measured) {
            (Self::Expected { value, part }, measured) => {
                measured.interval().is_some_and(|Interval { low, high }| {
                    Interval { low: low * (1.0 - part), high: high * (1.0 + part) }.contains(*value)
                })
            }
            (Self::Ascending { names, slack }, Measured::Values(values)) => {
                names.len() == values.len()
                    && values.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - slack))
            }
            (Self::Ascending { .. }, _) | (_, Measured::Values(_)) => false,
            (band, measured) => band.holds_value(measured.value()),
        }
    }

    /// Whether a computed value lies in this band. For an expectation this is the band without the random
    /// variation of a count.
    pub fn holds_value(&self, measured: f64) -> bool {
        match *self {
            Self::AtLeast(bound) => measured >= bound,
            Self::AtMost(bound) => measured <= bound,
            Self::Below(bound) => measured < bound,
            Self::Between(low, high) => (low..=high).contains(&measured),
            Self::Near { value, part } | Self::Expected { value, part } => {
                (measured - value).abs() <= part * value.abs()
            }
            Self::Ascending { .. } => false,
        }
    }

    /// The criterion as text.
    pub fn text(&self, unit: Unit) -> String {
        match self {
            Self::AtLeast(bound) => format!("at least {}", unit.text(*bound)),
            Self::AtMost(bound) => format!("at most {}", unit.text(*bound)),
            Self::Below(bound) => format!("below {}", unit.text(*bound)),
            Self::Between(low, high) => format!("{} to {}", unit.text(*low), unit.text(*high)),
            Self::Near { value, part } => unit.text(*value) + &within(*part),
            Self::Expected { value, part } => shown(*value) + &within(*part),
            Self::Ascending { names, slack } => names.join(" ≤ ") + &within(*slack),
        }
    }
}

impl Measured {
    /// The value as one number: of a share its fraction, of several values the last.
    pub fn value(&self) -> f64 {
        match self {
            Self::Value(value) => *value,
            Self::Count(count) => *count as f64,
            Self::Share { of: 0, .. } => 0.0,
            Self::Share { count, of } => *count as f64 / *of as f64,
            Self::Values(values) => values.last().copied().unwrap_or(f64::NAN),
        }
    }

    /// The exact interval of a count (Poisson) or of a share (Clopper-Pearson).
    fn interval(&self) -> Option<Interval> {
        match *self {
            Self::Count(count) => Some(interval::poisson(count, LEVEL)),
            Self::Share { count, of } if of > 0 => Some(interval::clopper_pearson(count, of, LEVEL)),
            _ => None,
        }
    }

    /// The value as text, with its interval if the band uses it.
    pub fn text(&self, unit: Unit, band: &Band) -> String {
        let range = match (band, self.interval()) {
            (Band::Expected { .. }, Some(Interval { low, high })) => {
                Some(format!("{}…{}", shown(low), shown(high)))
            }
            _ => None,
        };
        match (self, range) {
            (Self::Value(value), _) => unit.text(*value),
            (Self::Count(count), None) => human::count(*count),
            (Self::Count(count), Some(range)) => format!("{} ({range})", human::count(*count)),
            (Self::Share { count, of }, range) => {
                let range = range.map_or_else(String::new, |range| format!("{range}; "));
                let (count, of) = (human::count(*count), human::count(*of));
                format!("{} ({range}{count} of {of})", shown(self.value()))
            }
            (Self::Values(values), _) => {
                values.iter().map(|value| unit.text(*value)).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

impl Unit {
    /// A number with this unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Number => shown(value),
            Self::Percent => format!("{} %", human::percent(value)),
            Self::TimeNs => human::time_ns(value),
            Self::Bytes => human::bytes(value),
            Self::RateBps => human::rate_bps(value),
            Self::Mark => (if value > 0.5 { "✓" } else { "×" }).to_owned(),
        }
    }
}

/// Three digits: `0.0576`, `1562`, `2.4e-5`.
pub fn shown(value: f64) -> String {
    let magnitude = value.abs();
    let trim = |text: String| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if (1e-3..1e5).contains(&magnitude) {
        let decimals = (2.0 - magnitude.log10().floor()).max(0.0) as usize;
        return trim(format!("{value:.decimals$}"));
    }
    let text = format!("{value:.2e}");
    let (digits, exponent) = text.split_once('e').expect("it has an exponent");
    format!("{}e{exponent}", trim(digits.to_owned()))
}

fn within(part: f64) -> String {
    if part == 0.0 { String::new() } else { format!(" within {} %", human::percent(part)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let texts = [0.0, 0.057_63, 1562.4, 2.4e-5, 1e-8, 123_456.0, 0.5, -3.25].map(shown);
        assert_eq!(texts, ["0", "0.0576", "1562", "2.4e-5", "1e-8", "1.23e5", "0.5", "-3.25"]);
    }

    #[test]
    fn bands_end_at_their_bounds() {
        let holds = |band: Band, value: f64| band.holds(&Measured::Value(value));
        assert!(holds(Band::AtLeast(0.9), 0.9) && !holds(Band::AtLeast(0.9), 0.89));
        assert!(holds(Band::AtMost(10.0), 10.0) && !holds(Band::AtMost(10.0), 11.0));
        assert!(holds(Band::Below(10.0), 9.0) && !holds(Band::Below(10.0), 10.0));
        assert!(holds(Band::Between(3.0, 4.0), 3.0) && !holds(Band::Between(3.0, 4.0), 5.0));
        let near = Band::Near { value: 1.0, part: 0.02 };
        assert!(holds(near.clone(), 1.01) && !holds(near.clone(), 0.97) && !holds(near, f64::NAN));
        assert_eq!(Band::AtLeast(0.9).text(Unit::Percent), "at least 90 %");
    }

    #[test]
    fn counts_and_shares_agree_within_their_exact_intervals() {
        let expected = |value, part| Band::Expected { value, part };
        let count = Measured::Count(1571);
        assert!(expected(1562.0, 0.0).holds(&count) && !expected(1300.0, 0.0).holds(&count));
        assert!(!expected(1400.0, 0.0).holds(&count) && expected(1400.0, 0.1).holds(&count));
        assert_eq!(count.text(Unit::Number, &expected(1562.0, 0.0)), "1571 (1421…1731)");
        assert_eq!(count.text(Unit::Number, &Band::Near { value: 0.0, part: 0.0 }), "1571");
        assert_eq!(expected(1400.0, 0.1).text(Unit::Number), "1400 within 10 %");
        let share = Measured::Share { count: 1_020, of: 1_000_000 };
        assert!(expected(1e-3, 0.0).holds(&share) && !expected(2e-3, 0.0).holds(&share));
        let nothing = Measured::Share { count: 0, of: 0 };
        assert!(!expected(0.5, 0.0).holds(&nothing), "without trials there is no agreement");
        assert!(!expected(0.5, 0.5).holds(&Measured::Value(0.5)), "a value has no interval");
    }

    #[test]
    fn orders_may_have_slack() {
        let order = |slack| Band::Ascending { names: vec!["All".to_owned(), "None".to_owned()], slack };
        let values = Measured::Values(vec![10.0, 9.9]);
        assert!(!order(0.0).holds(&values) && order(0.02).holds(&values));
        assert!(!order(0.0).holds(&Measured::Values(vec![1.0, 2.0, 3.0])));
        assert_eq!(order(0.02).text(Unit::Bytes), "All ≤ None within 2 %");
    }

    #[test]
    fn infinity_survives_json() {
        for measured in [Measured::Value(f64::INFINITY), Measured::Values(vec![1.0, f64::INFINITY])] {
            let text = serde_json::to_string(&measured).unwrap();
            assert_eq!(serde_json::from_str::<Measured>(&text).unwrap(), measured);
        }
    }
}
