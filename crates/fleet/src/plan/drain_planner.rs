//! Advice for the current state of a fabric.

use std::collections::BTreeMap;

use wiremend_fabric::tiers::{Constraints, Scope, ScopeId, Tiers};
use wiremend_units::{LinkId, SwitchId};

use super::fabric_state::{CorruptingLink, FabricState};
use super::repair_order::RepairOrder;
use crate::capacity::{Capacity, CapacityCount};
use crate::optimize::{Candidate, select};
use crate::penalty::Penalty;
use crate::required::RequiredCapacity;

/// A fabric in a state, with the required capacity of every ToR, pod and domain.
pub struct DrainPlanner<'a> {
    tiers: &'a Tiers,
    state: &'a FabricState,
    capacity: Box<dyn Capacity + 'a>,
    scopes: Vec<ScopeId>,
    /// By scope number.
    totals: Vec<u64>,
    /// As configured.
    requested: RequiredCapacity,
    /// As configured, lowered to the existing capacity.
    required: RequiredCapacity,
    /// Scopes that must keep all of their existing capacity, because a link below may be down.
    is_frozen: Vec<bool>,
}

/// Capacity of a scope: a number of paths, or bit/s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScopeCapacity {
    /// The scope.
    pub scope: Scope,
    /// Its capacity.
    pub amount: u64,
    /// Its required capacity.
    pub required: u64,
    /// Its capacity with all links in service.
    pub total: u64,
}

/// Why a link cannot be drained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DrainRefusal {
    /// The link is already out of service.
    AlreadyOut,
    /// This scope would have too little capacity; its numbers are those after the drain.
    TooLittle(ScopeCapacity),
}

/// Links to drain together: one link, or all links of a cable.
#[derive(Clone, PartialEq, Debug)]
pub struct DrainGroup {
    /// The links.
    pub links: Vec<LinkId>,
    /// Sum of their loss rates.
    pub loss: f64,
}

/// A corrupting link that must stay.
#[derive(Clone, PartialEq, Debug)]
pub struct KeptLink {
    /// The link and its loss.
    pub corrupting: CorruptingLink,
    /// A scope that needs the link, with its capacity after a drain.
    pub because: ScopeCapacity,
}

/// Links to drain and links that must stay.
#[derive(Clone, PartialEq, Debug)]
pub struct DrainPlan {
    /// Links to drain, highest loss first.
    pub drain: Vec<DrainGroup>,
    /// Links that must stay, highest loss first.
    pub keep: Vec<KeptLink>,
    /// Upper bound of the missing sum of loss rates; 0 unless the search was cut off.
    pub gap: f64,
}

/// Drains that become possible when links return from repair.
#[derive(Clone, PartialEq, Debug)]
pub struct RepairStep {
    /// Links that return.
    pub returned: Vec<LinkId>,
    /// Links to drain then.
    pub drain: Vec<DrainGroup>,
}

impl<'a> DrainPlanner<'a> {
    /// Creates a planner. Every ToR, pod and domain must keep the share `constraint` of its capacity. Shares
    /// of single ToRs and pods come from `state`, then from the fabric.
    pub fn new(tiers: &'a Tiers, state: &'a FabricState, constraint: f64, count: CapacityCount) -> Self {
        let mut capacity = count.measure(tiers);
        let mut requested = RequiredCapacity::new(&mut *capacity, constraint);
        let scopes = capacity.scopes();
        let mut totals = vec![0; capacity.scope_count()];
        let shares = Shares::new(tiers, state);
        for scope in &scopes {
            let total = capacity.amount(*scope);
            totals[scope.index()] = total;
            if let Some(share) = shares.of(capacity.scope(*scope)) {
                requested.set(*scope, total, share);
            }
        }
        for link in state.out() {
            capacity.take_down(link);
        }
        let mut is_frozen = vec![false; totals.len()];
        for switch in &state.uncertain {
            for scope in capacity.below(tiers.links_above(*switch)) {
                is_frozen[scope.index()] = true;
            }
        }
        let required = requested.clone();
        let mut planner = Self { tiers, state, capacity, scopes, totals, requested, required, is_frozen };
        for place in 0..planner.scopes.len() {
            planner.update_required(planner.scopes[place]);
        }
        planner
    }

    /// Returns the scopes that already have too little capacity.
    pub fn below_constraint(&mut self) -> Vec<ScopeCapacity> {
        let mut short = Vec::new();
        for place in 0..self.scopes.len() {
            let scope = self.scopes[place];
            if self.capacity.amount(scope) < self.requested.get(scope) {
                short.push(self.scope_capacity(scope, self.requested.get(scope)));
            }
        }
        short
    }

    /// Returns the capacity of every scope.
    pub fn all_capacities(&mut self) -> Vec<ScopeCapacity> {
        let mut all = Vec::with_capacity(self.scopes.len());
        for place in 0..self.scopes.len() {
            let scope = self.scopes[place];
            all.push(self.scope_capacity(scope, self.requested.get(scope)));
        }
        all
    }

    /// Checks whether a link and all links of its cable may be drained. Returns these links, or the reason.
    pub fn may_drain(&mut self, link: LinkId) -> Result<Vec<LinkId>, DrainRefusal> {
        if !self.capacity.is_up(link) {
            return Err(DrainRefusal::AlreadyOut);
        }
        let links = self.same_cable(link);
        let short = self.shortfall_without(&links);
        short.map_or(Ok(links), |(_, short)| Err(DrainRefusal::TooLittle(short)))
    }

    /// Marks these links as drained.
    pub fn take_out(&mut self, links: &[LinkId]) {
        for link in links {
            self.capacity.take_down(*link);
        }
    }

    /// Selects the corrupting links to drain now and marks them as drained.
    pub fn advise(&mut self, steps_max: u64) -> DrainPlan {
        let corrupting = self.state.corrupting.iter();
        let open: Vec<CorruptingLink> =
            corrupting.filter(|corrupting| self.capacity.is_up(corrupting.link)).copied().collect();
        let (drain, gap) = self.drain(&open, steps_max);
        let mut keep = Vec::new();
        for corrupting in open {
            if !self.capacity.is_up(corrupting.link) {
                continue;
            }
            let links = self.same_cable(corrupting.link);
            let (_, because) = self.shortfall_without(&links).expect("all links that fit were taken");
            keep.push(KeptLink { corrupting, because });
        }
        keep.sort_by(|a, b| b.corrupting.loss.total_cmp(&a.corrupting.loss));
        DrainPlan { drain, keep, gap }
    }

    /// Returns the drains that become possible as links return: links that are down in the order of the
    /// state, then links being drained, then the advised ones, then later drains.
    pub fn order(&mut self, advice: &DrainPlan, steps_max: u64) -> Vec<RepairStep> {
        let out = self.state.out().map(|link| vec![link]);
        let out = out.chain(advice.drain.iter().map(|drain| drain.links.clone())).collect();
        let kept = advice.keep.iter().map(|kept| kept.corrupting).collect();
        RepairOrder::new(self, kept, out).steps(steps_max)
    }

    /// Puts links into service. Returns the scopes below them: a bandwidth that does not change may still
    /// depend less on another link.
    pub(super) fn bring_up(&mut self, links: &[LinkId]) -> Vec<ScopeId> {
        let mut changed = Vec::new();
        for link in links {
            self.capacity.bring_up(*link);
            changed.extend_from_slice(self.capacity.changed());
        }
        changed.sort_unstable();
        changed.dedup();
        for scope in &changed {
            // A scope with enough capacity does not get less by a return.
            if self.is_frozen[scope.index()] || self.required.get(*scope) < self.requested.get(*scope) {
                self.update_required(*scope);
            }
        }
        self.capacity.below(links)
    }

    pub(super) fn is_up(&self, link: LinkId) -> bool {
        self.capacity.is_up(link)
    }

    pub(super) fn tiers(&self) -> &'a Tiers {
        self.tiers
    }

    fn update_required(&mut self, scope: ScopeId) {
        let amount = self.capacity.amount(scope);
        let requested = if self.is_frozen[scope.index()] { amount } else { self.requested.get(scope) };
        self.required.reset(scope, requested.min(amount));
    }

    /// Selects and drains a subset of these links.
    pub(super) fn drain(&mut self, open: &[CorruptingLink], steps_max: u64) -> (Vec<DrainGroup>, f64) {
        let mut by_cable: BTreeMap<Vec<LinkId>, f64> = BTreeMap::new();
        for corrupting in open {
            *by_cable.entry(self.same_cable(corrupting.link)).or_default() += corrupting.loss;
        }
        let all: Vec<DrainGroup> =
            by_cable.into_iter().map(|(links, loss)| DrainGroup { links, loss }).collect();
        let item = |drain: &DrainGroup| Candidate {
            links: drain.links.clone(),
            value: Penalty::from_loss(drain.loss.min(2048.0)).raw().max(1),
        };
        let items: Vec<Candidate> = all.iter().map(item).collect();
        let choice = select(&mut *self.capacity, &self.required, &items, steps_max);
        let mut taken: Vec<DrainGroup> = choice.taken.iter().map(|place| all[*place].clone()).collect();
        taken.sort_by(|a, b| b.loss.total_cmp(&a.loss));
        (taken, Penalty::from_raw(choice.bound - choice.value).value())
    }

    /// Returns the links of the same cable that are up.
    pub(super) fn same_cable(&self, link: LinkId) -> Vec<LinkId> {
        self.tiers.repaired_with(link).into_iter().filter(|link| self.capacity.is_up(*link)).collect()
    }

    /// Returns the first scope that would have too little capacity without these links.
    pub(super) fn shortfall_without(&mut self, links: &[LinkId]) -> Option<(ScopeId, ScopeCapacity)> {
        let mut concerned = Vec::new();
        for link in links {
            self.capacity.take_down(*link);
            concerned.extend_from_slice(self.capacity.changed());
        }
        concerned.sort_unstable();
        concerned.dedup();
        let short = self.required.first_short(&mut *self.capacity, &concerned);
        let short = short.map(|scope| (scope, self.scope_capacity(scope, self.required.get(scope))));
        for link in links {
            self.capacity.bring_up(*link);
        }
        short
    }

    fn scope_capacity(&mut self, scope: ScopeId, required: u64) -> ScopeCapacity {
        let amount = self.capacity.amount(scope);
        ScopeCapacity {
            scope: self.capacity.scope(scope),
            amount,
            required,
            total: self.totals[scope.index()],
        }
    }
}

/// Shares of single ToRs and pods.
struct Shares<'a> {
    tiers: &'a Tiers,
    own: Constraints,
    /// Number of ToRs by pod.
    tors: Vec<u32>,
}

impl<'a> Shares<'a> {
    fn new(tiers: &'a Tiers, state: &FabricState) -> Self {
        let mut own = tiers.constraints().clone();
        own.tors.extend(&state.constraints.tors);
        own.pods.extend(&state.constraints.pods);
        let mut tors = vec![0; tiers.pod_count() as usize];
        for pod in tiers.tors().iter().filter_map(|tor| tiers.pod(*tor)) {
            tors[pod as usize] += 1;
        }
        Self { tiers, own, tors }
    }

    fn of(&self, scope: Scope) -> Option<f64> {
        match scope {
            Scope::Tor(tor) => self.of_tor(tor),
            Scope::Pod(pod) => self.own.pods.get(&pod).copied(),
            Scope::Domain(_) => None,
        }
    }

    /// The only ToR of a pod is the pod, so it must meet both constraints.
    fn of_tor(&self, tor: SwitchId) -> Option<f64> {
        let share = self.own.share_of_tor(self.tiers, tor)?;
        let pod = self.tiers.pod(tor).filter(|pod| self.tors[*pod as usize] == 1);
        let of_pod = pod.and_then(|pod| self.own.pods.get(&pod)).copied();
        Some(of_pod.map_or(share, |of_pod| of_pod.max(share)))
    }
}
