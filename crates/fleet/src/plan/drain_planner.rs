//! Advice for the current state of a fabric.

use std::collections::{BTreeMap, VecDeque};

use wiremend_fabric::tiers::{PathCounts, Tiers};
use wiremend_units::{LinkId, SwitchId};

use super::fabric_state::{CorruptingLink, FabricState};
use crate::optimize::{Candidate, RequiredPaths, select};
use crate::penalty::Penalty;

/// A fabric in a state, with the required paths of every ToR.
pub struct DrainPlanner<'a> {
    tiers: &'a Tiers,
    state: &'a FabricState,
    paths: PathCounts<'a>,
    totals: BTreeMap<SwitchId, u64>,
    /// As configured.
    requested: RequiredPaths,
    /// As configured, lowered to the existing paths.
    required: RequiredPaths,
}

/// Paths of a ToR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TorPaths {
    /// The ToR.
    pub tor: SwitchId,
    /// Number of paths.
    pub paths: u64,
    /// Number of required paths.
    pub required: u64,
    /// Number of paths with all links up.
    pub total: u64,
}

/// Why a link cannot be drained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DrainRefusal {
    /// The link is already out of service.
    AlreadyOut,
    /// This ToR would have too few paths; its numbers are those after the drain.
    TooFewPaths(TorPaths),
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
    /// A ToR that needs the link, with its paths after a drain.
    pub because: TorPaths,
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
    /// Creates a planner. Every ToR must keep the share `constraint` of its paths, or its share in `state`.
    pub fn new(tiers: &'a Tiers, state: &'a FabricState, constraint: f64) -> Self {
        let mut paths = PathCounts::new(tiers);
        let mut requested = RequiredPaths::new(tiers, &paths, constraint);
        let totals: BTreeMap<_, _> = tiers.tors().iter().map(|tor| (*tor, paths.count(*tor))).collect();
        for (tor, part) in &state.tors {
            requested.set(*tor, totals[tor], *part);
        }
        for link in state.out() {
            paths.take_down(link);
        }
        let mut required = requested.clone();
        for tor in tiers.tors() {
            required.lower_to(*tor, paths.count(*tor));
        }
        Self { tiers, state, paths, totals, requested, required }
    }

    /// Returns the ToRs that already have too few paths.
    pub fn short_of_paths(&self) -> Vec<TorPaths> {
        let tors = self.tiers.tors().iter().map(|tor| self.tor_paths(*tor, &self.requested));
        tors.filter(|tor_paths| tor_paths.paths < tor_paths.required).collect()
    }

    /// Iterates over all ToRs with their paths and required paths.
    pub fn all_tor_paths(&self) -> impl Iterator<Item = TorPaths> + '_ {
        self.tiers.tors().iter().map(|tor| self.tor_paths(*tor, &self.requested))
    }

    /// Checks whether a link and all links of its cable may be drained. Returns these links, or the reason.
    pub fn may_drain(&mut self, link: LinkId) -> Result<Vec<LinkId>, DrainRefusal> {
        if !self.paths.is_up(link) {
            return Err(DrainRefusal::AlreadyOut);
        }
        let links = self.same_cable(link);
        let short = self.shortfall_without(&links);
        short.map_or(Ok(links), |tor| Err(DrainRefusal::TooFewPaths(tor)))
    }

    /// Marks these links as drained.
    pub fn take_out(&mut self, links: &[LinkId]) {
        for link in links {
            self.paths.take_down(*link);
        }
    }

    /// Selects the corrupting links to drain now and marks them as drained.
    pub fn advise(&mut self, steps_max: u64) -> DrainPlan {
        let open: Vec<CorruptingLink> = self
            .state
            .corrupting
            .iter()
            .filter(|corrupting| self.paths.is_up(corrupting.link))
            .copied()
            .collect();
        let (drain, gap) = self.drain(&open, steps_max);
        let mut keep = Vec::new();
        for corrupting in open {
            if !self.paths.is_up(corrupting.link) {
                continue;
            }
            let links = self.same_cable(corrupting.link);
            let because = self.shortfall_without(&links).expect("all links that fit were taken");
            keep.push(KeptLink { corrupting, because });
        }
        keep.sort_by(|a, b| b.corrupting.loss.total_cmp(&a.corrupting.loss));
        DrainPlan { drain, keep, gap }
    }

    /// Returns the drains that become possible as links return: links that are down in the order of the
    /// state, then links being drained, then the advised ones, then later drains.
    pub fn order(&mut self, advice: &DrainPlan, steps_max: u64) -> Vec<RepairStep> {
        let mut out: VecDeque<Vec<LinkId>> = self.state.out().map(|link| vec![link]).collect();
        out.extend(advice.drain.iter().map(|drain| drain.links.clone()));
        let mut open: Vec<CorruptingLink> = advice.keep.iter().map(|kept| kept.corrupting).collect();
        let mut steps = Vec::new();
        while let Some(returned) = out.pop_front().filter(|_| !open.is_empty()) {
            for link in &returned {
                self.paths.bring_up(*link);
                for tor in self.paths.changed() {
                    self.required.reset(*tor, self.requested.get(*tor).min(self.paths.count(*tor)));
                }
            }
            let (drain, _) = self.drain(&open, steps_max);
            open.retain(|corrupting| self.paths.is_up(corrupting.link));
            out.extend(drain.iter().map(|drain| drain.links.clone()));
            steps.push(RepairStep { returned, drain });
        }
        steps
    }

    /// Selects and drains a subset of these links.
    fn drain(&mut self, open: &[CorruptingLink], steps_max: u64) -> (Vec<DrainGroup>, f64) {
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
        let choice = select(&mut self.paths, &self.required, &items, steps_max);
        let mut taken: Vec<DrainGroup> = choice.taken.iter().map(|place| all[*place].clone()).collect();
        taken.sort_by(|a, b| b.loss.total_cmp(&a.loss));
        (taken, Penalty::from_raw(choice.bound - choice.value).value())
    }

    /// Returns the links of the same cable that are up.
    fn same_cable(&self, link: LinkId) -> Vec<LinkId> {
        self.tiers.repaired_with(link).into_iter().filter(|link| self.paths.is_up(*link)).collect()
    }

    /// Returns the first ToR that would have too few paths without these links.
    fn shortfall_without(&mut self, links: &[LinkId]) -> Option<TorPaths> {
        let mut concerned = Vec::new();
        for link in links {
            self.paths.take_down(*link);
            concerned.extend_from_slice(self.paths.changed());
        }
        let short = self
            .required
            .first_short_of_paths(&self.paths, &concerned)
            .map(|tor| self.tor_paths(tor, &self.required));
        for link in links {
            self.paths.bring_up(*link);
        }
        short
    }

    fn tor_paths(&self, tor: SwitchId, required: &RequiredPaths) -> TorPaths {
        TorPaths { tor, paths: self.paths.count(tor), required: required.get(tor), total: self.totals[&tor] }
    }
}
