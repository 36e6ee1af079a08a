//! What failed links do to the routes.

use wiremend_units::LinkId;

use super::check::{Check, CheckError, Destination, Verdict};
use super::cycle::ranks;
use super::dependency::Dependencies;
use super::mesh::Slot;
use super::ways::{Class, Ways};
use crate::graph::{Graph, LinkRole};
use crate::topology::Topology;

/// The most cases that are examined one by one.
pub const CASES_MAX: u64 = 10_000;
/// Cases with cycles that are kept, for each way to reroute.
const KEPT_MAX: usize = 16;

/// How switches get around a failed link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reroute {
    /// All switches have recomputed their shortest ways.
    Everywhere,
    /// Only the switches at its ends have: where they lost the last way to a destination, they take the shortest of the
    /// remaining network, while all others still do as before. So it is until the routes have converged.
    AtTheLink,
}

/// Sets of links to fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failures {
    cases: Vec<(Vec<LinkId>, u64)>,
    by_symmetry: bool,
}

impl Failures {
    /// One link of each kind: all links between edge and aggregation switches of a fat-tree are alike, as are those
    /// between aggregation and core, and all between leaves and spines. Other shapes have no such symmetry; overrides
    /// break it.
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

    /// All sets of up to so many links between switches. A host's link has no way around it.
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

/// What failures came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// Sets of failed links, those that others stand for included.
    pub cases: u64,
    /// Those that were examined.
    pub examined: usize,
    /// Whether each stands for all that are like it.
    pub by_symmetry: bool,
    /// How many make cycles once all switches have rerouted.
    pub cyclic_everywhere: u64,
    /// How many make cycles as long as only the ends of the links have.
    pub cyclic_at_the_link: u64,
    /// Some that make cycles.
    pub examples: Vec<Case>,
}

/// Failed links that make cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The links.
    pub links: Vec<LinkId>,
    /// How many cases it stands for.
    pub stands_for: u64,
    /// How switches got around them.
    pub reroute: Reroute,
    /// What that makes.
    pub verdict: Verdict,
}

impl Check<'_> {
    /// Examines the routes while these links are down.
    pub fn failed(&self, links: &[LinkId], reroute: Reroute) -> Verdict {
        let dead = self.mesh.without(links);
        let mut remaining = Ways::new(&self.mesh, &self.hosts, &dead);
        let mut whole = Ways::new(&self.mesh, &self.hosts, &[]);
        let ends = self.ends(links);
        let (dependencies, loops) = self.examine(&mut remaining, |remaining, class| match reroute {
            Reroute::Everywhere => (!class.overrides.is_empty()).then(|| remaining.next_hops(class)),
            Reroute::AtTheLink => {
                // Who keeps a shortest way keeps its distance, and so does the class if all do.
                let is_unusual = !class.overrides.is_empty() || whole.lose(class, &ends, &dead);
                is_unusual.then(|| half_way(&mut whole, remaining, &dead, class))
            }
        });
        self.judge(&dependencies, &loops)
    }

    /// Examines many failures. The routes without any must have an order ([`Verdict::order`]): `None` if they have not.
    ///
    /// A failed link changes little, and that is what this looks at. If all switches keep a shortest way to a class, its
    /// dependencies are among those of before. The classes for which one does not are computed anew; only if these do not
    /// decide it, or for an example, all is computed for the case.
    pub fn survey(&self, failures: &Failures) -> Option<Survey> {
        let mut whole = Ways::new(&self.mesh, &self.hosts, &[]);
        let (before, _) = self
            .examine(&mut whole, |ways, class| (!class.overrides.is_empty()).then(|| ways.next_hops(class)));
        ranks(&before)?;
        let together = failures.cases.iter().map(|(links, _)| links.len()).max().unwrap_or(0);
        let relying = self.relying(&mut whole, together, &failures.cases);
        let mut survey = Survey {
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
                let seen = self.glance(&before, &mut whole, links, reroute, &changed);
                let is_kept = survey.keeps(reroute);
                if seen == Glance::Ordered {
                    continue;
                }
                if seen == Glance::Unclear || is_kept {
                    let verdict = self.failed(links, reroute);
                    if verdict.order.is_some() {
                        continue;
                    }
                    if is_kept {
                        let case = Case { links: links.clone(), stands_for: *alike, reroute, verdict };
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

    /// For each lane that may fail, the classes for which its switch has no more than `together` ways, this among them.
    fn relying(&self, ways: &mut Ways<'_>, together: usize, cases: &[(Vec<LinkId>, u64)]) -> Vec<Vec<u32>> {
        let mut relying = vec![Vec::new(); self.mesh.lanes.len()];
        let mut may_fail = vec![false; self.graph.links().len()];
        for link in cases.iter().flat_map(|(links, _)| links) {
            may_fail[link.index()] = true;
        }
        let mut starts: Vec<u32> = Vec::new();
        for (slot, lane) in self.mesh.lanes.iter().enumerate() {
            if may_fail[lane.link().index()] {
                starts.push(self.mesh.to[self.mesh.reverse[slot] as usize]);
            }
        }
        starts.sort_unstable();
        starts.dedup();
        for (number, class) in self.classes.iter().enumerate() {
            ways.search(class.destination.tor.0);
            for &switch in &starts {
                if ways.nearer(switch).take(together + 1).count() <= together {
                    for slot in ways.nearer(switch) {
                        relying[slot as usize].push(number as u32);
                    }
                }
            }
        }
        relying
    }

    /// The classes whose ways may be others without these links.
    fn changed(&self, links: &[LinkId], relying: &[Vec<u32>]) -> Vec<u32> {
        let overridden = (0_u32..).zip(&self.classes).filter(|(_, class)| !class.overrides.is_empty());
        let mut changed: Vec<u32> = overridden.map(|(number, _)| number).collect();
        for switch in self.ends(links) {
            for slot in self.mesh.leaving(switch) {
                if links.contains(&self.mesh.lanes[slot as usize].link()) {
                    changed.extend_from_slice(&relying[slot as usize]);
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// The switches at the ends of links between switches.
    fn ends(&self, links: &[LinkId]) -> Vec<u32> {
        let ends = links.iter().flat_map(|link| [self.graph.link(*link).a, self.graph.link(*link).b]);
        let mut ends: Vec<u32> = ends.filter_map(|end| end.0.checked_sub(self.graph.host_count())).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// What the classes that change tell: if they have an order together with all that was before, so has the case; if
    /// they have none alone, nor has the case.
    fn glance(
        &self,
        before: &Dependencies<'_>,
        whole: &mut Ways<'_>,
        links: &[LinkId],
        reroute: Reroute,
        changed: &[u32],
    ) -> Glance {
        if changed.is_empty() {
            return Glance::Ordered;
        }
        let dead = self.mesh.without(links);
        let mut remaining = Ways::new(&self.mesh, &self.hosts, &dead);
        let mut together = before.clone();
        let mut alone = Dependencies::none(&self.mesh);
        let mut is_new = false;
        for number in changed {
            let class = &self.classes[*number as usize];
            let next = match reroute {
                Reroute::Everywhere => remaining.next_hops(class),
                Reroute::AtTheLink => half_way(whole, &mut remaining, &dead, class),
            };
            is_new |= remaining.add(class, &next, &mut together);
            remaining.add(class, &next, &mut alone);
        }
        if !is_new || ranks(&together).is_some() {
            Glance::Ordered
        } else if ranks(&alone).is_none() {
            Glance::Cyclic
        } else {
            Glance::Unclear
        }
    }
}

/// What can be said without computing all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Glance {
    Ordered,
    Cyclic,
    Unclear,
}

impl Survey {
    /// Whether one more example is welcome.
    fn keeps(&self, reroute: Reroute) -> bool {
        self.examples.iter().filter(|case| case.reroute == reroute).count() < KEPT_MAX
    }
}

/// Where packets leave each switch as long as only those that lost their last way know of the failure.
fn half_way(whole: &mut Ways<'_>, remaining: &mut Ways<'_>, dead: &[bool], class: &Class) -> Vec<Vec<Slot>> {
    let Class { destination: Destination { tor, .. }, overrides } = class;
    let mut next = whole.next_hops(class);
    remaining.search(tor.0);
    for (switch, lanes) in (0_u32..).zip(&mut next) {
        let had_ways = !lanes.is_empty();
        lanes.retain(|slot| !dead[*slot as usize]);
        let is_overridden = overrides.iter().any(|(overridden, _)| *overridden == switch);
        if had_ways && lanes.is_empty() && !is_overridden {
            lanes.extend(remaining.nearer(switch));
        }
    }
    next
}
