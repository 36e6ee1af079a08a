//! Check of the routes with failed links.

use wiremend_units::LinkId;

use super::check::{CheckError, DeadlockCheck, DeadlockVerdict, Destination};
use super::cycle::ranks;
use super::dependencies::Dependencies;
use super::shortest_paths::{Class, ShortestPaths};
use super::switch_lanes::Slot;
use crate::graph::{Graph, LinkRole};
use crate::topology::Topology;

/// Maximum number of combinations of failed links.
pub const CASES_MAX: u64 = 10_000;
/// Maximum number of recorded cases with cycles, for each way to reroute.
const EXAMPLES_MAX: usize = 16;

/// How switches reroute around a failed link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reroute {
    /// All switches have recomputed their shortest paths.
    Everywhere,
    /// Only the switches at its ends have rerouted: where they lost the last path to a destination, they
    /// use shortest paths of the remaining network. All other switches are unchanged. This is the state
    /// before convergence.
    AtTheLink,
}

/// Sets of links to fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailureCases {
    cases: Vec<(Vec<LinkId>, u64)>,
    by_symmetry: bool,
}

impl FailureCases {
    /// Returns one link of each kind. All links between edge and aggregation switches of a fat-tree are
    /// equivalent, as are those between aggregation and core, and those between leaves and spines. `None`
    /// for other topologies. Overrides break this symmetry.
    pub fn one_of_each_kind(topology: &Topology, graph: &Graph) -> Option<Self> {
        if !matches!(topology, Topology::FatTree { .. } | Topology::LeafSpine { .. }) {
            return None;
        }
        let mut kinds = Vec::new();
        let mut cases: Vec<(Vec<LinkId>, u64)> = Vec::new();
        for link in switch_links(graph) {
            let role = |node| match graph.node(node) {
                crate::Node::Switch(switch) => Some(graph.role(switch)),
                crate::Node::Host(_) => None,
            };
            let kind = (role(graph.link(link).a), role(graph.link(link).b));
            if let Some(known) = kinds.iter().position(|known| *known == kind) {
                cases[known].1 += 1;
            } else {
                kinds.push(kind);
                cases.push((vec![link], 1));
            }
        }
        Some(Self { cases, by_symmetry: true })
    }

    /// Returns all sets of up to `count` links between switches. Links of hosts have no alternative path.
    pub fn up_to(count: u32, graph: &Graph) -> Result<Self, CheckError> {
        let links: Vec<LinkId> = switch_links(graph).collect();
        let (mut of_size, mut cases) = (1_u64, 0_u64);
        for chosen in 1..=u64::from(count) {
            let left = (links.len() as u64 + 1).saturating_sub(chosen);
            of_size = of_size.saturating_mul(left) / chosen;
            cases = cases.saturating_add(of_size);
        }
        if cases > CASES_MAX {
            return Err(CheckError::TooManyCases { cases, max: CASES_MAX });
        }
        let mut sets: Vec<Vec<LinkId>> = vec![Vec::new()];
        let mut first = 0;
        for _ in 0..count {
            let end = sets.len();
            for place in first..end {
                let last = sets[place].last().copied();
                let behind = links.iter().filter(|link| last.is_none_or(|last| **link > last));
                let larger: Vec<_> = behind.map(|link| [&sets[place][..], &[*link]].concat()).collect();
                sets.extend(larger);
            }
            first = end;
        }
        Ok(Self { cases: sets.into_iter().skip(1).map(|set| (set, 1)).collect(), by_symmetry: false })
    }
}

fn switch_links(graph: &Graph) -> impl Iterator<Item = LinkId> {
    (0..graph.links().len() as u32).map(LinkId).filter(|link| graph.link_role(*link) == LinkRole::Switch)
}

/// Result of a survey of failures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailureSurvey {
    /// Number of sets of failed links, including equivalent ones.
    pub cases: u64,
    /// Number of examined sets.
    pub examined: usize,
    /// Whether each examined set represents all equivalent ones.
    pub by_symmetry: bool,
    /// Number of sets with cycles after all switches have rerouted.
    pub cyclic_everywhere: u64,
    /// Number of sets with cycles while only the switches at the links have rerouted.
    pub cyclic_at_the_link: u64,
    /// Examples with cycles.
    pub examples: Vec<FailureCase>,
}

/// A set of failed links that causes cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailureCase {
    /// The links.
    pub links: Vec<LinkId>,
    /// Number of equivalent sets.
    pub stands_for: u64,
    /// How the switches rerouted.
    pub reroute: Reroute,
    /// Result of the check.
    pub verdict: DeadlockVerdict,
}

impl DeadlockCheck<'_> {
    /// Checks the routes while these links are down.
    pub fn failed(&self, links: &[LinkId], reroute: Reroute) -> DeadlockVerdict {
        let dead = self.switch_lanes.without(links);
        let mut remaining = ShortestPaths::new(&self.switch_lanes, &self.hosts, &dead);
        let mut whole = ShortestPaths::new(&self.switch_lanes, &self.hosts, &[]);
        let ends = self.ends(links);
        let (dependencies, loops) = self.examine(&mut remaining, |remaining, class| match reroute {
            Reroute::Everywhere => (!class.overrides.is_empty()).then(|| remaining.next_hops(class)),
            Reroute::AtTheLink => {
                // A switch that keeps a shortest path keeps its distance. If all do, so does the class.
                let is_unusual = !class.overrides.is_empty() || whole.any_switch_loses(class, &ends, &dead);
                is_unusual.then(|| local_reroute(&mut whole, remaining, &dead, class))
            }
        });
        self.judge(&dependencies, &loops)
    }

    /// Checks many failures. Returns `None` if the routes without failures already have cycles
    /// ([`DeadlockVerdict::order`]).
    ///
    /// A failed link changes few classes. If all switches keep a shortest path to a class, its dependencies
    /// are a subset of those without failures. Only the other classes are recomputed first; all classes are
    /// recomputed if these do not decide the case, or for an example.
    pub fn survey(&self, failures: &FailureCases) -> Option<FailureSurvey> {
        let mut whole = ShortestPaths::new(&self.switch_lanes, &self.hosts, &[]);
        let (before, _) = self.examine(&mut whole, |paths, class| {
            (!class.overrides.is_empty()).then(|| paths.next_hops(class))
        });
        ranks(&before)?;
        let together = failures.cases.iter().map(|(links, _)| links.len()).max().unwrap_or(0);
        let relying = self.relying(&mut whole, together, &failures.cases);
        let mut survey = FailureSurvey {
            cases: failures.cases.iter().map(|(_, alike)| alike).sum(),
            examined: failures.cases.len(),
            by_symmetry: failures.by_symmetry,
            cyclic_everywhere: 0,
            cyclic_at_the_link: 0,
            examples: Vec::new(),
        };
        for (links, alike) in &failures.cases {
            let changed = self.changed(links, &relying);
            for reroute in [Reroute::Everywhere, Reroute::AtTheLink] {
                let seen = self.quick_check(&before, &mut whole, links, reroute, &changed);
                let is_kept = survey.has_room_for(reroute);
                if seen == QuickResult::Acyclic {
                    continue;
                }
                if seen == QuickResult::Undecided || is_kept {
                    let verdict = self.failed(links, reroute);
                    if verdict.order.is_some() {
                        continue;
                    }
                    if is_kept {
                        let case = FailureCase { links: links.clone(), stands_for: *alike, reroute, verdict };
                        survey.examples.push(case);
                    }
                }
                *match reroute {
                    Reroute::Everywhere => &mut survey.cyclic_everywhere,
                    Reroute::AtTheLink => &mut survey.cyclic_at_the_link,
                } += alike;
            }
        }
        Some(survey)
    }

    /// Returns for each lane that may fail the classes for which its switch has at most `together` shortest
    /// lanes, including this one.
    fn relying(
        &self,
        paths: &mut ShortestPaths<'_>,
        together: usize,
        cases: &[(Vec<LinkId>, u64)],
    ) -> Vec<Vec<u32>> {
        let mut relying = vec![Vec::new(); self.switch_lanes.lanes.len()];
        let mut may_fail = vec![false; self.graph.links().len()];
        for link in cases.iter().flat_map(|(links, _)| links) {
            may_fail[link.index()] = true;
        }
        let mut starts: Vec<u32> = Vec::new();
        for (slot, lane) in self.switch_lanes.lanes.iter().enumerate() {
            if may_fail[lane.link().index()] {
                starts.push(self.switch_lanes.to[self.switch_lanes.reverse[slot] as usize]);
            }
        }
        starts.sort_unstable();
        starts.dedup();
        for (number, class) in self.classes.iter().enumerate() {
            paths.search(class.destination.tor.0);
            for &switch in &starts {
                if paths.lanes_closer(switch).take(together + 1).count() <= together {
                    for slot in paths.lanes_closer(switch) {
                        relying[slot as usize].push(number as u32);
                    }
                }
            }
        }
        relying
    }

    /// Returns the classes whose routes may change without these links.
    fn changed(&self, links: &[LinkId], relying: &[Vec<u32>]) -> Vec<u32> {
        let overridden = (0_u32..).zip(&self.classes).filter(|(_, class)| !class.overrides.is_empty());
        let mut changed: Vec<u32> = overridden.map(|(number, _)| number).collect();
        for switch in self.ends(links) {
            for slot in self.switch_lanes.leaving(switch) {
                if links.contains(&self.switch_lanes.lanes[slot as usize].link()) {
                    changed.extend_from_slice(&relying[slot as usize]);
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Returns the switches at the ends of links between switches.
    fn ends(&self, links: &[LinkId]) -> Vec<u32> {
        let ends = links.iter().flat_map(|link| [self.graph.link(*link).a, self.graph.link(*link).b]);
        let mut ends: Vec<u32> = ends.filter_map(|end| end.0.checked_sub(self.graph.host_count())).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// Checks only the changed classes. If they are acyclic together with all earlier dependencies, the
    /// case is acyclic. If they have a cycle alone, the case has one.
    fn quick_check(
        &self,
        before: &Dependencies<'_>,
        whole: &mut ShortestPaths<'_>,
        links: &[LinkId],
        reroute: Reroute,
        changed: &[u32],
    ) -> QuickResult {
        if changed.is_empty() {
            return QuickResult::Acyclic;
        }
        let dead = self.switch_lanes.without(links);
        let mut remaining = ShortestPaths::new(&self.switch_lanes, &self.hosts, &dead);
        let mut together = before.clone();
        let mut alone = Dependencies::none(&self.switch_lanes);
        let mut is_new = false;
        for number in changed {
            let class = &self.classes[*number as usize];
            let next = match reroute {
                Reroute::Everywhere => remaining.next_hops(class),
                Reroute::AtTheLink => local_reroute(whole, &mut remaining, &dead, class),
            };
            is_new |= remaining.add(class, &next, &mut together);
            remaining.add(class, &next, &mut alone);
        }
        if !is_new || ranks(&together).is_some() {
            QuickResult::Acyclic
        } else if ranks(&alone).is_none() {
            QuickResult::Cyclic
        } else {
            QuickResult::Undecided
        }
    }
}

/// Result of the quick check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuickResult {
    Acyclic,
    Cyclic,
    Undecided,
}

impl FailureSurvey {
    /// Returns whether another example can be recorded.
    fn has_room_for(&self, reroute: Reroute) -> bool {
        self.examples.iter().filter(|case| case.reroute == reroute).count() < EXAMPLES_MAX
    }
}

/// Returns the next hops while only switches that lost their last path know of the failure.
fn local_reroute(
    whole: &mut ShortestPaths<'_>,
    remaining: &mut ShortestPaths<'_>,
    dead: &[bool],
    class: &Class,
) -> Vec<Vec<Slot>> {
    let Class { destination: Destination { tor, .. }, overrides } = class;
    let mut next = whole.next_hops(class);
    remaining.search(tor.0);
    for (switch, lanes) in (0_u32..).zip(&mut next) {
        let had_paths = !lanes.is_empty();
        lanes.retain(|slot| !dead[*slot as usize]);
        let is_overridden = overrides.iter().any(|(overridden, _)| *overridden == switch);
        if had_paths && lanes.is_empty() && !is_overridden {
            lanes.extend(remaining.lanes_closer(switch));
        }
    }
    next
}
