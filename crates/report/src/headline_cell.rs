//! Headline numbers as text, with their intervals.

use wiremend_measure::{Headline, VariantSummary};

use crate::comparison::missing;
use crate::human;

/// How a number is written: alone, and with the longer side of its interval.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) alone: fn(f64) -> String,
    with_side: fn(f64, f64) -> String,
}

pub(crate) const TIME: Unit = Unit { alone: human::time_ns, with_side: human::time_ns_interval };
pub(crate) const BYTES: Unit = Unit { alone: human::bytes, with_side: human::bytes_interval };
pub(crate) const RATE: Unit = Unit { alone: human::rate_bps, with_side: human::rate_bps_interval };
pub(crate) const FACTOR: Unit = Unit { alone: human::factor, with_side: human::factor_interval };
pub(crate) const COUNT: Unit =
    Unit { alone: |count| human::count(count.round() as u64), with_side: human::count_interval };
pub(crate) const PERCENT: Unit =
    Unit { alone: |fraction| format!("{} %", human::percent(fraction)), with_side: human::percent_interval };

impl Unit {
    /// A headline number of a variant: with its interval over seeds, or alone if there is none.
    pub(crate) fn cell(&self, variant: &VariantSummary, headline: Headline) -> String {
        if let Some(over) = variant.over_seeds.get(&headline) {
            return (self.with_side)(over.mean, over.longer_side());
        }
        variant.pooled(headline).map_or_else(missing, self.alone)
    }
}
