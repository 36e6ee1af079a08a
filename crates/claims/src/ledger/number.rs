//! Measured values, and the bands in which they have to be.

use std::fmt;
use std::ops::{Div, Sub};

use wiremend_report::human;
use wiremend_report::ledger::{Band, Measured, Unit};

pub(crate) use wiremend_report::ledger::{LEVEL, shown};

/// A measured value and its band.
pub(crate) struct Test {
    pub(crate) unit: Unit,
    pub(crate) band: Band,
    pub(crate) measured: Measured,
}

impl Test {
    /// Whether the value is in the band.
    pub(crate) fn holds(&self) -> bool {
        self.band.holds(&self.measured)
    }
}

/// A value and its unit.
#[derive(Clone, Copy)]
pub(crate) struct Number {
    pub(crate) value: f64,
    unit: Unit,
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
    Number { value, unit: Unit::TimeNs }
}

/// Bytes.
pub(crate) fn bytes(value: f64) -> Number {
    Number { value, unit: Unit::Bytes }
}

/// Bits per second.
pub(crate) fn rate_bps(value: f64) -> Number {
    Number { value, unit: Unit::RateBps }
}

/// A fraction, shown in per cent.
pub(crate) fn fraction(value: f64) -> Number {
    Number { value, unit: Unit::Percent }
}

/// A plain number or a probability: `0.0576`, `2.4e-5`.
pub(crate) fn number(value: f64) -> Number {
    Number { value, unit: Unit::Number }
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

/// Whether something is so.
pub(crate) fn mark(is_so: bool) -> Number {
    Number { value: f64::from(u8::from(is_so)), unit: Unit::Mark }
}

/// Checks that the numbers ascend. Each may be smaller than the one before by the fraction `slack`.
pub(crate) fn ascending(numbers: &[(&str, Number)], slack: f64) -> Test {
    Test {
        unit: numbers.first().map_or(Unit::Number, |(_, number)| number.unit),
        band: Band::Ascending { names: numbers.iter().map(|(name, _)| (*name).to_owned()).collect(), slack },
        measured: Measured::Values(numbers.iter().map(|(_, number)| number.value).collect()),
    }
}

/// The ratio of two values, without a unit.
impl Div for Number {
    type Output = Self;

    fn div(self, by: Self) -> Self {
        number(self.value / by.value)
    }
}

impl Sub for Number {
    type Output = Self;

    fn sub(self, less: Self) -> Self {
        Self { value: self.value - less.value, ..self }
    }
}

/// As in tables.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.unit.text(self.value))
    }
}

/// As in tables.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&human::count(self.0))
    }
}

impl Number {
    /// Not below `bound`.
    pub(crate) fn at_least(self, bound: f64) -> Test {
        self.test(Band::AtLeast(bound))
    }

    /// Not above `bound`.
    pub(crate) fn at_most(self, bound: f64) -> Test {
        self.test(Band::AtMost(bound))
    }

    /// Below `bound`.
    pub(crate) fn below(self, bound: f64) -> Test {
        self.test(Band::Below(bound))
    }

    /// From `low` to `high`.
    pub(crate) fn between(self, low: f64, high: f64) -> Test {
        self.test(Band::Between(low, high))
    }

    /// Within the relative distance `part` of `value`.
    pub(crate) fn near(self, value: f64, part: f64) -> Test {
        self.test(Band::Near { value, part })
    }

    fn test(self, band: Band) -> Test {
        Test { unit: self.unit, band, measured: Measured::Value(self.value) }
    }
}

impl Count {
    /// The number.
    pub(crate) fn value(self) -> f64 {
        self.0 as f64
    }

    /// The number divided by another.
    pub(crate) fn per(self, of: Self) -> Number {
        number(self.value() / of.value().max(1.0))
    }

    /// Equal to `wanted`.
    pub(crate) fn is(self, wanted: u64) -> Test {
        self.test(Band::Near { value: wanted as f64, part: 0.0 })
    }

    /// Consistent with `expectation` for rare independent events: the Poisson interval of the count contains
    /// it.
    pub(crate) fn expected(self, expectation: f64) -> Test {
        self.about(expectation, 0.0)
    }

    /// Like [`Self::expected`] for an approximate expectation, whose relative error may be `part`.
    pub(crate) fn about(self, value: f64, part: f64) -> Test {
        self.test(Band::Expected { value, part })
    }

    fn test(self, band: Band) -> Test {
        Test { unit: Unit::Number, band, measured: Measured::Count(self.0) }
    }
}

impl Share {
    /// Consistent with `probability`: the Clopper-Pearson interval of the share contains it.
    pub(crate) fn expected(self, probability: f64) -> Test {
        let band = Band::Expected { value: probability, part: 0.0 };
        Test { unit: Unit::Number, band, measured: Measured::Share { count: self.count, of: self.of } }
    }

    /// The fraction.
    pub(crate) fn value(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }
}
