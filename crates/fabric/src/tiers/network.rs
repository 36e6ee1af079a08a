//! Switches in tiers and the links between them.

use std::ops::Range;

use wiremend_units::{LinkId, Rate, SwitchId};

use crate::names::Names;

/// A fabric. Every link leads from a switch of one tier up to a switch of a higher one; the lowest tier are the ToRs, and
/// each of them has a way to the highest.
#[derive(Clone, Debug)]
pub struct Tiers {
    pub(super) names: Names,
    /// 0 for ToRs, ascending without gaps.
    pub(super) ranks: Vec<u8>,
    pub(super) pods: Vec<u32>,
    pub(super) pod_names: Names,
    pub(super) links: Vec<TierLink>,
    /// The names of the ports, the lower end's and then the upper's of each link. Without them, ports are numbers.
    pub(super) ports: Option<Names>,
    /// What is repaired together, by link; a link alone has a number of its own.
    pub(super) cables: Vec<u32>,
    /// Links below each switch, and then those above it, by number.
    pub(super) incident: Vec<LinkId>,
    /// Where each switch's links start, and where those above it do; one pair more at the end.
    pub(super) starts: Vec<(u32, u32)>,
    pub(super) tors: Vec<SwitchId>,
}

/// A cable between two tiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierLink {
    /// The end nearer to the hosts.
    pub lower: SwitchId,
    /// The end nearer to the top.
    pub upper: SwitchId,
    /// In each direction.
    pub rate: Rate,
}

impl Tiers {
    /// How many links there are.
    pub fn link_count(&self) -> u32 {
        self.links.len() as u32
    }

    /// How many switches there are.
    pub fn switch_count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// How many pods there are.
    pub fn pod_count(&self) -> u32 {
        self.pod_names.len() as u32
    }

    /// How many tiers there are.
    pub fn tier_count(&self) -> u8 {
        self.ranks.iter().max().map_or(0, |top| top + 1)
    }

    /// A link.
    pub fn link(&self, link: LinkId) -> TierLink {
        self.links[link.index()]
    }

    /// All links, by number.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.link_count()).map(LinkId)
    }

    /// The lowest tier.
    pub fn tors(&self) -> &[SwitchId] {
        &self.tors
    }

    /// 0 for a ToR, ascending.
    pub fn tier(&self, switch: SwitchId) -> u8 {
        self.ranks[switch.index()]
    }

    /// The pod of a switch. Switches below the top that were given none have one of their own.
    pub fn pod(&self, switch: SwitchId) -> Option<u32> {
        Some(self.pods[switch.index()]).filter(|pod| *pod < self.pod_count())
    }

    /// The name of a pod.
    pub fn pod_name(&self, pod: u32) -> &str {
        self.pod_names.get(pod as usize)
    }

    /// The name of a switch.
    pub fn name(&self, switch: SwitchId) -> &str {
        self.names.get(switch.index())
    }

    /// The switch of a name.
    pub fn switch_by_name(&self, name: &str) -> Option<SwitchId> {
        self.names.find(name).map(SwitchId)
    }

    /// Links that lead up from a switch.
    pub fn links_above(&self, switch: SwitchId) -> &[LinkId] {
        &self.incident[self.above(switch)]
    }

    /// Links that lead up to a switch.
    pub fn links_below(&self, switch: SwitchId) -> &[LinkId] {
        let (from, to) = self.starts[switch.index()];
        &self.incident[from as usize..to as usize]
    }

    /// The place of a link among the ports of one of its ends: those below come first.
    pub fn port_index(&self, link: LinkId, end: SwitchId) -> u32 {
        let (from, _) = self.starts[end.index()];
        let is_upper = self.link(link).upper == end;
        let range = if is_upper { from as usize..self.above(end).start } else { self.above(end) };
        let place = self.incident[range.clone()].binary_search(&link).expect("it is a link of its end");
        (range.start + place) as u32 - from
    }

    /// How many links a switch has.
    pub fn port_count(&self, switch: SwitchId) -> u32 {
        let index = switch.index();
        self.starts[index + 1].0 - self.starts[index].0
    }

    /// The name of a link's port at its lower and at its upper end.
    pub fn ports(&self, link: LinkId) -> (String, String) {
        let TierLink { lower, upper, .. } = self.link(link);
        match &self.ports {
            Some(names) => {
                (names.get(2 * link.index()).to_owned(), names.get(2 * link.index() + 1).to_owned())
            }
            None => (self.port_index(link, lower).to_string(), self.port_index(link, upper).to_string()),
        }
    }

    /// Both ends of a link with their ports: `tor0-1:3 fab0-3:1`.
    pub fn link_name(&self, link: LinkId) -> String {
        let TierLink { lower, upper, .. } = self.link(link);
        let (low, high) = self.ports(link);
        format!("{}:{low} {}:{high}", self.name(lower), self.name(upper))
    }

    /// The link of a name: a number, one end as `SWITCH:PORT`, or both.
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

    /// Links that are repaired together with this one, itself among them.
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

    /// Names may have colons in them too: then it is what fits.
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
