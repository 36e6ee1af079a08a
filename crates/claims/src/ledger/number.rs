//! Criteria for measured numbers.
//!
//! Each method returns a [`Test`]: the criterion and the measured value as text, and whether the criterion is
//! met.
//!
//! Random variation is covered by exact intervals at confidence [`LEVEL`]. The level is high because the
//! ledger has hundreds of checks and fixed seeds: a false miss would stay until somebody explains it.

use wiremend_measure::interval::{self, Interval};
use wiremend_report::human;

/// Confidence level of all intervals.
pub(crate) const LEVEL: f64 = 0.9999;

/// Result of a check.
pub(crate) struct Test {
    pub(crate) wanted: String,
    pub(crate) measured: String,
    pub(crate) holds: bool,
}

/// A value and its text format.
#[derive(Clone, Copy)]
pub(crate) struct Number {
    value: f64,
    show: fn(f64) -> String,
}

/// Number of events.
#[derive(Clone, Copy)]
pub(crate) struct Count(u64);

/// Number of events in a number of trials.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    count: u64,
    of: u64,
}

/// Mean, minimum and maximum.
pub(crate) fn spread(all: impl Iterator<Item = f64> + Clone) -> [f64; 3] {
    let mean = all.clone().sum::<f64>() / all.clone().count() as f64;
    [mean, all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max)]
}

/// A time in nanoseconds.
pub(crate) fn time_ns(value: f64) -> Number {
    Number { value, show: human::time_ns }
}

/// Bytes.
pub(crate) fn bytes(value: f64) -> Number {
    Number { value, show: human::bytes }
}

/// Bits per second.
pub(crate) fn rate_bps(value: f64) -> Number {
    Number { value, show: human::rate_bps }
}

/// A fraction, shown in per cent.
pub(crate) fn fraction(value: f64) -> Number {
    Number { value, show: |value| format!("{} %", human::percent(value)) }
}

/// A plain number or a probability: `0.0576`, `2.4e-5`.
pub(crate) fn number(value: f64) -> Number {
    Number { value, show: shown }
}

/// A number of events.
pub(crate) fn count(count: u64) -> Count {
    Count(count)
}

/// A number of events in a number of trials.
pub(crate) fn share(count: u64, of: u64) -> Share {
    assert!(count <= of, "there are no more events than trials");
    Share { count, of }
}

/// Checks that the numbers ascend. Each may be smaller than the one before by the fraction `slack`.
pub(crate) fn ascending(numbers: &[(&str, Number)], slack: f64) -> Test {
    let names: Vec<_> = numbers.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = numbers.iter().map(|(_, number)| number.text()).collect();
    Test {
        wanted: names.join(" ≤ ") + &within(slack),
        measured: values.join(", "),
        holds: numbers.windows(2).all(|pair| pair[1].1.value >= pair[0].1.value * (1.0 - slack)),
    }
}

impl Number {
    /// Not below `bound`.
    pub(crate) fn at_least(self, bound: f64) -> Test {
        self.test(format!("at least {}", (self.show)(bound)), self.value >= bound)
    }

    /// Not above `bound`.
    pub(crate) fn at_most(self, bound: f64) -> Test {
        self.test(format!("at most {}", (self.show)(bound)), self.value <= bound)
    }

    /// Below `bound`.
    pub(crate) fn below(self, bound: f64) -> Test {
        self.test(format!("below {}", (self.show)(bound)), self.value < bound)
    }

    /// From `low` to `high`.
    pub(crate) fn between(self, low: f64, high: f64) -> Test {
        let wanted = format!("{} to {}", (self.show)(low), (self.show)(high));
        self.test(wanted, (low..=high).contains(&self.value))
    }

    /// Within the relative distance `part` of `wanted`.
    pub(crate) fn near(self, wanted: f64, part: f64) -> Test {
        let off = (self.value - wanted).abs();
        self.test((self.show)(wanted) + &within(part), off <= part * wanted.abs())
    }

    /// The value as text.
    pub(crate) fn text(self) -> String {
        (self.show)(self.value)
    }

    fn test(self, wanted: String, holds: bool) -> Test {
        Test { wanted, measured: self.text(), holds }
    }
}

impl Count {
    /// Equal to `wanted`.
    pub(crate) fn is(self, wanted: u64) -> Test {
        Test { wanted: human::count(wanted), measured: human::count(self.0), holds: self.0 == wanted }
    }

    /// Consistent with `expectation` for rare independent events: the Poisson interval of the count contains
    /// it.
    pub(crate) fn expected(self, expectation: f64) -> Test {
        let interval = interval::poisson(self.0, LEVEL);
        Test {
            wanted: shown(expectation),
            measured: format!("{} ({})", human::count(self.0), range(interval)),
            holds: interval.contains(expectation),
        }
    }
}

impl Count {
    /// Like [`Self::expected`] for an approximate expectation, whose relative error may be `off`.
    pub(crate) fn about(self, expectation: f64, off: f64) -> Test {
        let Interval { low, high } = interval::poisson(self.0, LEVEL);
        let interval = Interval { low: low * (1.0 - off), high: high * (1.0 + off) };
        let test = self.expected(expectation);
        Test { wanted: test.wanted + &within(off), holds: interval.contains(expectation), ..test }
    }
}

impl Share {
    /// Consistent with `probability`: the Clopper-Pearson interval of the share contains it.
    pub(crate) fn expected(self, probability: f64) -> Test {
        let interval = interval::clopper_pearson(self.count, self.of, LEVEL);
        Test {
            wanted: shown(probability),
            measured: format!(
                "{} ({}; {} of {})",
                shown(self.value()),
                range(interval),
                human::count(self.count),
                human::count(self.of)
            ),
            holds: self.of > 0 && interval.contains(probability),
        }
    }

    /// The fraction.
    pub(crate) fn value(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }
}

/// Three digits: `0.0576`, `1562`, `2.4e-5`.
pub(crate) fn shown(value: f64) -> String {
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

fn range(interval: Interval) -> String {
    format!("{}…{}", shown(interval.low), shown(interval.high))
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
    fn bounds_hold_on_their_own_side() {
        assert!(fraction(0.9).at_least(0.9).holds && !fraction(0.89).at_least(0.9).holds);
        assert!(bytes(10.0).at_most(10.0).holds && !bytes(11.0).at_most(10.0).holds);
        assert!(!time_ns(10.0).below(10.0).holds && rate_bps(9.0).below(10.0).holds);
        assert!(number(3.0).between(3.0, 4.0).holds && !number(5.0).between(3.0, 4.0).holds);
        assert!(number(1.01).near(1.0, 0.02).holds && !number(0.97).near(1.0, 0.02).holds);
        assert_eq!(fraction(0.5).at_least(0.9).wanted, "at least 90 %");
    }

    #[test]
    fn counts_agree_within_the_poisson_interval() {
        assert!(count(0).expected(0.095).holds);
        assert!(count(1571).expected(1562.0).holds);
        assert!(!count(1571).expected(1300.0).holds);
        assert!(!count(0).expected(12.2).holds);
        assert_eq!(count(1571).expected(1562.0).measured, "1571 (1421…1731)");
        assert!(count(0).is(0).holds && !count(1).is(0).holds);
        assert!(!count(1571).expected(1400.0).holds && count(1571).about(1400.0, 0.1).holds);
        assert_eq!(count(1571).about(1400.0, 0.1).wanted, "1400 within 10 %");
    }

    #[test]
    fn shares_agree_within_the_clopper_pearson_interval() {
        assert!(share(1_020, 1_000_000).expected(1e-3).holds);
        assert!(!share(1_020, 1_000_000).expected(2e-3).holds);
        assert!(!share(0, 0).expected(0.5).holds, "without trials there is no agreement");
    }

    #[test]
    fn orders_may_have_slack() {
        let numbers = [("All", bytes(10.0)), ("None", bytes(9.9))];
        assert!(!ascending(&numbers, 0.0).holds);
        assert!(ascending(&numbers, 0.02).holds);
        assert_eq!(ascending(&numbers, 0.02).wanted, "All ≤ None within 2 %");
    }
}
