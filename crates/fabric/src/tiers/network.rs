//! Switches in tiers and the links between them.

use std::ops::Range;

use wiremend_units::{LinkId, Rate, SwitchId};

use crate::names::Names;

/// A fabric. Every link leads from a switch up to a switch of a higher tier. The lowest tier are the ToRs;
/// each of them has a path to the top tier.
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
    /// Start of each switch's links and of those above it; one more pair at the end.
    pub(super) starts: Vec<(u32, u32)>,
    pub(super) tors: Vec<SwitchId>,
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
