//! Switches in tiers and the links between them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wiremend_units::{LinkId, Rate, SwitchId};

use super::link_service::MinLinks;
use crate::names::Names;

/// A fabric. Every link leads from a switch up to a switch of a higher tier. The lowest tier are the ToRs.
/// Each of them has a path to the top tier; switches of the lowest tier without one are no ToRs.
#[derive(Clone, Debug)]
pub struct Tiers {
    pub(super) names: Names,
    /// Tier of each switch: 0 for ToRs, without gaps.
    pub(super) ranks: Vec<u8>,
    pub(super) pods: Vec<u32>,
    pub(super) pod_names: Names,
    pub(super) links: Vec<TierLink>,
    /// Port names of each link: lower end, then upper end. `None` if ports are numbered.
    pub(super) ports: Option<Names>,
    /// Cable of each link. Links of one cable are repaired together.
    pub(super) cables: Vec<u32>,
    /// Links of each switch by number: first those below, then those above.
    pub(super) incident: Vec<LinkId>,
    /// The other end of each of these links.
    pub(super) neighbours: Vec<SwitchId>,
    /// Start of each switch's links and of those above it; one more pair at the end.
    pub(super) starts: Vec<(u32, u32)>,
    pub(super) tors: Vec<SwitchId>,
    pub(super) min_links: MinLinks,
    pub(super) constraints: Constraints,
    /// Ports of links that are not part of the fabric, such as those between two ToRs.
    pub(super) unused_ports: BTreeSet<(u32, String)>,
}

/// Shares of their capacity that single ToRs and pods must keep.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Constraints {
    /// By ToR.
    pub tors: BTreeMap<SwitchId, f64>,
    /// By pod; also for its ToRs without a share of their own.
    pub pods: BTreeMap<u32, f64>,
}

impl Constraints {
    /// Returns the share of a ToR: its own, or that of its pod.
    pub fn share_of_tor(&self, tiers: &Tiers, tor: SwitchId) -> Option<f64> {
        let own = self.tors.get(&tor).copied();
        own.or_else(|| self.pods.get(&tiers.pod(tor)?).copied())
    }
}

/// A link between two tiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierLink {
    /// The end nearer to the hosts.
    pub lower: SwitchId,
    /// The end nearer to the top.
    pub upper: SwitchId,
    /// Rate of each direction.
    pub rate: Rate,
}

impl Tiers {
    /// Returns the number of links.
    pub fn link_count(&self) -> u32 {
        self.links.len() as u32
    }

    /// Returns the number of switches.
    pub fn switch_count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Returns the number of pods.
    pub fn pod_count(&self) -> u32 {
        self.pod_names.len() as u32
    }

    /// Returns the number of tiers.
    pub fn tier_count(&self) -> u8 {
        self.ranks.iter().max().map_or(0, |top| top + 1)
    }

    /// Returns a link.
    pub fn link(&self, link: LinkId) -> TierLink {
        self.links[link.index()]
    }

    /// Iterates over all links, by number.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.link_count()).map(LinkId)
    }

    /// Returns the switches of the lowest tier.
    pub fn tors(&self) -> &[SwitchId] {
        &self.tors
    }

    /// Returns the tier of a switch, 0 for ToRs.
    pub fn tier(&self, switch: SwitchId) -> u8 {
        self.ranks[switch.index()]
    }

    /// Returns the pod of a switch. A switch below the top tier without a given pod is a pod of its own.
    pub fn pod(&self, switch: SwitchId) -> Option<u32> {
        Some(self.pods[switch.index()]).filter(|pod| *pod < self.pod_count())
    }

    /// Returns the name of a pod.
    pub fn pod_name(&self, pod: u32) -> &str {
        self.pod_names.get(pod as usize)
    }

    /// Returns the name of a switch.
    pub fn name(&self, switch: SwitchId) -> &str {
        self.names.get(switch.index())
    }

    /// Returns the shares that the description of the fabric requires of single ToRs and pods.
    pub fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// Returns whether a link belongs to a LAG with a minimum of links.
    pub fn has_min_links(&self, link: LinkId) -> bool {
        self.min_links.lag_of.get(link.index()).is_some_and(|lag| *lag != u32::MAX)
    }

    /// Returns the pod with this name.
    pub fn pod_by_name(&self, name: &str) -> Option<u32> {
        (0..self.pod_count()).find(|pod| self.pod_name(*pod) == name)
    }

    /// Returns the ToR with this name.
    pub fn tor_by_name(&self, name: &str) -> Option<SwitchId> {
        self.switch_by_name(name).filter(|switch| self.is_tor(*switch))
    }

    /// Returns whether a switch is a ToR: in the lowest tier, with a path to the top tier.
    pub fn is_tor(&self, switch: SwitchId) -> bool {
        self.tors.binary_search(&switch).is_ok()
    }

    /// Returns the switch of an end `SWITCH:PORT` without a link, and whether the port has a link that is not
    /// part of the fabric, such as one between two ToRs.
    pub fn unlinked_end(&self, end: &str) -> Option<(SwitchId, bool)> {
        end.match_indices(':').find_map(|(at, _)| {
            let switch = self.switch_by_name(&end[..at])?;
            Some((switch, self.unused_ports.contains(&(switch.0, end[at + 1..].to_owned()))))
        })
    }

    /// Returns the domain of each switch below the top tier. ToRs of different domains share no link.
    pub fn domains(&self) -> Vec<u32> {
        let mut heads: Vec<u32> = (0..self.switch_count()).collect();
        let top = self.tier_count() - 1;
        for link in self.links.iter().filter(|link| self.tier(link.upper) < top) {
            let (a, b) = (head(&mut heads, link.lower), head(&mut heads, link.upper));
            heads[a.max(b) as usize] = a.min(b);
        }
        let mut numbers = vec![u32::MAX; heads.len()];
        let mut count = 0;
        let mut numbered = |switch: u32| {
            let number = &mut numbers[switch as usize];
            if *number == u32::MAX {
                *number = count;
                count += 1;
            }
            *number
        };
        (0..self.switch_count()).map(|switch| numbered(head(&mut heads, SwitchId(switch)))).collect()
    }

    /// Returns the switch with this name.
    pub fn switch_by_name(&self, name: &str) -> Option<SwitchId> {
        self.names.find(name).map(SwitchId)
    }

    /// Returns the links from a switch to higher tiers.
    pub fn links_above(&self, switch: SwitchId) -> &[LinkId] {
        &self.incident[self.above(switch)]
    }

    /// Returns the links from a switch to lower tiers.
    pub fn links_below(&self, switch: SwitchId) -> &[LinkId] {
        let (from, to) = self.starts[switch.index()];
        &self.incident[from as usize..to as usize]
    }

    /// Returns the lower ends of the links from a switch to lower tiers, in the same order.
    pub fn switches_below(&self, switch: SwitchId) -> &[SwitchId] {
        let (from, to) = self.starts[switch.index()];
        &self.neighbours[from as usize..to as usize]
    }

    /// Returns the position of a link among the ports of one of its ends; links below come first.
    pub fn port_index(&self, link: LinkId, end: SwitchId) -> u32 {
        let (from, _) = self.starts[end.index()];
        let is_upper = self.link(link).upper == end;
        let range = if is_upper { from as usize..self.above(end).start } else { self.above(end) };
        let place = self.incident[range.clone()].binary_search(&link).expect("the end has this link");
        (range.start + place) as u32 - from
    }

    /// Returns the number of links of a switch.
    pub fn port_count(&self, switch: SwitchId) -> u32 {
        let index = switch.index();
        self.starts[index + 1].0 - self.starts[index].0
    }

    /// Returns the names of a link's ports at its lower and at its upper end.
    pub fn ports(&self, link: LinkId) -> (String, String) {
        let TierLink { lower, upper, .. } = self.link(link);
        match &self.ports {
            Some(names) => {
                (names.get(2 * link.index()).to_owned(), names.get(2 * link.index() + 1).to_owned())
            }
            None => (self.port_index(link, lower).to_string(), self.port_index(link, upper).to_string()),
        }
    }

    /// Returns both ends of a link with their ports: `tor0-1:3 fab0-3:1`.
    pub fn link_name(&self, link: LinkId) -> String {
        let TierLink { lower, upper, .. } = self.link(link);
        let (low, high) = self.ports(link);
        format!("{}:{low} {}:{high}", self.name(lower), self.name(upper))
    }

    /// Returns the link with this name: a number, one end as `SWITCH:PORT`, or both.
    pub fn link_by_name(&self, name: &str) -> Option<LinkId> {
        let name = name.trim();
        let number = name.parse().ok().filter(|_| name.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some(number) = number {
            return Some(LinkId(number)).filter(|link| link.index() < self.links.len());
        }
        match name.split_once(char::is_whitespace) {
            Some((a, b)) => {
                let link = self.link_at(a.trim())?;
                (self.link_at(b.trim()) == Some(link)).then_some(link)
            }
            None => self.link_at(name),
        }
    }

    /// Returns the links of the same cable, including this one.
    pub fn repaired_with(&self, link: LinkId) -> Vec<LinkId> {
        let cable = self.cables[link.index()];
        let TierLink { lower, upper, .. } = self.link(link);
        let ends = [lower, upper].map(|end| self.incident[self.all(end)].iter().copied());
        let mut all: Vec<_> =
            ends.into_iter().flatten().filter(|other| self.cables[other.index()] == cable).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Names may contain colons: the first split that matches is used.
    fn link_at(&self, end: &str) -> Option<LinkId> {
        let places = end.match_indices(':').map(|(at, _)| at);
        places.into_iter().find_map(|at| {
            let switch = self.switch_by_name(&end[..at])?;
            let port = &end[at + 1..];
            let is_it = |link: &&LinkId| {
                let (low, high) = self.ports(**link);
                if self.link(**link).lower == switch { low == port } else { high == port }
            };
            self.incident[self.all(switch)].iter().find(is_it).copied()
        })
    }

    fn above(&self, switch: SwitchId) -> Range<usize> {
        let index = switch.index();
        self.starts[index].1 as usize..self.starts[index + 1].0 as usize
    }

    fn all(&self, switch: SwitchId) -> Range<usize> {
        let index = switch.index();
        self.starts[index].0 as usize..self.starts[index + 1].0 as usize
    }
}

/// Returns the first switch of a set of connected switches.
fn head(heads: &mut [u32], switch: SwitchId) -> u32 {
    let mut at = switch.0;
    while heads[at as usize] != at {
        heads[at as usize] = heads[heads[at as usize] as usize];
        at = heads[at as usize];
    }
    at
}
