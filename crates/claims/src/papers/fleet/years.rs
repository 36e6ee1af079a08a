//! The simulated years that L17 to L19 share, computed once.

use std::sync::OnceLock;

use wiremend_fabric::tiers::{FabricShape, Tiers};
use wiremend_fleet::{
    GainInterval, Policy, PolicyOutcome, ProtectionEffect, RepairModel, TimeWindow, TraceGenerator,
    compare_policies,
};
use wiremend_measure::interval;
use wiremend_units::Rate;

use wiremend_runner::years::{TraceSource, Years};

use crate::prelude::*;

pub(super) const CONSTRAINTS: [f64; 2] = [0.5, 0.75];
pub(in crate::papers) const WINDOW: TimeWindow = TimeWindow::days(0, 365);
const POLICIES: [Policy; 3] = [Policy::CORROPT, Policy::LINKGUARDIAN_CORROPT, Policy::LINKGUARDIAN_AWARE];
/// A ratio of penalties below this is no gain.
const GAIN_NONE: f64 = 1.01;

/// One seed at one constraint.
pub(super) struct Year {
    pub(super) corropt: PolicyOutcome,
    pub(super) both: PolicyOutcome,
    pub(super) aware: PolicyOutcome,
    /// Share of the time, and of the events, without a gain.
    pub(super) no_gain: (f64, f64),
    pub(super) capacity_lost_max: f64,
    /// Recorded for the first seed only.
    pub(super) changes: Vec<GainInterval>,
}

/// All seeds at both constraints.
pub(super) struct AllYears {
    pub(super) by_constraint: [Vec<Year>; 2],
}

impl AllYears {
    /// Changes by protection in the first year, by constraint.
    pub(super) fn changes(&self) -> Vec<(String, Vec<GainInterval>)> {
        let first = |(constraint, years): (f64, &Vec<Year>)| {
            Some((constraint_name(constraint), years.first()?.changes.clone()))
        };
        CONSTRAINTS.into_iter().zip(&self.by_constraint).filter_map(first).collect()
    }
}

pub(in crate::papers) fn facebook() -> Tiers {
    FabricShape::FACEBOOK.build(Rate::gbps(100)).expect("the published fabric is one")
}

/// The years, of all claims.
pub(super) fn all(results: &Results<'_>) -> &'static AllYears {
    static ALL: OnceLock<AllYears> = OnceLock::new();
    ALL.get_or_init(|| {
        let years = |constraint| {
            simulate(results, constraint, &POLICIES, SEEDS, |seed, outcomes| Year::new(outcomes, seed == 1))
        };
        AllYears { by_constraint: CONSTRAINTS.map(years) }
    })
}

/// Enough for the maxima of L19, also with quick effort.
pub(in crate::papers) const SEEDS: u64 = 24;

/// Simulates years under these policies.
pub(super) fn simulate<T: Send>(
    results: &Results<'_>,
    constraint: f64,
    policies: &[Policy],
    seeds: u64,
    take: impl Fn(u64, Vec<PolicyOutcome>) -> T + Sync,
) -> Vec<T> {
    let (tiers, effect) = (facebook(), ProtectionEffect::paper());
    let years = Years {
        tiers: &tiers,
        source: TraceSource::Generated(TraceGenerator::default()),
        constraint,
        policies,
        effect: &effect,
        repair: RepairModel::default(),
        window: WINDOW,
        seeds: 1..seeds + 1,
    };
    // An interruption is ignored: a judgement cannot return an error, and this takes seconds.
    years.run(results.runner(), take).unwrap_or_default()
}

impl Year {
    fn new(outcomes: Vec<PolicyOutcome>, is_first: bool) -> Self {
        let [mut corropt, mut both, mut aware]: [PolicyOutcome; 3] =
            outcomes.try_into().expect("there is an outcome for each policy");
        let changes = compare_policies(&corropt.samples, &both.samples, WINDOW);
        let is_none = |change: &&GainInterval| change.gain < GAIN_NONE;
        let none_us: u64 = changes.iter().filter(is_none).map(|change| change.lasts_us).sum();
        let all_us: u64 = changes.iter().map(|change| change.lasts_us).sum();
        let none = changes.iter().filter(is_none).count();
        let no_gain = (none_us as f64 / all_us.max(1) as f64, none as f64 / changes.len().max(1) as f64);
        let capacity_lost_max = changes.iter().map(|change| change.capacity_lost).fold(0.0, f64::max);
        for outcome in [&mut corropt, &mut both, &mut aware] {
            if !is_first {
                outcome.samples = Vec::new();
            }
        }
        let changes = if is_first { changes } else { Vec::new() };
        Self { corropt, both, aware, no_gain, capacity_lost_max, changes }
    }

    /// Orders of magnitude by which the mean penalty falls.
    pub(super) fn orders(&self) -> f64 {
        (self.corropt.time.penalty / self.both.time.penalty).log10()
    }
}

/// Mean over seeds, and its 95 % interval.
pub(super) fn over_seeds(years: &[Year], of: impl Fn(&Year) -> f64) -> (f64, interval::Interval) {
    let values: Vec<f64> = years.iter().map(of).collect();
    let unknown = interval::Interval { low: f64::NAN, high: f64::NAN };
    interval::mean(&values, 0.95).unwrap_or((f64::NAN, unknown))
}

/// `1.23e-4 (1.2e-4…1.3e-4)`.
pub(super) fn mean_text(years: &[Year], show: fn(f64) -> String, of: impl Fn(&Year) -> f64) -> String {
    let (mean, interval) = over_seeds(years, of);
    format!("{} ({}…{})", show(mean), show(interval.low), show(interval.high))
}

/// `50 %`.
pub(super) fn constraint_name(constraint: f64) -> String {
    format!("{} %", constraint * 100.0)
}
