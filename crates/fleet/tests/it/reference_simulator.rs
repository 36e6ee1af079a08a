//! Comparison with a reference simulator that recomputes everything at each event.

use crate::small::{any_small, path_count};
use proptest::prelude::*;
use wiremend_fabric::tiers::Tiers;
use wiremend_fleet::{
    CorruptionEvent, FabricSample, FleetSetup, Policy, ProtectionEffect, RunCounters, TimeWindow, Trace,
    TraceSpan, TraceTime, run,
};
use wiremend_units::LinkId;

/// Events in seconds: time, link, loss in units of 2^-20, repair time.
fn any_events() -> impl Strategy<Value = Vec<(u64, u16, u32, u64)>> {
    proptest::collection::vec((0_u64..60, any::<u16>(), 1_u32..1 << 19, 1_u64..40), 1..40).prop_map(
        |mut events| {
            events.sort_by_key(|event| event.0);
            events
        },
    )
}

fn trace(tiers: &Tiers, events: &[(u64, u16, u32, u64)]) -> Trace {
    let event = |&(at, link, loss, repair): &(u64, u16, u32, u64)| CorruptionEvent {
        at: TraceTime::from_us(at * 1_000_000),
        link: LinkId(u32::from(link) % tiers.link_count()),
        loss: f64::from(loss) / f64::from(1 << 20),
        loss_back: 0.0,
        repair: Some(TraceSpan::from_us(repair * 1_000_000)),
        cause: None,
    };
    Trace::new(events.iter().map(event).collect())
}

/// A direct implementation of the rules with plain lists.
struct ReferenceSimulator<'a> {
    tiers: &'a Tiers,
    need: Vec<u64>,
    up: Vec<bool>,
    loss: Vec<f64>,
    repair_s: Vec<u64>,
    /// Time, order, link.
    returns: Vec<(u64, u64, usize)>,
    sent: u64,
    counters: RunCounters,
    states: Vec<(u64, f64, f64, u32, u32)>,
}

impl<'a> ReferenceSimulator<'a> {
    fn new(tiers: &'a Tiers, constraint: f64) -> Self {
        let links = tiers.link_count() as usize;
        let up = vec![true; links];
        let need = tiers
            .tors()
            .iter()
            .map(|tor| (path_count(tiers, &up, *tor) as f64 * constraint - 1e-9).ceil() as u64);
        Self {
            tiers,
            need: need.collect(),
            loss: vec![0.0; links],
            repair_s: vec![0; links],
            returns: Vec::new(),
            sent: 0,
            counters: RunCounters::default(),
            states: Vec::new(),
            up,
        }
    }

    fn keeps(&self, up: &[bool]) -> bool {
        self.tiers.tors().iter().zip(&self.need).all(|(tor, need)| path_count(self.tiers, up, *tor) >= *need)
    }

    fn disable(&mut self, now: u64, link: usize) {
        self.up[link] = false;
        self.returns.push((now + self.repair_s[link], self.sent, link));
        self.sent += 1;
    }

    /// Selects the subset of all corrupting links that leaves the smallest penalty.
    fn optimize(&mut self, now: u64) {
        let open: Vec<usize> =
            (0..self.up.len()).filter(|link| self.up[*link] && self.loss[*link] > 0.0).collect();
        let loss = |subset: u32, state: &Self| -> f64 {
            open.iter()
                .enumerate()
                .filter(|(place, _)| subset >> place & 1 == 1)
                .map(|(_, link)| state.loss[*link])
                .sum()
        };
        let mut best = (0.0, 0);
        for subset in 1..1_u32 << open.len() {
            let mut up = self.up.clone();
            for (place, link) in open.iter().enumerate() {
                up[*link] &= subset >> place & 1 == 0;
            }
            // Losses are multiples of 2^-20, so sums are exact.
            if loss(subset, self) > best.0 && self.keeps(&up) {
                best = (loss(subset, self), subset);
            }
        }
        for (place, link) in open.into_iter().enumerate() {
            if best.1 >> place & 1 == 1 {
                self.counters.disabled_by_optimizer += 1;
                self.disable(now, link);
            }
        }
    }

    fn recover_until(&mut self, until: u64) {
        loop {
            self.returns.sort_unstable();
            match self.returns.first().copied() {
                Some((at, _, link)) if at <= until => {
                    self.returns.remove(0);
                    self.counters.recoveries += 1;
                    self.up[link] = true;
                    self.loss[link] = 0.0;
                    self.optimize(at);
                    self.note(at);
                }
                _ => return,
            }
        }
    }

    fn play(&mut self, trace: &Trace) {
        for event in trace.events() {
            let (now, link) = (event.at.as_us() / 1_000_000, event.link.index());
            self.recover_until(now);
            self.counters.events += 1;
            if !self.up[link] {
                self.counters.skipped += 1;
                continue;
            }
            self.loss[link] = event.loss;
            self.repair_s[link] = event.repair.unwrap().as_us() / 1_000_000;
            let mut up = self.up.clone();
            up[link] = false;
            if self.keeps(&up) {
                self.counters.disabled_on_arrival += 1;
                self.disable(now, link);
            } else {
                self.counters.refused += 1;
            }
            self.note(now);
        }
        self.recover_until(u64::MAX);
    }

    fn note(&mut self, now: u64) {
        let active = |link: &usize| self.up[*link] && self.loss[*link] > 0.0;
        let penalty: f64 = (0..self.up.len()).filter(active).map(|link| self.loss[link]).sum();
        let all = vec![true; self.up.len()];
        let part = |tor: &wiremend_units::SwitchId| {
            path_count(self.tiers, &self.up, *tor) as f64 / path_count(self.tiers, &all, *tor) as f64
        };
        let least = self.tiers.tors().iter().map(part).fold(1.0, f64::min);
        let disabled = self.up.iter().filter(|up| !**up).count() as u32;
        let actives = (0..self.up.len()).filter(active).count() as u32;
        self.states.push((now, penalty, least, disabled, actives));
    }
}

/// The state at each second.
fn at_seconds<T: Copy>(states: &[(u64, T)], first: T, until: u64) -> Vec<T> {
    let mut place = 0;
    let mut now = first;
    (0..until)
        .map(|second| {
            while place < states.len() && states[place].0 <= second {
                now = states[place].1;
                place += 1;
            }
            now
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn both_tell_the_same(small in any_small(), events in any_events(), constraint in prop_oneof![Just(0.5), Just(0.75), 0.1..1.0]) {
        let tiers = small.build();
        // All subsets of corrupting links are tried, so there must be few.
        prop_assume!(tiers.link_count() <= 14);
        let trace = trace(&tiers, &events);
        let mut plain = ReferenceSimulator::new(&tiers, constraint);
        plain.play(&trace);
        let table = ProtectionEffect::parse("none", "0.5,0.25,0.5").unwrap();
        let window = TimeWindow { begin: TraceTime::from_us(0), end: TraceTime::from_us(200_000_000) };
        let policies = [Policy::CORROPT, Policy::LINKGUARDIAN_CORROPT];
        let setting = FleetSetup { record: true, ..FleetSetup::new(&tiers, &trace, constraint, &policies, &table, window) };
        let outcomes = run(&setting);
        let counters = RunCounters { candidates_max: 0, ..outcomes[0].counters };
        prop_assert_eq!(counters, plain.counters);
        // Published rule: protection changes no decision.
        prop_assert_eq!(outcomes[0].counters, outcomes[1].counters);
        let point = |sample: &FabricSample| (sample.at.as_us() / 1_000_000, (sample.penalty, sample.least_paths, sample.disabled, sample.active));
        let engine: Vec<_> = outcomes[0].samples.iter().map(point).collect();
        let reference: Vec<_> = plain.states.iter().map(|(at, penalty, least, disabled, active)| (*at, (*penalty, *least, *disabled, *active))).collect();
        let (engine, reference) = (at_seconds(&engine, engine[0].1, 200), at_seconds(&reference, (0.0, 1.0, 0, 0), 200));
        let mut penalty_mean = 0.0;
        for (ours, plain) in engine.iter().zip(&reference) {
            prop_assert!((ours.0 - plain.0).abs() < 1e-12 && (ours.1 - plain.1).abs() < 1e-9, "{ours:?} {plain:?}");
            prop_assert_eq!((ours.2, ours.3), (plain.2, plain.3));
            penalty_mean += plain.0 / 200.0;
        }
        prop_assert!((outcomes[0].time.penalty - penalty_mean).abs() < 1e-9);
        prop_assert!(outcomes[0].least_paths_min >= constraint - 1e-9);
    }

    /// Other policies with failed repairs, few technicians, partial protection: counters are consistent.
    #[test]
    fn counters_of_all_policies_are_consistent(small in any_small(), events in any_events(), fails in 0.0..0.9, technicians in proptest::option::of(1_u32..3)) {
        let tiers = small.build();
        let trace = trace(&tiers, &events);
        let partial: Policy = "linkguardian+corropt-aware:0.5".parse().unwrap();
        let policies: Vec<_> = Policy::ALL.into_iter().chain([partial]).collect();
        let effect = ProtectionEffect::paper();
        let window = TimeWindow::days(0, 1);
        let mut setting = FleetSetup::new(&tiers, &trace, 0.5, &policies, &effect, window);
        setting.repair.failure_share = fails;
        setting.repair.technicians = technicians;
        for outcome in run(&setting) {
            let RunCounters { events, skipped, recoveries, refused, disabled_on_arrival, disabled_by_optimizer, relapses, .. } = outcome.counters;
            prop_assert_eq!(events, trace.events().len() as u64);
            prop_assert_eq!(recoveries, disabled_on_arrival + disabled_by_optimizer);
            let is_checked = matches!(outcome.policy.disable_rule, wiremend_fleet::DisableRule::CorrOpt(_));
            if is_checked {
                prop_assert_eq!(events - skipped + relapses, refused + disabled_on_arrival);
                prop_assert!(outcome.least_paths_min >= 0.5 - 1e-9);
            }
        }
    }
}
