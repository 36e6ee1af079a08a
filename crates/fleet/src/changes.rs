//! What one policy gains over another, and how its values are distributed.

use crate::metrics::Sample;
use crate::moment::{Moment, Window};

/// What one policy gains over another while both stay as they are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// Since when.
    pub at: Moment,
    /// For how long, in microseconds.
    pub lasts_us: u64,
    /// How many times less loss there is.
    pub gain: f64,
    /// How much less of its capacity the worst pod has.
    pub capacity_lost: f64,
}

/// Sets the states of a policy beside those of another, over a window. Both must have been kept.
pub fn compare(base: &[Sample], other: &[Sample], window: Window) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let (mut b, mut o) = (0, 0);
    while b < base.len() && o < other.len() {
        let at = base[b].at.max(other[o].at);
        let next =
            |samples: &[Sample], place: usize| samples.get(place + 1).map_or(Moment::MAX, |next| next.at);
        let (base_next, other_next) = (next(base, b), next(other, o));
        let until = base_next.min(other_next);
        let lasts_us = window.overlap_us(at, until);
        if lasts_us > 0 || window.contains(at) {
            let (was, is) = (base[b], other[o]);
            changes.push(Change {
                at,
                lasts_us,
                gain: if is.penalty > 0.0 { was.penalty / is.penalty } else { 1.0 },
                capacity_lost: was.least_capacity - is.least_capacity,
            });
        }
        if until == Moment::MAX {
            break;
        }
        b += usize::from(base_next == until);
        o += usize::from(other_next == until);
    }
    changes
}

/// A cumulative distribution of values with weights: up to `points` of them, ascending, each with the part of the weight up to it.
pub fn distribution(values: impl Iterator<Item = (f64, u64)>, points: usize) -> Vec<(f64, f64)> {
    let mut values: Vec<(f64, u64)> = values.filter(|(_, weight)| *weight > 0).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
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

    fn sample(at_s: u64, penalty: f64) -> Sample {
        Sample {
            at: Moment::from_us(at_s * 1_000_000),
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
    fn states_are_set_side_by_side_in_time() {
        let window = Window { begin: Moment::from_us(0), end: Moment::from_us(10_000_000) };
        let changes = compare(
            &[sample(0, 1.0), sample(4, 2.0)],
            &[sample(0, 1.0), sample(6, 0.5), sample(20, 1.0)],
            window,
        );
        let told: Vec<_> = changes.iter().map(|change| (change.lasts_us / 1_000_000, change.gain)).collect();
        assert_eq!(told, [(4, 1.0), (2, 2.0), (4, 4.0)]);
        let curve = distribution(changes.iter().map(|change| (change.gain, change.lasts_us)), 100);
        assert_eq!(curve, [(1.0, 0.4), (2.0, 0.6), (4.0, 1.0)]);
    }
}
