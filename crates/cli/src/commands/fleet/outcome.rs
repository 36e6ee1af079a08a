//! Results of policies over one or more years.

use serde_json::{Map, Value, json};
use wiremend_fleet::{GainInterval, Policy, PolicyOutcome};
use wiremend_measure::interval;

/// Confidence level of intervals.
const LEVEL: f64 = 0.95;
/// A smaller gain counts as none: sums over healthy links differ in their last digits.
const GAIN_NONE: f64 = 1.01;

/// Results of a policy over all seeds.
pub(super) struct PolicyResult {
    pub(super) policy: Policy,
    /// The values of each key, by seed.
    values: Vec<(&'static str, Vec<f64>)>,
}

/// Gain of a policy over another one.
#[derive(Clone, Copy, Default)]
pub(super) struct Gain {
    /// Fraction of time without a gain.
    pub(super) none_time: f64,
    /// Fraction of events without a gain.
    pub(super) none_event: f64,
    /// Median gain over the time with a gain.
    pub(super) median: f64,
    /// Largest loss of capacity of the worst pod.
    pub(super) capacity_lost_max: f64,
}

/// Returns all numbers of an outcome by key.
pub(super) fn numbers(outcome: &PolicyOutcome) -> Vec<(&'static str, f64)> {
    let PolicyOutcome { counters, time, event, .. } = outcome;
    let count = |count: u64| count as f64;
    vec![
        ("events", count(counters.events)),
        ("skipped", count(counters.skipped)),
        ("recoveries", count(counters.recoveries)),
        ("relapses", count(counters.relapses)),
        ("refused", count(counters.refused)),
        ("disabled_on_arrival", count(counters.disabled_on_arrival)),
        ("disabled_by_optimizer", count(counters.disabled_by_optimizer)),
        ("optimizer.candidates_max", count(counters.candidates_max)),
        ("optimizer.cut_off", count(counters.cut_off)),
        ("penalty_time_mean", time.penalty),
        ("penalty_event_mean", event.penalty),
        ("clean_time_share", time.clean),
        ("clean_event_share", event.clean),
        ("least_paths.min", outcome.least_paths_min),
        ("least_paths.time_mean", time.least_paths),
        ("least_paths.event_mean", event.least_paths),
        ("mean_paths.time_mean", time.mean_paths),
        ("least_capacity.min", outcome.least_capacity_min),
        ("least_capacity.time_mean", time.least_capacity),
        ("least_capacity.event_mean", event.least_capacity),
        ("mean_capacity.time_mean", time.mean_capacity),
        ("disabled.mean", time.disabled),
        ("disabled.max", f64::from(outcome.disabled_max)),
        ("active_corrupting.mean", time.active),
        ("active_corrupting.max", f64::from(outcome.active_max)),
        ("protected_per_pipe.max", f64::from(outcome.most_per_pipe_max)),
    ]
}

impl PolicyResult {
    /// Collects the numbers of one policy by seed.
    pub(super) fn new(policy: Policy, seeds: &[Vec<(&'static str, f64)>]) -> Self {
        let keys = seeds.first().map_or(&[][..], Vec::as_slice).iter().map(|(key, _)| *key);
        let values =
            keys.enumerate().map(|(place, key)| (key, seeds.iter().map(|seed| seed[place].1).collect()));
        Self { policy, values: values.collect() }
    }

    /// Returns the mean over all seeds.
    pub(super) fn mean(&self, key: &str) -> f64 {
        let values = self.values(key);
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    /// Returns the confidence interval of the mean, if there are several seeds.
    pub(super) fn interval(&self, key: &str) -> Option<interval::Interval> {
        interval::mean(self.values(key), LEVEL).map(|(_, interval)| interval)
    }

    fn values(&self, key: &str) -> &[f64] {
        self.values.iter().find(|(known, _)| *known == key).map_or(&[], |(_, values)| values)
    }

    /// Renders counts as integers for one seed, and as means for several.
    pub(super) fn json(&self) -> Value {
        let mut object = Map::new();
        let mut intervals = Map::new();
        for (key, values) in &self.values {
            let mean = self.mean(key);
            let is_count = values.len() == 1 && mean.fract() == 0.0 && is_count(key);
            insert(&mut object, key, if is_count { json!(mean as u64) } else { json!(mean) });
            if let Some(interval) = self.interval(key) {
                insert(&mut intervals, key, json!([interval.low, interval.high]));
            }
        }
        if !intervals.is_empty() {
            object.insert("intervals".to_owned(), Value::Object(intervals));
        }
        Value::Object(object)
    }
}

/// Returns the first of the ascending values with which the sum of their weights exceeds `weight`.
fn value_at(mut values: &mut [(f64, u64)], mut weight: u64) -> Option<f64> {
    while !values.is_empty() {
        let middle = values.len() / 2;
        let all = std::mem::take(&mut values);
        let (below, (value, own), above) = all.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
        let sum = below.iter().map(|(_, weight)| weight).sum::<u64>();
        if weight < sum {
            values = below;
        } else if weight < sum + *own {
            return Some(*value);
        } else {
            weight -= sum + *own;
            values = above;
        }
    }
    None
}

/// Returns whether a key is a count.
fn is_count(key: &str) -> bool {
    !(key.contains("mean") || key.contains("share") || key.starts_with("least"))
}

fn insert(object: &mut Map<String, Value>, key: &str, value: Value) {
    match key.split_once('.') {
        None => _ = object.insert(key.to_owned(), value),
        Some((outer, inner)) => {
            let place = object.entry(outer.to_owned()).or_insert_with(|| json!({}));
            if let Value::Object(place) = place {
                place.insert(inner.to_owned(), value);
            }
        }
    }
}

impl Gain {
    pub(super) fn from_changes(changes: &[GainInterval]) -> Self {
        let is_none = |change: &&GainInterval| change.gain < GAIN_NONE;
        let (mut none_us, mut all_us) = (0, 0_u64);
        for change in changes {
            all_us += change.lasts_us;
            none_us += if change.gain < GAIN_NONE { change.lasts_us } else { 0 };
        }
        let mut gains: Vec<(f64, u64)> = changes
            .iter()
            .filter(|change| !is_none(change))
            .map(|change| (change.gain, change.lasts_us))
            .collect();
        let half = gains.iter().map(|(_, lasts)| lasts).sum::<u64>() / 2;
        Self {
            none_time: none_us as f64 / all_us.max(1) as f64,
            none_event: changes.iter().filter(is_none).count() as f64 / changes.len().max(1) as f64,
            median: value_at(&mut gains, half).unwrap_or(1.0),
            capacity_lost_max: changes.iter().map(|change| change.capacity_lost).fold(0.0, f64::max),
        }
    }

    pub(super) fn mean(gains: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| gains.iter().map(of).sum::<f64>() / gains.len().max(1) as f64;
        Self {
            none_time: mean(|gain| gain.none_time),
            none_event: mean(|gain| gain.none_event),
            median: mean(|gain| gain.median),
            capacity_lost_max: mean(|gain| gain.capacity_lost_max),
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "no_gain_time_share": self.none_time,
            "no_gain_event_share": self.none_event,
            "median_gain": self.median,
            "least_capacity_lost_max": self.capacity_lost_max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_at_a_weight_is_that_of_the_sorted_values() {
        for seed in 0..200_u64 {
            let drawn = |number: u64| (seed * 31 + number * number * 7) % 13;
            let values: Vec<(f64, u64)> =
                (0..seed % 9).map(|number| (drawn(number) as f64, drawn(number + 5) % 4)).collect();
            let mut sorted = values.clone();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let all = sorted.iter().map(|(_, weight)| weight).sum::<u64>();
            for weight in 0..=all {
                let mut left = weight;
                let expected = sorted.iter().find(|(_, own)| {
                    let is_it = left < *own;
                    left = left.saturating_sub(*own);
                    is_it
                });
                assert_eq!(
                    value_at(&mut values.clone(), weight),
                    expected.map(|(value, _)| *value),
                    "{values:?} {weight}"
                );
            }
        }
    }
}
