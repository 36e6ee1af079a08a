//! Number of paths of each switch to the top tier.

use std::collections::BinaryHeap;

use wiremend_units::{LinkId, SwitchId};

use super::builder::PATHS_MAX;
use super::link_service::LinkService;
use super::network::Tiers;
use super::scope::{Scope, ScopeId};
use super::scope_amounts::ScopeAmounts;

/// Number of paths from every switch to the top tier over links that are up: the sum over its uplinks of
/// the counts of their upper ends. A change of a link affects only the switches below it.
#[derive(Clone, Debug)]
pub struct PathCounts<'a> {
    tiers: &'a Tiers,
    service: LinkService<'a>,
    counts: Vec<u64>,
    /// ToRs whose count the last change affected.
    changed: Vec<ScopeId>,
    /// Difference not yet added to a switch.
    pending: Vec<i64>,
    /// Switches whose difference must be passed down, by tier.
    queue: BinaryHeap<(u8, u32)>,
}

impl<'a> PathCounts<'a> {
    /// Creates the counts with all links up.
    pub fn new(tiers: &'a Tiers) -> Self {
        let counts = all_up(tiers).expect("the fabric was validated");
        let switches = counts.len();
        Self {
            tiers,
            service: LinkService::new(tiers),
            counts,
            changed: Vec::new(),
            pending: vec![0; switches],
            queue: BinaryHeap::new(),
        }
    }

    /// Returns the number of paths of a switch.
    pub fn count(&self, switch: SwitchId) -> u64 {
        self.counts[switch.index()]
    }

    fn add(&mut self, switch: SwitchId, delta: i64) {
        if delta == 0 {
            return;
        }
        let pending = &mut self.pending[switch.index()];
        // All differences of one change have the same sign, so a pending difference never returns to 0.
        if *pending == 0 {
            match self.tiers.tier(switch) {
                0 => self.changed.push(ScopeId::tor(switch)),
                tier => self.queue.push((tier, switch.0)),
            }
        }
        *pending += delta;
    }
}

impl ScopeAmounts for PathCounts<'_> {
    fn tiers(&self) -> &Tiers {
        self.tiers
    }

    fn service(&self) -> &LinkService<'_> {
        &self.service
    }

    fn set(&mut self, link: LinkId, up: bool) {
        self.changed.clear();
        self.service.set(link, up);
        let ends = self.tiers.link(link);
        // All links that changed have the ends of this one.
        let ways = (self.counts[ends.upper.index()] * self.service.changed().len() as u64) as i64;
        self.add(ends.lower, if up { ways } else { -ways });
        while let Some((_, switch)) = self.queue.pop() {
            let delta = std::mem::take(&mut self.pending[switch as usize]);
            self.counts[switch as usize] = self.counts[switch as usize].strict_add_signed(delta);
            let tiers = self.tiers;
            let below =
                tiers.links_below(SwitchId(switch)).iter().zip(tiers.switches_below(SwitchId(switch)));
            for (link, lower) in below {
                if self.service.carries(*link) {
                    self.add(*lower, delta);
                }
            }
        }
        for tor in &self.changed {
            let delta = std::mem::take(&mut self.pending[tor.index()]);
            self.counts[tor.index()] = self.counts[tor.index()].strict_add_signed(delta);
        }
    }

    fn changed(&self) -> &[ScopeId] {
        &self.changed
    }

    fn scopes(&self) -> Vec<ScopeId> {
        self.tiers.tors().iter().map(|tor| ScopeId::tor(*tor)).collect()
    }

    fn scope(&self, id: ScopeId) -> Scope {
        Scope::Tor(SwitchId(id.index() as u32))
    }

    fn scope_count(&self) -> usize {
        self.counts.len()
    }

    fn amount(&mut self, scope: ScopeId) -> u64 {
        self.counts[scope.index()]
    }
}

/// Returns the number of paths of every switch with all links up; `None` if a count exceeds [`PATHS_MAX`].
pub(super) fn all_up(tiers: &Tiers) -> Option<Vec<u64>> {
    let mut order: Vec<u32> = (0..tiers.switch_count()).collect();
    order.sort_by_key(|switch| std::cmp::Reverse(tiers.tier(SwitchId(*switch))));
    let top = tiers.tier_count() - 1;
    let mut counts = vec![0_u64; order.len()];
    for switch in order.into_iter().map(SwitchId) {
        counts[switch.index()] = if tiers.tier(switch) == top {
            1
        } else {
            let above = tiers.links_above(switch).iter();
            above.map(|link| counts[tiers.link(*link).upper.index()]).fold(0, u64::saturating_add)
        };
        if counts[switch.index()] > PATHS_MAX {
            return None;
        }
    }
    Some(counts)
}
