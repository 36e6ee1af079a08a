//! Simulation of a fabric under several policies.

use wiremend_fabric::tiers::Tiers;

use crate::metrics::{FabricSample, StateMeans};
use crate::optimize::STEPS_MAX;
use crate::pod_capacity::fraction;
use crate::policy::{DisableRule, Objective, Policy};
use crate::policy_run::{PolicyRun, RunCounters};
use crate::protection_effect::ProtectionEffect;
use crate::protection_view::ProtectionView;
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
    let mut outcomes: Vec<Option<PolicyOutcome>> = setup.policies.iter().map(|_| None).collect();
    let decision_groups = decision_groups(setup.policies);
    let count = decision_groups.len() as f64;
    for (number, members) in decision_groups.into_iter().enumerate() {
        let view = |place: &usize| {
            ProtectionView::new(setup.tiers, setup.policies[*place].protection, setup.effect, setup.seed)
        };
        let disable_rule = setup.policies[members[0]].disable_rule;
        let mut run = PolicyRun::new(setup, disable_rule, members.iter().map(view).collect());
        let done = |part: f64| keep_going((number as f64 + part) / count);
        if !run.simulate(&done) {
            return None;
        }
        let PolicyRun { views, counters, .. } = run;
        for (place, (_, meter)) in members.into_iter().zip(views) {
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
