//! Drains that become possible as links return from repair.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wiremend_fabric::tiers::ScopeId;
use wiremend_units::LinkId;

use super::drain_planner::{DrainPlanner, RepairStep};
use super::fabric_state::CorruptingLink;

/// Links that return one after the other, and links that wait for them.
///
/// A waiting link cannot be drained as long as no link returns above the scope that refused it. So only the
/// links that wait for a scope below the returned link are examined.
pub(super) struct RepairOrder<'p, 'a> {
    planner: &'p mut DrainPlanner<'a>,
    /// Corrupting links in service, by the first link of their cable.
    cables: Vec<Vec<CorruptingLink>>,
    /// Cables that wait for each scope.
    waiting: BTreeMap<ScopeId, Vec<usize>>,
    waiting_count: usize,
    /// Links out of service in the order of their return.
    out: VecDeque<Vec<LinkId>>,
}

impl<'p, 'a> RepairOrder<'p, 'a> {
    pub(super) fn new(
        planner: &'p mut DrainPlanner<'a>,
        kept: Vec<CorruptingLink>,
        out: VecDeque<Vec<LinkId>>,
    ) -> Self {
        let mut by_cable: BTreeMap<LinkId, Vec<CorruptingLink>> = BTreeMap::new();
        for corrupting in kept {
            let first = planner.tiers().repaired_with(corrupting.link)[0];
            by_cable.entry(first).or_default().push(corrupting);
        }
        let cables: Vec<_> = by_cable.into_values().collect();
        let mut order = Self { planner, cables, waiting: BTreeMap::new(), waiting_count: 0, out };
        for cable in 0..order.cables.len() {
            assert!(order.wait(cable), "all links that fit were drained");
        }
        order
    }

    pub(super) fn steps(mut self, steps_max: u64) -> Vec<RepairStep> {
        let mut steps = Vec::new();
        while self.waiting_count > 0 {
            let Some(returned) = self.out.pop_front() else { break };
            let below = self.planner.bring_up(&returned);
            let waited: BTreeSet<usize> =
                below.iter().filter_map(|scope| self.waiting.remove(scope)).flatten().collect();
            self.waiting_count -= waited.len();
            let fitting: Vec<usize> = waited.into_iter().filter(|cable| !self.wait(*cable)).collect();
            let open: Vec<CorruptingLink> =
                fitting.iter().flat_map(|cable| &self.cables[*cable]).copied().collect();
            let drain = if open.is_empty() { Vec::new() } else { self.planner.drain(&open, steps_max).0 };
            for cable in fitting {
                if self.planner.is_up(self.cables[cable][0].link) {
                    assert!(self.wait(cable), "all links that fit were drained");
                }
            }
            self.out.extend(drain.iter().map(|drain| drain.links.clone()));
            steps.push(RepairStep { returned, drain });
        }
        steps
    }

    /// Lets a cable wait for the scope that needs it. Returns `false` if no scope does.
    fn wait(&mut self, cable: usize) -> bool {
        let links = self.planner.same_cable(self.cables[cable][0].link);
        let Some((scope, _)) = self.planner.shortfall_without(&links) else { return false };
        self.waiting.entry(scope).or_default().push(cable);
        self.waiting_count += 1;
        true
    }
}
