//! A year of a fabric under several policies at once.

use wiremend_fabric::tiers::Tiers;

use crate::capacity::fraction;
use crate::course::{Counters, Course};
use crate::effect::Effect;
use crate::metrics::{Means, Sample};
use crate::moment::Window;
use crate::optimize::STEPS_MAX;
use crate::policy::{Policy, Repairing, Worth};
use crate::repair::Repair;
use crate::trace::Trace;
use crate::view::View;

/// What is played.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The fabric.
    pub tiers: &'a Tiers,
    /// What befalls it.
    pub trace: &'a Trace,
    /// The part of its ways to the top that every ToR keeps.
    pub constraint: f64,
    /// What is done about it.
    pub policies: &'a [Policy],
    /// What protection makes of a link.
    pub effect: &'a Effect,
    /// How links are repaired.
    pub repair: Repair,
    /// Of draws that are not the trace's: repairs, and which pods have protection.
    pub seed: u64,
    /// The time that averages cover.
    pub window: Window,
    /// Whether every state is kept.
    pub record: bool,
    /// Steps after which the optimizer takes the best that it has.
    pub steps_max: u64,
}

impl<'a> Setting<'a> {
    /// With repairs as published, without keeping every state.
    pub fn new(
        tiers: &'a Tiers,
        trace: &'a Trace,
        constraint: f64,
        policies: &'a [Policy],
        effect: &'a Effect,
        window: Window,
    ) -> Self {
        assert!(constraint > 0.0 && constraint <= 1.0, "a constraint is a part of the ways: {constraint}");
        let repair = Repair::default();
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

/// What a policy came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The policy.
    pub policy: Policy,
    /// What happened.
    pub counters: Counters,
    /// Averages over time.
    pub time: Means,
    /// Averages over the states after each event that changed something.
    pub event: Means,
    /// The least part of its ways that a ToR ever had.
    pub least_paths_min: f64,
    /// The least part of its capacity that a pod ever had.
    pub least_capacity_min: f64,
    /// The most links that were taken out at once.
    pub disabled_max: u32,
    /// The most that corrupted and were in at once.
    pub active_max: u32,
    /// The most protected links in one pipe of a switch.
    pub most_per_pipe_max: u32,
    /// Every state in its order, if they were kept; the first is the clean fabric.
    pub samples: Vec<Sample>,
}

/// Plays a trace under each policy. Policies that decide alike share one pass.
pub fn run(setting: &Setting<'_>) -> Vec<Outcome> {
    run_while(setting, &|_| true).expect("nobody stops it")
}

/// The same, as long as `goes_on` says so, which is told now and then how much of the whole is done.
pub fn run_while(setting: &Setting<'_>, goes_on: &dyn Fn(f64) -> bool) -> Option<Vec<Outcome>> {
    let mut outcomes: Vec<Option<Outcome>> = setting.policies.iter().map(|_| None).collect();
    let courses = courses(setting.policies);
    let count = courses.len() as f64;
    for (number, places) in courses.into_iter().enumerate() {
        let view = |place: &usize| {
            View::new(setting.tiers, setting.policies[*place].protection, setting.effect, setting.seed)
        };
        let repairing = setting.policies[places[0]].repairing;
        let mut course = Course::new(setting, repairing, places.iter().map(view).collect());
        let done = |part: f64| goes_on((number as f64 + part) / count);
        if !course.play(&done) {
            return None;
        }
        let Course { views, counters, .. } = course;
        for (place, (_, meter)) in places.into_iter().zip(views) {
            let (time, event) = meter.means();
            outcomes[place] = Some(Outcome {
                policy: setting.policies[place],
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

/// Policies that take the same links out at the same times, by their places.
fn courses(policies: &[Policy]) -> Vec<Vec<usize>> {
    let decides_alike = |a: &Policy, b: &Policy| {
        let knows_protection = a.repairing == Repairing::CorrOpt(Worth::Effect);
        a.repairing == b.repairing && (!knows_protection || a.protection == b.protection)
    };
    let mut courses: Vec<Vec<usize>> = Vec::new();
    for (place, policy) in policies.iter().enumerate() {
        match courses.iter_mut().find(|course| decides_alike(&policies[course[0]], policy)) {
            Some(course) => course.push(place),
            None => courses.push(vec![place]),
        }
    }
    courses
}
