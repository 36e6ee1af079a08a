//! Hosts, switches and the links between them.

use std::ops::Range;

use wiremend_units::{HostId, LaneId, LinkId, NodeId, Rate, Span, SwitchId};

use crate::builder::{Builder, GraphError};
use crate::names::Names;

/// A network. Hosts have one link each, to a switch; switches have any number, also several to the same neighbour.
/// Every host can reach every other.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) hosts: u32,
    pub(crate) roles: Vec<SwitchRole>,
    pub(crate) links: Vec<Link>,
    /// Outgoing lanes of all nodes, node by node, in the order of their links.
    pub(crate) ports: Vec<LaneId>,
    /// Where each node's ports start; one more at the end.
    pub(crate) port_starts: Vec<u32>,
    pub(crate) names: Names,
}

/// A cable between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The end where the lane `2·link` starts; the host's end, if there is one.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// In each direction.
    pub rate: Rate,
    /// Propagation, in each direction.
    pub delay: Span,
}

/// What a link is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    /// In each direction.
    pub rate: Rate,
    /// Propagation, in each direction.
    pub delay: Span,
}

/// A link of a written graph: its ends by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedLink<'a> {
    /// One end.
    pub a: &'a str,
    /// The other.
    pub b: &'a str,
    /// What it is made of.
    pub cable: Cable,
}

/// A node by what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// A host.
    Host(HostId),
    /// A switch.
    Switch(SwitchId),
}

/// The place of a switch in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwitchRole {
    /// Hosts hang on it: edge, top of rack, leaf.
    Edge,
    /// Between edge and core of a pod.
    Aggregation,
    /// Joins pods or leaves: core, spine.
    Core,
    /// No particular one.
    Other,
}

/// What a link joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkRole {
    /// A host and its switch.
    Host,
    /// Two switches.
    Switch,
}

impl Graph {
    /// A graph written down: hosts and switches by name, in the order of their numbers, and links between them.
    /// Switches with hosts are edge switches, the others have no role.
    pub fn from_links<N: AsRef<str>>(
        hosts: &[N],
        switches: &[N],
        links: &[NamedLink<'_>],
    ) -> Result<Self, GraphError> {
        Builder::written(hosts, switches, links)?.build()
    }

    /// How many hosts there are.
    pub fn host_count(&self) -> u32 {
        self.hosts
    }

    /// How many switches there are.
    pub fn switch_count(&self) -> u32 {
        self.roles.len() as u32
    }

    /// How many nodes there are: hosts, then switches.
    pub fn node_count(&self) -> u32 {
        self.hosts + self.switch_count()
    }

    /// How many lanes there are: two per link.
    pub fn lane_count(&self) -> u32 {
        self.links.len() as u32 * 2
    }

    /// All hosts.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (0..self.hosts).map(HostId)
    }

    /// All switches.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = SwitchId> + use<> {
        (0..self.switch_count()).map(SwitchId)
    }

    /// All nodes.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.node_count()).map(NodeId)
    }

    /// All lanes.
    pub fn lanes(&self) -> impl ExactSizeIterator<Item = LaneId> + use<> {
        (0..self.lane_count()).map(LaneId)
    }

    /// All links, by number.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// One link.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.index()]
    }

    /// Makes one link of something else.
    pub fn set_cable(&mut self, link: LinkId, cable: Cable) {
        let link = &mut self.links[link.index()];
        (link.rate, link.delay) = (cable.rate, cable.delay);
    }

    /// A host's number among the nodes.
    pub fn host_node(&self, host: HostId) -> NodeId {
        assert!(host.0 < self.hosts, "{host} is not in this graph");
        NodeId(host.0)
    }

    /// A switch's number among the nodes.
    pub fn switch_node(&self, switch: SwitchId) -> NodeId {
        assert!(switch.index() < self.roles.len(), "{switch} is not in this graph");
        NodeId(self.hosts + switch.0)
    }

    /// What a node is.
    pub fn node(&self, node: NodeId) -> Node {
        match node.0.checked_sub(self.hosts) {
            None => Node::Host(HostId(node.0)),
            Some(switch) => Node::Switch(SwitchId(switch)),
        }
    }

    /// A node's outgoing lanes: port i sends on the i-th, and receives on its reverse.
    pub fn ports(&self, node: NodeId) -> &[LaneId] {
        &self.ports[self.port_range(node)]
    }

    fn port_range(&self, node: NodeId) -> Range<usize> {
        self.port_starts[node.index()] as usize..self.port_starts[node.index() + 1] as usize
    }

    /// Where a lane starts.
    pub fn lane_from(&self, lane: LaneId) -> NodeId {
        self.lane_to(lane.reverse())
    }

    /// Where a lane ends.
    pub fn lane_to(&self, lane: LaneId) -> NodeId {
        let link = &self.links[lane.link().index()];
        if lane == lane.link().forward() { link.b } else { link.a }
    }

    /// The lane on which a host sends.
    pub fn uplink(&self, host: HostId) -> LaneId {
        self.ports(self.host_node(host))[0]
    }

    /// The switch that a host hangs on.
    pub fn tor(&self, host: HostId) -> SwitchId {
        SwitchId(self.lane_to(self.uplink(host)).0 - self.hosts)
    }

    /// The place of a switch.
    pub fn role(&self, switch: SwitchId) -> SwitchRole {
        self.roles[switch.index()]
    }

    /// What a link joins.
    pub fn link_role(&self, link: LinkId) -> LinkRole {
        if self.link(link).a.0 < self.hosts { LinkRole::Host } else { LinkRole::Switch }
    }

    /// How many times more its hosts can send than a switch can pass on: the largest among the switches that have
    /// hosts, or `None` if none of these has a link to another switch.
    pub fn oversubscription(&self) -> Option<f64> {
        let ratio = |switch| {
            let (mut down, mut up) = (0.0, 0.0);
            for lane in self.ports(self.switch_node(switch)) {
                let rate = self.link(lane.link()).rate.bits_per_s() as f64;
                *(if self.link_role(lane.link()) == LinkRole::Host { &mut down } else { &mut up }) += rate;
            }
            (up > 0.0).then_some(down / up)
        };
        self.switches().filter_map(ratio).reduce(f64::max)
    }

    /// A node's name.
    pub fn name(&self, node: NodeId) -> &str {
        self.names.get(node.index())
    }

    /// A link's name: its ends, `a-b`. Of several between the same nodes, those after the first are `a-b#2`, ….
    pub fn link_name(&self, link: LinkId) -> String {
        let Link { a, b, .. } = *self.link(link);
        format!("{}-{}{}", self.name(a), self.name(b), self.nth_suffix(link.forward()))
    }

    /// A lane's name: from where to where, `a>b`, or `a>b#2`, … like its link.
    pub fn lane_name(&self, lane: LaneId) -> String {
        let (from, to) = (self.lane_from(lane), self.lane_to(lane));
        format!("{}>{}{}", self.name(from), self.name(to), self.nth_suffix(lane))
    }

    /// The node of a name.
    pub fn node_by_name(&self, name: &str) -> Option<NodeId> {
        self.names.find(name).map(NodeId)
    }

    /// The link of a name; its ends may come in either order. Where dashes in the names of nodes make a text mean
    /// several links, it is the first of them; the name of a lane is never ambiguous.
    pub fn link_by_name(&self, name: &str) -> Option<LinkId> {
        let (ends, nth) = split_nth(name)?;
        let splits = ends.match_indices('-').map(|(dash, _)| (&ends[..dash], &ends[dash + 1..]));
        splits.filter_map(|(a, b)| self.nth_lane(a, b, nth)).map(LaneId::link).min()
    }

    /// The lane of a name.
    pub fn lane_by_name(&self, name: &str) -> Option<LaneId> {
        let (ends, nth) = split_nth(name)?;
        let (from, to) = ends.split_once('>')?;
        self.nth_lane(from, to, nth)
    }

    fn nth_lane(&self, from: &str, to: &str, nth: usize) -> Option<LaneId> {
        let (from, to) = (self.node_by_name(from)?, self.node_by_name(to)?);
        self.ports(from).iter().copied().filter(|lane| self.lane_to(*lane) == to).nth(nth - 1)
    }

    fn nth_suffix(&self, lane: LaneId) -> String {
        let to = self.lane_to(lane);
        let ports = self.ports(self.lane_from(lane)).iter();
        match ports.take_while(|port| **port != lane).filter(|port| self.lane_to(**port) == to).count() {
            0 => String::new(),
            before => format!("#{}", before + 1),
        }
    }
}

/// `a-b#2` is the second link between the ends `a-b`.
fn split_nth(name: &str) -> Option<(&str, usize)> {
    match name.split_once('#') {
        None => Some((name, 1)),
        Some((ends, nth)) => nth.parse().ok().filter(|nth| *nth > 0).map(|nth| (ends, nth)),
    }
}
