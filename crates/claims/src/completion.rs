//! Distributions of completion times.

use wiremend_report::plot::Curve;

use crate::ledger::Outcome;

/// The distribution as a curve.
pub(crate) fn distribution(name: &str, outcome: &Outcome) -> Curve {
    let points = outcome.summary.fct_cdf.iter().map(|point| (point.value as f64 / 1e3, point.at_most));
    Curve::steps(name, points)
}

/// The part of the distribution above the share `from` of all flows.
pub(crate) fn slowest(name: &str, outcome: &Outcome, from: f64) -> Curve {
    let mut curve = distribution(name, outcome);
    curve.points.retain(|&(_, at_most)| at_most > from);
    curve.points.insert(0, (quantile_ns(outcome, from), from));
    curve
}

/// A quantile of the completion times in nanoseconds, from the summary if it has this quantile: near a step
/// of the distribution the nearest point of the curve may lie on the other side of the step. Infinite if no
/// flow finished.
pub(crate) fn exact_ns(outcome: &Outcome, quantile: f64) -> f64 {
    let Some(fct) = outcome.summary.fct_ns else { return f64::INFINITY };
    let known = [(0.5, fct.p50), (0.99, fct.p99), (0.999, fct.p999), (1.0, fct.max)];
    let found = known.into_iter().find(|(known, _)| (known - quantile).abs() < 1e-9);
    found.map_or_else(|| quantile_ns(outcome, quantile), |(_, ns)| ns)
}

/// A quantile of the completion times in nanoseconds, from the curve. Infinite if no flow finished.
pub(crate) fn quantile_ns(outcome: &Outcome, quantile: f64) -> f64 {
    let points = &outcome.summary.fct_cdf;
    let found = points.iter().find(|point| point.at_most >= quantile - 1e-9).or(points.last());
    found.map_or(f64::INFINITY, |point| point.value as f64 / 1e3)
}

/// Standard deviation of the completion times in nanoseconds, from the curve.
pub(crate) fn deviation_ns(outcome: &Outcome) -> f64 {
    let mean = outcome.mean().value;
    let mut below = 0.0;
    let part = |point: &wiremend_measure::CdfPoint| {
        let part = point.at_most - below;
        below = point.at_most;
        part * (point.value as f64 / 1e3 - mean).powi(2)
    };
    outcome.summary.fct_cdf.iter().map(part).sum::<f64>().sqrt()
}

/// Share of flows that took longer than `ns`.
pub(crate) fn share_above(outcome: &Outcome, ns: f64) -> f64 {
    let below = outcome.summary.fct_cdf.iter().take_while(|point| point.value as f64 / 1e3 <= ns).last();
    1.0 - below.map_or(0.0, |point| point.at_most)
}
