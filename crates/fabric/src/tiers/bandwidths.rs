//! Bandwidth of each ToR, pod and domain to the top tier.

use std::collections::BTreeSet;

use wiremend_units::{LinkId, SwitchId};

use super::link_service::LinkService;
use super::max_flow::{FlowNetwork, SINK, SOURCE};
use super::network::Tiers;
use super::scope::{Scope, ScopeId};
use super::scope_amounts::ScopeAmounts;
use super::trunks::Trunks;

/// Maximum flow from every ToR, every pod and every domain to the top tier over links that carry traffic, in
/// bit/s. A ToR sends alone; the ToRs of a pod or of a domain with several pods send at the same time, each
/// as much as its links carry.
///
/// Where the switches above a scope share no switch below the top tier, the flow is a sum: over its upper
/// ends, the smaller of the bandwidth to the upper end and the upper end's own. A change of a link then
/// changes only sums below it. Other scopes are solved when they are asked for.
#[derive(Clone, Debug)]
pub struct Bandwidths<'a> {
    tiers: &'a Tiers,
    service: LinkService<'a>,
    trunks: Trunks,
    /// Capacity of each trunk.
    capacities: Vec<u64>,
    /// Flow of each node; `u64::MAX` for the top tier.
    flows: Vec<u64>,
    /// Whether the flow of a node is a sum.
    is_sum: Vec<bool>,
    /// Whether the flow of a node must be solved again.
    is_stale: Vec<bool>,
    /// Whether ToRs or pods exist whose flow is not a sum.
    has_shared_tors: bool,
    changed: Vec<ScopeId>,
    network: FlowNetwork,
    /// Number of each node in the network, and the nodes that have one.
    places: Vec<u32>,
    nodes: Vec<u32>,
}

/// A cut between a scope and the top tier: trunks that all of its paths use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    scope: ScopeId,
    /// Ascending.
    trunks: Vec<usize>,
    /// Capacity of the trunks in bit/s; no flow of the scope exceeds it.
    pub capacity_bps: u64,
}

const NO_PLACE: u32 = u32::MAX;

impl<'a> Bandwidths<'a> {
    /// Measures the fabric with all links in service.
    pub fn new(tiers: &'a Tiers) -> Self {
        let trunks = Trunks::new(tiers);
        let nodes = trunks.node_count();
        let mut all = Self {
            tiers,
            service: LinkService::new(tiers),
            capacities: vec![0; trunks.count()],
            flows: vec![0; nodes],
            is_sum: vec![false; nodes],
            is_stale: vec![true; nodes],
            has_shared_tors: false,
            changed: Vec::new(),
            network: FlowNetwork::default(),
            places: vec![NO_PLACE; nodes],
            nodes: Vec::new(),
            trunks,
        };
        for link in tiers.links() {
            let trunk = all.trunks.of_link(link);
            all.capacities[trunk] += tiers.link(link).rate.bits_per_s();
        }
        for tor in tiers.tors() {
            for trunk in all.trunks.above(tor.0) {
                for group in all.trunks.groups(tiers, *tor).into_iter().flatten() {
                    let whole = all.group_trunk(group, trunk);
                    all.capacities[whole] += all.capacities[trunk];
                }
            }
        }
        all.find_sums();
        all
    }

    /// Finds the nodes whose flow is a sum, and computes it from the top tier down.
    fn find_sums(&mut self) {
        let (top, switches) = (self.tiers.tier_count() - 1, self.tiers.switch_count());
        let mut order: Vec<u32> = (0..switches).collect();
        order.sort_by_key(|switch| std::cmp::Reverse(self.tiers.tier(SwitchId(*switch))));
        let mut seen = vec![u32::MAX; switches as usize];
        let mut open = Vec::new();
        for node in order.into_iter().chain(switches..self.trunks.node_count() as u32) {
            if node < switches && self.tiers.tier(SwitchId(node)) == top {
                (self.flows[node as usize], self.is_sum[node as usize]) = (u64::MAX, true);
                continue;
            }
            open.clear();
            open.push(node);
            let mut is_sum = true;
            while let Some(at) = open.pop().filter(|_| is_sum) {
                for upper in self.middle_above(at) {
                    is_sum &= std::mem::replace(&mut seen[upper as usize], node) != node;
                    open.push(upper);
                }
            }
            self.is_sum[node as usize] = is_sum;
            if is_sum {
                self.flows[node as usize] = self.trunks.above(node).map(|trunk| self.through(trunk)).sum();
            } else if node < switches + self.tiers.pod_count() {
                self.has_shared_tors = true;
            }
        }
    }

    /// Iterates over the switches below the top tier at the upper ends of a node.
    fn middle_above(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let uppers = self.trunks.above(node).map(|trunk| self.trunks.ends(trunk).1);
        uppers.filter(|upper| self.flows[*upper as usize] != u64::MAX)
    }

    /// Returns what flows through a trunk if the flow of its upper end is a sum.
    fn through(&self, trunk: usize) -> u64 {
        self.capacities[trunk].min(self.flows[self.trunks.ends(trunk).1 as usize])
    }

    fn group_trunk(&self, group: u32, trunk: usize) -> usize {
        let (_, upper) = self.trunks.ends(trunk);
        self.trunks.of_group(group, upper).expect("a group has a trunk to each switch above its ToRs")
    }

    /// Returns the pod and the domain of a ToR.
    pub fn groups(&self, tor: SwitchId) -> impl Iterator<Item = ScopeId> + use<> {
        self.trunks.groups(self.tiers, tor).into_iter().flatten().map(ScopeId::new)
    }

    /// Changes the capacity of a trunk and the sums below it.
    fn change(&mut self, trunk: usize, bps: u64, up: bool) {
        let (lower, upper) = self.trunks.ends(trunk);
        let before = self.capacities[trunk];
        let after = if up { before + bps } else { before - bps };
        self.capacities[trunk] = after;
        if self.is_sum[lower as usize] {
            let flow = self.flows[upper as usize];
            self.change_sum(lower, before.min(flow), after.min(flow));
        }
    }

    /// Replaces a part of a node's flow, and what follows below.
    fn change_sum(&mut self, node: u32, part: u64, new_part: u64) {
        if part == new_part || !self.is_sum[node as usize] {
            return;
        }
        let before = self.flows[node as usize];
        let after = before - part + new_part;
        self.flows[node as usize] = after;
        if node >= self.tiers.switch_count() || self.tiers.tier(SwitchId(node)) == 0 {
            self.changed.push(ScopeId::new(node));
            return;
        }
        for place in 0..self.trunks.below(node).len() {
            let trunk = self.trunks.below(node)[place] as usize;
            let capacity = self.capacities[trunk];
            self.change_sum(self.trunks.ends(trunk).0, capacity.min(before), capacity.min(after));
        }
    }

    /// Marks the scopes above whose links `lower` may be, and whose flow is not a sum.
    fn mark_stale(&mut self, lower: SwitchId) {
        if let Some(domain) = self.trunks.domain(lower.0).filter(|domain| !self.is_sum[*domain as usize]) {
            self.is_stale[domain as usize] = true;
            self.changed.push(ScopeId::new(domain));
        }
        if !self.has_shared_tors {
            return;
        }
        let mut scopes = Vec::new();
        for tor in self.tors_below(lower) {
            scopes.push(ScopeId::tor(tor));
            scopes.extend(self.tiers.pod(tor).map(|pod| ScopeId::pod(self.tiers, pod)));
        }
        scopes.retain(|scope| !self.is_sum[scope.index()]);
        scopes.sort_unstable();
        scopes.dedup();
        for scope in scopes {
            self.is_stale[scope.index()] = true;
            self.changed.push(scope);
        }
    }

    /// Returns the ToRs that are this switch or below it, over links in service or not.
    fn tors_below(&self, switch: SwitchId) -> Vec<SwitchId> {
        let mut open = vec![switch.0];
        let (mut tors, mut seen) = (Vec::new(), BTreeSet::new());
        while let Some(switch) = open.pop() {
            if self.tiers.tier(SwitchId(switch)) == 0 {
                tors.push(SwitchId(switch));
            } else if seen.insert(switch) {
                let lower = self.trunks.below(switch).iter().map(|trunk| self.trunks.ends(*trunk as usize).0);
                open.extend(lower.filter(|node| *node < self.tiers.switch_count()));
            }
        }
        tors
    }

    /// Solves the maximum flow of a node.
    fn solve(&mut self, node: u32) -> u64 {
        for node in self.nodes.drain(..) {
            self.places[node as usize] = NO_PLACE;
        }
        self.network.clear();
        self.places[node as usize] = SOURCE;
        self.nodes.push(node);
        let mut at = 0;
        while let Some(from) = self.nodes.get(at).copied() {
            at += 1;
            let mut to_top = 0;
            for trunk in self.trunks.above(from) {
                let upper = self.trunks.ends(trunk).1;
                if self.flows[upper as usize] == u64::MAX {
                    to_top += self.capacities[trunk];
                    continue;
                }
                if self.places[upper as usize] == NO_PLACE {
                    self.places[upper as usize] = self.network.add_node();
                    self.nodes.push(upper);
                }
                self.network.add_edge(
                    self.places[from as usize],
                    self.places[upper as usize],
                    self.capacities[trunk],
                );
            }
            self.network.add_edge(self.places[from as usize], SINK, to_top);
        }
        self.network.solve()
    }

    /// Returns the cut at the ToRs of a scope.
    pub fn first_cut(&self, scope: ScopeId) -> Cut {
        self.cut(scope, self.trunks.above(scope.index() as u32).collect())
    }

    /// Returns a cut whose capacity is the flow of the scope.
    pub fn min_cut(&mut self, scope: ScopeId) -> Cut {
        let node = scope.index() as u32;
        let mut trunks = Vec::new();
        if self.is_sum[scope.index()] {
            let mut open = vec![node];
            while let Some(at) = open.pop() {
                for trunk in self.trunks.above(at) {
                    let upper = self.trunks.ends(trunk).1;
                    if self.capacities[trunk] <= self.flows[upper as usize] {
                        trunks.push(trunk);
                    } else {
                        open.push(upper);
                    }
                }
            }
        } else {
            self.solve(node);
            for from in self.nodes.iter().filter(|node| self.network.is_reached(self.places[**node as usize]))
            {
                for trunk in self.trunks.above(*from) {
                    let place = self.places[self.trunks.ends(trunk).1 as usize];
                    if place == NO_PLACE || !self.network.is_reached(place) {
                        trunks.push(trunk);
                    }
                }
            }
        }
        trunks.sort_unstable();
        self.cut(scope, trunks)
    }

    fn cut(&self, scope: ScopeId, trunks: Vec<usize>) -> Cut {
        let capacity_bps = trunks.iter().map(|trunk| self.capacities[*trunk]).sum();
        Cut { scope, trunks, capacity_bps }
    }

    /// Returns the capacity of a cut now.
    pub fn cut_bps(&self, cut: &Cut) -> u64 {
        cut.trunks.iter().map(|trunk| self.capacities[*trunk]).sum()
    }

    /// Returns the rate of a link in a cut: 0 if it is not part of it, or carries nothing.
    pub fn rate_in_cut(&self, cut: &Cut, link: LinkId) -> u64 {
        if !self.carries(link) {
            return 0;
        }
        let trunk = self.trunks.of_link(link);
        let (lower, group) = (self.tiers.link(link).lower, cut.scope.index() as u32);
        let is_first = group >= self.tiers.switch_count() && self.tiers.tier(lower) == 0;
        let trunk = if !is_first {
            Some(trunk)
        } else if self.tiers.is_tor(lower) && self.trunks.groups(self.tiers, lower).contains(&Some(group)) {
            Some(self.group_trunk(group, trunk))
        } else {
            None
        };
        let is_part = trunk.is_some_and(|trunk| cut.trunks.binary_search(&trunk).is_ok());
        if is_part { self.tiers.link(link).rate.bits_per_s() } else { 0 }
    }
}

impl ScopeAmounts for Bandwidths<'_> {
    fn tiers(&self) -> &Tiers {
        self.tiers
    }

    fn service(&self) -> &LinkService<'_> {
        &self.service
    }

    fn set(&mut self, link: LinkId, up: bool) {
        self.changed.clear();
        self.service.set(link, up);
        let bps: u64 =
            self.service.changed().iter().map(|link| self.tiers.link(*link).rate.bits_per_s()).sum();
        if bps == 0 {
            return;
        }
        // All links that changed belong to the trunk of this one.
        let trunk = self.trunks.of_link(link);
        let lower = self.tiers.link(link).lower;
        self.mark_stale(lower);
        self.change(trunk, bps, up);
        // A switch of the lowest tier without a path to the top tier is no ToR, and part of no group.
        if self.tiers.tier(lower) == 0 && self.tiers.is_tor(lower) {
            for group in self.trunks.groups(self.tiers, lower).into_iter().flatten() {
                self.change(self.group_trunk(group, trunk), bps, up);
            }
        }
    }

    fn changed(&self) -> &[ScopeId] {
        &self.changed
    }

    /// ToRs, pods with several ToRs, domains with several pods.
    fn scopes(&self) -> Vec<ScopeId> {
        let pods = (0..self.tiers.pod_count()).map(|pod| ScopeId::pod(self.tiers, pod));
        let mut tors = vec![0_u32; self.tiers.pod_count() as usize];
        for pod in self.tiers.tors().iter().filter_map(|tor| self.tiers.pod(*tor)) {
            tors[pod as usize] += 1;
        }
        let pods = pods.zip(tors).filter(|(_, tors)| *tors > 1).map(|(pod, _)| pod);
        let domains = self.tiers.switch_count() + self.tiers.pod_count()..self.trunks.node_count() as u32;
        let tors = self.tiers.tors().iter().map(|tor| ScopeId::tor(*tor));
        tors.chain(pods).chain(domains.map(ScopeId::new)).collect()
    }

    fn scope(&self, id: ScopeId) -> Scope {
        self.trunks.scope(self.tiers, id)
    }

    fn scope_count(&self) -> usize {
        self.trunks.node_count()
    }

    /// The maximum flow in bit/s.
    fn amount(&mut self, scope: ScopeId) -> u64 {
        let node = scope.index();
        if !self.is_sum[node] && self.is_stale[node] {
            self.flows[node] = self.solve(node as u32);
            self.is_stale[node] = false;
        }
        self.flows[node]
    }
}
