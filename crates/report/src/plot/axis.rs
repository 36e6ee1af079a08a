//! Axes: from values to positions.

use super::ticks::{self, Tick};
use crate::human;

/// One of the two axes of a [`Plot`](super::Plot).
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Label of the axis.
    pub label: String,
    /// Scale of the axis.
    pub scale: Scale,
    /// Unit of the tick labels.
    pub unit: Unit,
    /// Fixed ends, if they do not follow from the values.
    pub range: Option<(f64, f64)>,
}

/// Mapping from values to positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal steps are equally far apart.
    Linear,
    /// Equal factors are equally far apart. Values that are not positive are left out.
    Log,
    /// For fractions: equal factors of 1 − value are equally far apart, so 90 %, 99 % and 99.9 % have the
    /// same spacing.
    Tail,
}

/// Format of tick labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds, shown in a suitable unit.
    TimeNs,
    /// Bytes.
    Bytes,
    /// Bits per second.
    RateBps,
    /// A fraction, shown in percent.
    Percent,
    /// A plain number; powers of ten on a logarithmic axis.
    Number,
}

impl Axis {
    /// Creates an axis whose ends follow from the values.
    pub fn new(label: &str, scale: Scale, unit: Unit) -> Self {
        Self { label: label.to_owned(), scale, unit, range: None }
    }

    /// Sets fixed ends.
    pub fn with_range(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }
}

impl Unit {
    /// Formats a value as a tick label.
    pub(crate) fn write(self, value: f64, scale: Scale) -> String {
        match self {
            Self::TimeNs => human::time_ns(value),
            Self::Bytes => human::bytes(value),
            Self::RateBps => human::rate_bps(value),
            Self::Percent => format!("{} %", ticks::plain(value * 100.0)),
            Self::Number if scale == Scale::Log => ticks::power_of_ten(value),
            Self::Number => ticks::plain(value),
        }
    }
}

/// An axis with known ends: positions run from 0 to 1.
pub(crate) struct FittedAxis<'a> {
    axis: &'a Axis,
    low: f64,
    high: f64,
}

impl<'a> FittedAxis<'a> {
    /// Fits the axis to the values, with round ends.
    pub(crate) fn new(axis: &'a Axis, values: impl Iterator<Item = f64>) -> Self {
        let usable = values.filter(|&value| usable(axis.scale, value));
        let ends = usable.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        let (low, high) = match axis.range {
            Some(range) => range,
            None => ticks::round_ends(axis.scale, ends),
        };
        Self { axis, low, high }
    }

    /// Position of `value`: 0 at the low end, 1 at the high end; `None` if the scale cannot show it.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let value = if self.axis.scale == Scale::Tail { value.min(self.high) } else { value };
        let along = |value: f64| match self.axis.scale {
            Scale::Linear => value,
            Scale::Log => value.log10(),
            Scale::Tail => -(1.0 - value).log10(),
        };
        let (low, high) = (along(self.low), along(self.high));
        usable(self.axis.scale, value).then(|| ((along(value) - low) / (high - low)).clamp(0.0, 1.0))
    }

    /// Ticks of the axis, about `wanted` of them with labels.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        let mut ticks = ticks::between(self.axis.scale, self.low, self.high, wanted);
        for tick in &mut ticks {
            if tick.is_major {
                tick.label = self.axis.unit.write(tick.value, self.axis.scale);
            }
        }
        ticks
    }

    pub(crate) const fn low(&self) -> f64 {
        self.low
    }
}

/// Value and label of each labelled tick of an axis with fixed ends.
pub(crate) fn fitted_ticks(axis: &Axis, wanted: usize) -> Vec<(f64, String)> {
    let ticks = FittedAxis::new(axis, std::iter::empty()).ticks(wanted).into_iter();
    ticks.filter(|tick| tick.is_major).map(|tick| (tick.value, tick.label)).collect()
}

fn usable(scale: Scale, value: f64) -> bool {
    value.is_finite()
        && match scale {
            Scale::Linear => true,
            Scale::Log => value > 0.0,
            Scale::Tail => (0.0..=1.0).contains(&value),
        }
}
