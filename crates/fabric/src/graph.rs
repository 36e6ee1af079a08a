//! Hosts, switches and the links between them.

use std::ops::Range;

use wiremend_units::{HostId, LaneId, LinkId, NodeId, Rate, Span, SwitchId};

use crate::builder::{GraphBuilder, GraphError};
use crate::names::Names;

/// A network. Each host has one link, to a switch. Switches have any number of links, including parallel
/// ones. All hosts are connected.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) hosts: u32,
    pub(crate) roles: Vec<SwitchRole>,
    pub(crate) links: Vec<Link>,
    /// Outgoing lanes of all nodes, by node, in the order of their links.
    pub(crate) ports: Vec<LaneId>,
    /// First port of each node; one more entry at the end.
    pub(crate) port_starts: Vec<u32>,
    pub(crate) names: Names,
}

/// A link between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The end where lane `2·link` starts; the host, if there is one.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Span,
}

/// Rate and delay of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Span,
}

/// A link given by the names of its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedLink<'a> {
    /// First end.
    pub a: &'a str,
    /// Second end.
    pub b: &'a str,
    /// Rate and delay.
    pub cable: Cable,
}

/// A host or a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// A host.
    Host(HostId),
    /// A switch.
    Switch(SwitchId),
}

/// Position of a switch in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwitchRole {
    /// A switch with hosts: edge, top of rack, leaf.
    Edge,
    /// Between edge and core of a pod.
    Aggregation,
    /// Connects pods or leaves: core, spine.
    Core,
    /// Any other position.
    Other,
}

/// What a link connects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkRole {
    /// A host and its switch.
    Host,
    /// Two switches.
    Switch,
}

impl Graph {
    /// Creates a graph from hosts and switches by name, in the order of their numbers, and links. Switches
    /// with hosts are edge switches; the others have no specific role.
    pub fn from_links<N: AsRef<str>>(
        hosts: &[N],
        switches: &[N],
        links: &[NamedLink<'_>],
    ) -> Result<Self, GraphError> {
        GraphBuilder::written(hosts, switches, links)?.build()
    }

    /// Returns the number of hosts.
    pub fn host_count(&self) -> u32 {
        self.hosts
    }

    /// Returns the number of switches.
    pub fn switch_count(&self) -> u32 {
        self.roles.len() as u32
    }

    /// Returns the number of nodes: hosts, then switches.
    pub fn node_count(&self) -> u32 {
        self.hosts + self.switch_count()
    }

    /// Returns the number of lanes: two per link.
    pub fn lane_count(&self) -> u32 {
        self.links.len() as u32 * 2
    }

    /// Iterates over all hosts.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (0..self.hosts).map(HostId)
    }

    /// Iterates over all switches.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = SwitchId> + use<> {
        (0..self.switch_count()).map(SwitchId)
    }

    /// Iterates over all nodes.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.node_count()).map(NodeId)
    }

    /// Iterates over all lanes.
    pub fn lanes(&self) -> impl ExactSizeIterator<Item = LaneId> + use<> {
        (0..self.lane_count()).map(LaneId)
    }

    /// Returns all links, by number.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns a link.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.index()]
    }

    /// Sets rate and delay of a link.
    pub fn set_cable(&mut self, link: LinkId, cable: Cable) {
        let link = &mut self.links[link.index()];
        (link.rate, link.delay) = (cable.rate, cable.delay);
    }

    /// Returns the node number of a host.
    #[inline]
    pub fn host_node(&self, host: HostId) -> NodeId {
        assert!(host.0 < self.hosts, "{host} is not in this graph");
        NodeId(host.0)
    }

    /// Returns the node number of a switch.
    #[inline]
    pub fn switch_node(&self, switch: SwitchId) -> NodeId {
        assert!(switch.index() < self.roles.len(), "{switch} is not in this graph");
        NodeId(self.hosts + switch.0)
    }

    /// Returns the host or switch with this node number.
    pub fn node(&self, node: NodeId) -> Node {
        match node.0.checked_sub(self.hosts) {
            None => Node::Host(HostId(node.0)),
            Some(switch) => Node::Switch(SwitchId(switch)),
        }
    }

    /// Returns the outgoing lanes of a node: port i sends on the i-th lane and receives on its reverse.
    #[inline]
    pub fn ports(&self, node: NodeId) -> &[LaneId] {
        &self.ports[self.port_range(node)]
    }

    #[inline]
    fn port_range(&self, node: NodeId) -> Range<usize> {
        self.port_starts[node.index()] as usize..self.port_starts[node.index() + 1] as usize
    }

    /// Returns the node where a lane starts.
    #[inline]
    pub fn lane_from(&self, lane: LaneId) -> NodeId {
        self.lane_to(lane.reverse())
    }

    /// Returns the node where a lane ends.
    #[inline]
    pub fn lane_to(&self, lane: LaneId) -> NodeId {
        let link = &self.links[lane.link().index()];
        if lane == lane.link().forward() { link.b } else { link.a }
    }

    /// Returns the lane on which a host sends.
    #[inline]
    pub fn uplink(&self, host: HostId) -> LaneId {
        self.ports(self.host_node(host))[0]
    }

    /// Returns the switch of a host.
    pub fn tor(&self, host: HostId) -> SwitchId {
        SwitchId(self.lane_to(self.uplink(host)).0 - self.hosts)
    }

    /// Returns the role of a switch.
    pub fn role(&self, switch: SwitchId) -> SwitchRole {
        self.roles[switch.index()]
    }

    /// Returns what a link connects.
    pub fn link_role(&self, link: LinkId) -> LinkRole {
        if self.link(link).a.0 < self.hosts { LinkRole::Host } else { LinkRole::Switch }
    }

    /// Returns the largest oversubscription of a switch with hosts: rate of its hosts divided by rate of
    /// its uplinks. `None` if no such switch has an uplink.
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

    /// Returns the name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        self.names.get(node.index())
    }

    /// Returns the name of a link: `a-b`. Further links between the same nodes are `a-b#2`, ….
    pub fn link_name(&self, link: LinkId) -> String {
        let Link { a, b, .. } = *self.link(link);
        format!("{}-{}{}", self.name(a), self.name(b), self.nth_suffix(link.forward()))
    }

    /// Returns the name of a lane: `a>b`, or `a>b#2`, … like its link.
    pub fn lane_name(&self, lane: LaneId) -> String {
        let (from, to) = (self.lane_from(lane), self.lane_to(lane));
        format!("{}>{}{}", self.name(from), self.name(to), self.nth_suffix(lane))
    }

    /// Returns the node with this name.
    pub fn node_by_name(&self, name: &str) -> Option<NodeId> {
        self.names.find(name).map(NodeId)
    }

    /// Returns the link with this name; its ends may be in either order. If dashes in node names make the
    /// text ambiguous, the first matching link is returned. Lane names are never ambiguous.
    pub fn link_by_name(&self, name: &str) -> Option<LinkId> {
        let (ends, nth) = split_nth(name)?;
        let splits = ends.match_indices('-').map(|(dash, _)| (&ends[..dash], &ends[dash + 1..]));
        splits.filter_map(|(a, b)| self.nth_lane(a, b, nth)).map(LaneId::link).min()
    }

    /// Returns the lane with this name.
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

/// Splits `a-b#2`, the second link between `a` and `b`, into `a-b` and 2.
fn split_nth(name: &str) -> Option<(&str, usize)> {
    match name.split_once('#') {
        None => Some((name, 1)),
        Some((ends, nth)) => nth.parse().ok().filter(|nth| *nth > 0).map(|nth| (ends, nth)),
    }
}
