//! Capacity of ToRs, pods and domains to the top tier: a number of paths, or a bandwidth.

use std::fmt;
use std::str::FromStr;

use wiremend_fabric::tiers::{Bandwidths, Cut, PathCounts, ScopeAmounts, ScopeId, Tiers};
use wiremend_units::{LinkId, SwitchId, canonical_name, unknown_name};

use crate::required::RequiredCapacity;

/// How capacity is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CapacityCount {
    /// Number of paths of each ToR, whatever their rate (CorrOpt).
    Paths,
    /// Maximum flow of each ToR, pod and domain in bit/s.
    #[default]
    Bandwidth,
}

/// Capacity of a fabric over the links in service. With fewer links no scope has more capacity.
pub trait Capacity: ScopeAmounts {
    /// Returns the scopes whose capacity may depend on one of these links, ascending.
    fn below(&self, links: &[LinkId]) -> Vec<ScopeId>;
    /// Returns conditions that every allowed selection of these candidates satisfies.
    fn relaxations(
        &mut self,
        candidates: &[&[LinkId]],
        scopes: &[ScopeId],
        required: &RequiredCapacity,
    ) -> Vec<Relaxation>;
}

/// A necessary condition: the costs of the selected candidates do not exceed a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relaxation {
    /// The limit.
    pub spare: u64,
    /// Index and cost of each candidate with a cost above 0.
    pub costs: Vec<(usize, u64)>,
}

impl Capacity for PathCounts<'_> {
    fn below(&self, links: &[LinkId]) -> Vec<ScopeId> {
        let tors = tors_below(self.tiers(), links, |link| self.carries(link));
        tors.into_iter().map(ScopeId::tor).collect()
    }

    /// A candidate costs a ToR at least the paths that it loses when all others are already down.
    /// Alternatively, since no path has more than `hops` links, it costs at least that fraction of the paths
    /// lost with it alone. Neither holds for a link of a LAG with a minimum of links: it counts nothing.
    fn relaxations(
        &mut self,
        candidates: &[&[LinkId]],
        scopes: &[ScopeId],
        required: &RequiredCapacity,
    ) -> Vec<Relaxation> {
        let hops = u64::from(self.tiers().tier_count()) - 1;
        let spare: Vec<u64> =
            scopes.iter().map(|tor| self.amount(*tor).saturating_sub(required.get(*tor))).collect();
        let alone = path_costs(self, candidates, scopes, true);
        for link in candidates.iter().flat_map(|links| links.iter()) {
            self.take_down(*link);
        }
        let last = path_costs(self, candidates, scopes, false);
        for link in candidates.iter().flat_map(|links| links.iter()) {
            self.bring_up(*link);
        }
        let alone = alone.into_iter().zip(&spare).map(|(costs, spare)| (costs, spare * hops));
        let last = last.into_iter().zip(&spare).map(|(costs, spare)| (costs, *spare));
        alone.chain(last).map(|(costs, spare)| Relaxation { spare, costs }).collect()
    }
}

/// Returns for each ToR the paths that it has over each candidate alone.
fn path_costs(
    paths: &mut PathCounts<'_>,
    candidates: &[&[LinkId]],
    tors: &[ScopeId],
    are_up: bool,
) -> Vec<Vec<(usize, u64)>> {
    let mut all = vec![Vec::new(); tors.len()];
    let set = |paths: &mut PathCounts<'_>, links: &[LinkId], up: bool| {
        for link in links {
            if up { paths.bring_up(*link) } else { paths.take_down(*link) }
        }
    };
    for (number, links) in candidates.iter().enumerate() {
        if links.iter().any(|link| paths.tiers().has_min_links(*link)) {
            continue;
        }
        let before: Vec<u64> = tors.iter().map(|tor| paths.amount(*tor)).collect();
        set(paths, links, !are_up);
        for (place, tor) in tors.iter().enumerate() {
            let cost = paths.amount(*tor).abs_diff(before[place]);
            if cost > 0 {
                all[place].push((number, cost));
            }
        }
        set(paths, links, are_up);
    }
    all
}

impl Capacity for Bandwidths<'_> {
    fn below(&self, links: &[LinkId]) -> Vec<ScopeId> {
        let tors = tors_below(self.tiers(), links, |link| self.carries(link));
        let mut groups: Vec<ScopeId> = tors.iter().flat_map(|tor| self.groups(*tor)).collect();
        groups.sort_unstable();
        groups.dedup();
        tors.into_iter().map(ScopeId::tor).chain(groups).collect()
    }

    /// The flow of a scope does not exceed the capacity of any cut. In a cut a candidate costs at least the
    /// rates of its links there. The cut at the ToRs is tried, and the smallest ones with all candidates in
    /// service and with none.
    fn relaxations(
        &mut self,
        candidates: &[&[LinkId]],
        scopes: &[ScopeId],
        required: &RequiredCapacity,
    ) -> Vec<Relaxation> {
        let mut cuts: Vec<(ScopeId, Cut)> = scopes
            .iter()
            .flat_map(|scope| [self.first_cut(*scope), self.min_cut(*scope)].map(|cut| (*scope, cut)))
            .collect();
        for link in candidates.iter().flat_map(|links| links.iter()) {
            self.take_down(*link);
        }
        cuts.extend(scopes.iter().map(|scope| (*scope, self.min_cut(*scope))));
        for link in candidates.iter().flat_map(|links| links.iter()) {
            self.bring_up(*link);
        }
        let relaxation = |(scope, cut): (ScopeId, Cut)| {
            let cost = |links: &&[LinkId]| links.iter().map(|link| self.rate_in_cut(&cut, *link)).sum();
            let costs = candidates.iter().map(cost).enumerate().filter(|(_, cost)| *cost > 0);
            Relaxation {
                spare: self.cut_bps(&cut).saturating_sub(required.get(scope)),
                costs: costs.collect(),
            }
        };
        cuts.into_iter().map(relaxation).collect()
    }
}

/// Returns the ToRs with paths over one of these links, ascending.
fn tors_below(tiers: &Tiers, links: &[LinkId], carries: impl Fn(LinkId) -> bool) -> Vec<SwitchId> {
    let mut open: Vec<SwitchId> =
        links.iter().filter(|link| carries(**link)).map(|link| tiers.link(*link).lower).collect();
    let (mut tors, mut seen) = (Vec::new(), Vec::new());
    while let Some(switch) = open.pop() {
        if tiers.tier(switch) == 0 {
            tors.push(switch);
        } else if !seen.contains(&switch) {
            seen.push(switch);
            let lower = tiers.links_below(switch).iter().filter(|link| carries(**link));
            open.extend(lower.map(|link| tiers.link(*link).lower));
        }
    }
    tors.sort_unstable();
    tors.dedup();
    tors
}

impl CapacityCount {
    const NAMES: [&str; 2] = ["paths", "bandwidth"];

    /// Counts the capacity of a fabric with all links in service.
    pub fn measure(self, tiers: &Tiers) -> Box<dyn Capacity + '_> {
        match self {
            Self::Paths => Box::new(PathCounts::new(tiers)),
            Self::Bandwidth => Box::new(Bandwidths::new(tiers)),
        }
    }
}

/// `paths` or `bandwidth`.
impl fmt::Display for CapacityCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES[usize::from(*self == Self::Bandwidth)])
    }
}

impl FromStr for CapacityCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match canonical_name(text, &Self::NAMES) {
            Some("paths") => Ok(Self::Paths),
            Some(_) => Ok(Self::Bandwidth),
            None => Err(unknown_name("count", text, &Self::NAMES)),
        }
    }
}
