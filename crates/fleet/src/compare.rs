//! Comparison of two policies over time, and distributions of its values.

use crate::metrics::FabricSample;
use crate::trace_time::{TimeWindow, TraceTime};

/// Gain of one policy over another during an interval in which both states stay constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GainInterval {
    /// Start of the interval.
    pub at: TraceTime,
    /// Length of the interval in microseconds.
    pub lasts_us: u64,
    /// Penalty of the base policy divided by the penalty of the other one.
    pub gain: f64,
    /// Share of its capacity that the worst pod loses compared with the base policy.
    pub capacity_lost: f64,
}

/// Compares the recorded states of two policies over a window.
pub fn compare_policies(
    base: &[FabricSample],
    other: &[FabricSample],
    window: TimeWindow,
) -> Vec<GainInterval> {
    let mut changes: Vec<GainInterval> = Vec::new();
    let (mut b, mut o) = (0, 0);
    while b < base.len() && o < other.len() {
        let at = base[b].at.max(other[o].at);
        let next = |samples: &[FabricSample], place: usize| {
            samples.get(place + 1).map_or(TraceTime::MAX, |next| next.at)
        };
        let (base_next, other_next) = (next(base, b), next(other, o));
        let until = base_next.min(other_next);
        let lasts_us = window.overlap_us(at, until);
        if lasts_us > 0 || window.contains(at) {
            let (was, is) = (base[b], other[o]);
            changes.push(GainInterval {
                at,
                lasts_us,
                gain: if is.penalty > 0.0 { was.penalty / is.penalty } else { 1.0 },
                capacity_lost: was.least_capacity - is.least_capacity,
            });
        }
        if until == TraceTime::MAX {
            break;
        }
        b += usize::from(base_next == until);
        o += usize::from(other_next == until);
    }
    changes
}

/// Returns the cumulative distribution of weighted values: up to `points` values, ascending, each with the
/// share of the weight up to it.
pub fn distribution(values: impl Iterator<Item = (f64, u64)>, points: usize) -> Vec<(f64, f64)> {
    let mut values: Vec<(f64, u64)> = values.filter(|(_, weight)| *weight > 0).collect();
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let whole: u64 = values.iter().map(|(_, weight)| weight).sum();
    let mut curve: Vec<(f64, f64)> = Vec::new();
    let mut sum = 0;
    let step = whole as f64 / points.max(1) as f64;
    for (place, (value, weight)) in values.iter().enumerate() {
        sum += weight;
        let is_last_of_value = values.get(place + 1).is_none_or(|next| next.0 > *value);
        let part = sum as f64 / whole as f64;
        let due = curve.last().is_none_or(|(_, last)| (part - last) * whole as f64 >= step);
        if is_last_of_value && (due || place + 1 == values.len()) {
            curve.push((*value, part));
        }
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_s: u64, penalty: f64) -> FabricSample {
        FabricSample {
            at: TraceTime::from_us(at_s * 1_000_000),
            penalty,
            least_paths: 1.0,
            mean_paths: 1.0,
            least_capacity: penalty,
            mean_capacity: 1.0,
            disabled: 0,
            active: 0,
            most_per_pipe: 0,
        }
    }

    #[test]
    fn states_are_compared_by_time() {
        let window = TimeWindow { begin: TraceTime::from_us(0), end: TraceTime::from_us(10_000_000) };
        let changes = compare_policies(
            &[sample(0, 1.0), sample(4, 2.0)],
            &[sample(0, 1.0), sample(6, 0.5), sample(20, 1.0)],
            window,
        );
        let found: Vec<_> = changes.iter().map(|change| (change.lasts_us / 1_000_000, change.gain)).collect();
        assert_eq!(found, [(4, 1.0), (2, 2.0), (4, 4.0)]);
        let curve = distribution(changes.iter().map(|change| (change.gain, change.lasts_us)), 100);
        assert_eq!(curve, [(1.0, 0.4), (2.0, 0.6), (4.0, 1.0)]);
    }
}
