//! Simulation of a fabric under several policies.

use wiremend_fabric::tiers::Tiers;

use crate::metrics::{FabricSample, StateMeans};
use crate::optimize::STEPS_MAX;
use crate::pod_capacity::fraction;
use crate::policy::{DisableRule, Objective, Policy};
use crate::policy_run::{PART_LINKS, PolicyRun, RunCounters};
use crate::protection_effect::ProtectionEffect;
use crate::repair_model::RepairModel;
use crate::trace::Trace;
use crate::trace_time::TimeWindow;

/// Input of a simulation.
#[derive(Clone, Debug)]
pub struct FleetSetup<'a> {
    /// The fabric.
    pub tiers: &'a Tiers,
    /// Corruption events.
    pub trace: &'a Trace,
    /// Share of its paths to the top tier that every ToR must keep.
    pub constraint: f64,
    /// Policies to compare.
    pub policies: &'a [Policy],
    /// Effect of protection.
    pub effect: &'a ProtectionEffect,
    /// Parameters of repairs.
    pub repair: RepairModel,
    /// Seed of repairs and of the pods with protection.
    pub seed: u64,
    /// Time interval of the averages.
    pub window: TimeWindow,
    /// Whether every state is recorded.
    pub record: bool,
    /// Step limit of the optimizer.
    pub steps_max: u64,
}

impl<'a> FleetSetup<'a> {
    /// Creates a setup with published repair parameters and without recording.
    pub fn new(
        tiers: &'a Tiers,
        trace: &'a Trace,
        constraint: f64,
        policies: &'a [Policy],
        effect: &'a ProtectionEffect,
        window: TimeWindow,
    ) -> Self {
        assert!(
            constraint > 0.0 && constraint <= 1.0,
            "the constraint is a share of the paths: {constraint}"
        );
        let repair = RepairModel::default();
        Self {
            tiers,
            trace,
            constraint,
            policies,
            effect,
            repair,
            seed: 0,
            window,
            record: false,
            steps_max: STEPS_MAX,
        }
    }
}

/// Result of a policy.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyOutcome {
    /// The policy.
    pub policy: Policy,
    /// Counters over the whole trace.
    pub counters: RunCounters,
    /// Averages over time.
    pub time: StateMeans,
    /// Averages over the states after each event that changed the state.
    pub event: StateMeans,
    /// Smallest share of its paths that a ToR ever had.
    pub least_paths_min: f64,
    /// Smallest share of its capacity that a pod ever had.
    pub least_capacity_min: f64,
    /// Largest number of links out of service at once.
    pub disabled_max: u32,
    /// Largest number of corrupting links in service at once.
    pub active_max: u32,
    /// Largest number of protected links in one pipe of a switch.
    pub most_per_pipe_max: u32,
    /// All states in order of time, if recorded. The first one is the clean fabric.
    pub samples: Vec<FabricSample>,
}

/// Simulates a trace under each policy. Policies with the same decisions share one pass.
pub fn run(setup: &FleetSetup<'_>) -> Vec<PolicyOutcome> {
    run_while(setup, &|_| true).expect("it is never stopped")
}

/// Like [`run`], until `keep_going` returns false. It is called with the completed share from time to time.
pub fn run_while(setup: &FleetSetup<'_>, keep_going: &dyn Fn(f64) -> bool) -> Option<Vec<PolicyOutcome>> {
    run_in_parts(setup, PART_LINKS, keep_going)
}

/// Simulates the fabric in parts of so many links. The outcome does not depend on it.
fn run_in_parts(
    setup: &FleetSetup<'_>,
    part_links: u32,
    keep_going: &dyn Fn(f64) -> bool,
) -> Option<Vec<PolicyOutcome>> {
    let mut outcomes: Vec<Option<PolicyOutcome>> = setup.policies.iter().map(|_| None).collect();
    let decision_groups = decision_groups(setup.policies);
    let count = decision_groups.len() as f64;
    for (number, members) in decision_groups.into_iter().enumerate() {
        let protections = members.iter().map(|place| setup.policies[*place].protection);
        let disable_rule = setup.policies[members[0]].disable_rule;
        let mut run = PolicyRun::new(setup, disable_rule, protections, part_links);
        let done = |part: f64| keep_going((number as f64 + part) / count);
        if !run.simulate(&done) {
            return None;
        }
        let PolicyRun { timeline, counters, .. } = run;
        for (place, view) in members.into_iter().zip(timeline.views) {
            let meter = view.meter;
            let (time, event) = meter.means();
            outcomes[place] = Some(PolicyOutcome {
                policy: setup.policies[place],
                counters,
                time,
                event,
                least_paths_min: fraction(meter.least_paths_min as f64),
                least_capacity_min: fraction(meter.least_capacity_min as f64),
                disabled_max: meter.disabled_max,
                active_max: meter.active_max,
                most_per_pipe_max: meter.most_per_pipe_max,
                samples: meter.samples.unwrap_or_default(),
            });
        }
    }
    outcomes.into_iter().collect()
}

/// Groups the policies that take out the same links at the same times; returns their indices.
fn decision_groups(policies: &[Policy]) -> Vec<Vec<usize>> {
    let decides_alike = |a: &Policy, b: &Policy| {
        let depends_on_protection = a.disable_rule == DisableRule::CorrOpt(Objective::ResidualLoss);
        a.disable_rule == b.disable_rule && (!depends_on_protection || a.protection == b.protection)
    };
    let mut decision_groups: Vec<Vec<usize>> = Vec::new();
    for (place, policy) in policies.iter().enumerate() {
        match decision_groups.iter_mut().find(|run| decides_alike(&policies[run[0]], policy)) {
            Some(run) => run.push(place),
            None => decision_groups.push(vec![place]),
        }
    }
    decision_groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wiremend_fabric::tiers::FabricShape;
    use wiremend_units::{LinkId, Rate};

    use super::*;
    use crate::trace::CorruptionEvent;
    use crate::trace_time::{TraceSpan, TraceTime};

    proptest! {
        /// Events and repairs of few different lengths, so that many things happen at the same time.
        #[test]
        fn the_outcome_does_not_depend_on_the_parts(
            drawn in proptest::collection::vec((0_u64..40, 0_u32..96, 0_u64..4, 0_usize..3), 1..200),
            part_links in 1_u32..60,
            failure_share in prop::sample::select(vec![0.0, 0.3]),
            technicians in prop::sample::select(vec![None, None, Some(3)]),
        ) {
            let tiers = FabricShape::Facebook { pods: 8, tors: 4, fabrics: 2, spines: 2 }
                .build(Rate::gbps(100))
                .unwrap();
            let mut events: Vec<CorruptionEvent> = drawn
                .into_iter()
                .map(|(at, link, repair, loss)| CorruptionEvent {
                    at: TraceTime::from_us(at),
                    link: LinkId(link % tiers.link_count()),
                    loss: [1e-8, 1e-4, 1e-3][loss],
                    loss_back: 0.0,
                    repair: (repair < 3).then(|| TraceSpan::from_us(repair * 2)),
                    cause: None,
                })
                .collect();
            events.sort_by_key(|event| event.at);
            let trace = Trace::new(events);
            let policies = [Policy::CORROPT, Policy::LINKGUARDIAN_CORROPT];
            let effect = ProtectionEffect::paper();
            let window = TimeWindow { begin: TraceTime::from_us(5), end: TraceTime::from_us(100) };
            let mut setup = FleetSetup { record: true, ..FleetSetup::new(&tiers, &trace, 0.75, &policies, &effect, window) };
            setup.repair = RepairModel { failure_share, technicians, ..RepairModel::default() };
            let [whole, parts] = [u32::MAX, part_links].map(|links| run_in_parts(&setup, links, &|_| true).unwrap());
            prop_assert_eq!(whole, parts);
        }
    }
}
