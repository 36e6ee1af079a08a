//! Conditions that leave cells out.

use serde::Deserialize;
use toml::{Spanned, Value};

use super::axis::{AxisValue, Flaw};

/// A condition on the value of one axis.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// The value is one of these.
    OneOf(Vec<AxisValue>),
    /// The value is a number within bounds.
    Within(Bounds),
}

/// Bounds of a number.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    above: Option<f64>,
    at_least: Option<f64>,
    below: Option<f64>,
    at_most: Option<f64>,
}

impl Condition {
    /// Returns whether a value satisfies the condition.
    pub fn holds(&self, value: &AxisValue) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|other| other.is_same(value)),
            Self::Within(bounds) => value.number().is_some_and(|number| bounds.contain(number)),
        }
    }

    /// Reads a condition as written.
    pub(super) fn read(written: &Spanned<Value>) -> Result<Self, Flaw> {
        let at = written.span().start;
        let refused = || {
            let why = "expected a value, a list of values, or bounds such as { above = 1e-3, at_most = 0.1 }";
            (at, why.to_owned())
        };
        match written.get_ref() {
            Value::Table(table) => {
                let bounds: Bounds = table.clone().try_into().map_err(|_| refused())?;
                if bounds == Bounds::default() { Err(refused()) } else { Ok(Self::Within(bounds)) }
            }
            Value::Array(values) => {
                let values: Option<Vec<_>> = values.iter().map(AxisValue::from_toml).collect();
                values.filter(|values| !values.is_empty()).map(Self::OneOf).ok_or_else(refused)
            }
            single => AxisValue::from_toml(single).map(|value| Self::OneOf(vec![value])).ok_or_else(refused),
        }
    }
}

impl Bounds {
    fn contain(&self, number: f64) -> bool {
        self.above.is_none_or(|bound| number > bound)
            && self.at_least.is_none_or(|bound| number >= bound)
            && self.below.is_none_or(|bound| number < bound)
            && self.at_most.is_none_or(|bound| number <= bound)
    }
}
