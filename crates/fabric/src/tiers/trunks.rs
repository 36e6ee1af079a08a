//! Trunks: all links between two switches, and all links from a group of ToRs to a switch.

use std::ops::Range;

use wiremend_units::{LinkId, SwitchId};

use super::network::Tiers;
use super::scope::{Scope, ScopeId};

/// Trunks of a fabric between its nodes: switches by number, then pods, then domains with several pods. A
/// group sends at the switches above its ToRs; its trunk to such a switch has the capacity of the trunks of
/// all its ToRs.
#[derive(Clone, Debug)]
pub(super) struct Trunks {
    /// Trunk of each link.
    of_link: Vec<u32>,
    /// Lower and upper node. Trunks are numbered by lower node, then by upper node.
    ends: Vec<(u32, u32)>,
    /// First trunk above each node; one more entry at the end.
    above: Vec<u32>,
    /// Trunks by upper switch, and the first of each switch.
    below: Vec<u32>,
    below_starts: Vec<u32>,
    /// Domain of each ToR's switch if it has several pods: its node, or `u32::MAX`.
    domain_of: Vec<u32>,
    /// First ToR of each domain with several pods.
    domains: Vec<SwitchId>,
}

impl Trunks {
    pub(super) fn new(tiers: &Tiers) -> Self {
        let (domain_of, domains) = wide_domains(tiers);
        let mut trunks = Self {
            of_link: vec![0; tiers.link_count() as usize],
            ends: Vec::new(),
            above: vec![0],
            below: Vec::new(),
            below_starts: Vec::new(),
            domain_of,
            domains,
        };
        let mut sorted: Vec<(u32, LinkId)> = Vec::new();
        for switch in (0..tiers.switch_count()).map(SwitchId) {
            sorted.clear();
            sorted.extend(tiers.links_above(switch).iter().map(|link| (tiers.link(*link).upper.0, *link)));
            sorted.sort_unstable();
            for (upper, link) in &sorted {
                if trunks.ends.last() != Some(&(switch.0, *upper)) {
                    trunks.ends.push((switch.0, *upper));
                }
                trunks.of_link[link.index()] = trunks.ends.len() as u32 - 1;
            }
            trunks.above.push(trunks.ends.len() as u32);
        }
        trunks.add_groups(tiers);
        trunks.sort_below(tiers.switch_count() as usize);
        trunks
    }

    /// Adds the trunks of pods and domains.
    fn add_groups(&mut self, tiers: &Tiers) {
        let first = tiers.switch_count();
        let count = tiers.pod_count() as usize + self.domains.len();
        let mut uppers: Vec<Vec<u32>> = vec![Vec::new(); count];
        for tor in tiers.tors() {
            let above = self.above(tor.0);
            for group in self.groups(tiers, *tor).into_iter().flatten() {
                uppers[(group - first) as usize].extend(self.ends[above.clone()].iter().map(|ends| ends.1));
            }
        }
        for (mut uppers, group) in uppers.into_iter().zip(first..) {
            uppers.sort_unstable();
            uppers.dedup();
            self.ends.extend(uppers.into_iter().map(|upper| (group, upper)));
            self.above.push(self.ends.len() as u32);
        }
    }

    fn sort_below(&mut self, switches: usize) {
        let mut starts = vec![0_u32; switches + 1];
        for (_, upper) in &self.ends {
            starts[*upper as usize + 1] += 1;
        }
        for switch in 0..switches {
            starts[switch + 1] += starts[switch];
        }
        let mut next = starts.clone();
        self.below = vec![0; self.ends.len()];
        for ((_, upper), trunk) in self.ends.iter().zip(0..) {
            let place = &mut next[*upper as usize];
            self.below[*place as usize] = trunk;
            *place += 1;
        }
        self.below_starts = starts;
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn node_count(&self) -> usize {
        self.above.len() - 1
    }

    pub(super) fn of_link(&self, link: LinkId) -> usize {
        self.of_link[link.index()] as usize
    }

    /// Returns the lower and the upper node of a trunk.
    pub(super) fn ends(&self, trunk: usize) -> (u32, u32) {
        self.ends[trunk]
    }

    /// Returns the trunks from a node up.
    pub(super) fn above(&self, node: u32) -> Range<usize> {
        self.above[node as usize] as usize..self.above[node as usize + 1] as usize
    }

    /// Returns the trunks from a switch down.
    pub(super) fn below(&self, switch: u32) -> &[u32] {
        let index = switch as usize;
        &self.below[self.below_starts[index] as usize..self.below_starts[index + 1] as usize]
    }

    /// Returns the nodes of a ToR's pod and of its domain, if it has several pods.
    pub(super) fn groups(&self, tiers: &Tiers, tor: SwitchId) -> [Option<u32>; 2] {
        let pod = tiers.pod(tor).map(|pod| tiers.switch_count() + pod);
        [pod, Some(self.domain_of[tor.index()]).filter(|domain| *domain != u32::MAX)]
    }

    /// Returns the trunk of a group that contains a ToR's trunk to this switch.
    pub(super) fn of_group(&self, group: u32, upper: u32) -> Option<usize> {
        let above = self.above(group);
        let place = self.ends[above.clone()].binary_search(&(group, upper)).ok()?;
        Some(above.start + place)
    }

    /// Returns the domain of a switch, if it has several pods.
    pub(super) fn domain(&self, switch: u32) -> Option<u32> {
        Some(self.domain_of[switch as usize]).filter(|domain| *domain != u32::MAX)
    }

    pub(super) fn scope(&self, tiers: &Tiers, id: ScopeId) -> Scope {
        let (number, switches) = (id.index() as u32, tiers.switch_count());
        match number.checked_sub(switches) {
            None => Scope::Tor(SwitchId(number)),
            Some(group) if group < tiers.pod_count() => Scope::Pod(group),
            Some(group) => Scope::Domain(self.domains[(group - tiers.pod_count()) as usize]),
        }
    }
}

/// Returns the node of each switch's domain, if it has several pods, and the first ToR of each such domain.
fn wide_domains(tiers: &Tiers) -> (Vec<u32>, Vec<SwitchId>) {
    let all = tiers.domains();
    let count = all.iter().max().map_or(0, |last| *last as usize + 1);
    // First ToR of each domain, and whether another pod has ToRs there.
    let mut firsts: Vec<Option<(SwitchId, bool)>> = vec![None; count];
    for tor in tiers.tors() {
        match &mut firsts[all[tor.index()] as usize] {
            Some((first, is_wide)) => *is_wide |= tiers.pod(*first) != tiers.pod(*tor),
            none => *none = Some((*tor, false)),
        }
    }
    let mut nodes = vec![u32::MAX; count];
    let mut domains = Vec::new();
    for (node, first) in nodes.iter_mut().zip(firsts) {
        if let Some((first, true)) = first {
            *node = tiers.switch_count() + tiers.pod_count() + domains.len() as u32;
            domains.push(first);
        }
    }
    (all.into_iter().map(|domain| nodes[domain as usize]).collect(), domains)
}
