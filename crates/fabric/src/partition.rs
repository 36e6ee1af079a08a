//! Partition of a network into components that can be simulated in parallel.

use wiremend_units::{LaneId, LinkId, NodeId, Span};

use crate::graph::{Graph, LinkRole};

/// A partition of a network into components. An event in one component affects another no earlier than the
/// lookahead: the smallest delay of a lane between components.
///
/// Hosts stay with their switch. The network is cut at its longest links, and at shorter ones only while
/// one component has more than half of all lanes. The components depend only on the network, never on the
/// number of threads; [`assign`](Self::assign) maps them to threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Component of each node.
    pub component_of_node: Vec<u32>,
    /// Number of components, at least 1.
    pub components: u32,
    /// Time that a component can be simulated without input from the others.
    pub lookahead: Span,
}

/// Lookahead of one component without delays. Any value is correct; this one makes few steps.
const LOOKAHEAD_DEFAULT: Span = Span::from_us(1);

impl Partition {
    /// Partitions a network. `lane_delays` are the times from the end of a transmission to its effect at
    /// the far end: propagation, and fixed latencies of the simulation.
    pub fn new(graph: &Graph, lane_delays: &[Span]) -> Self {
        assert_eq!(lane_delays.len(), graph.lane_count() as usize, "one delay per lane");
        let delays = LinkDelays { graph, lane_delays };
        let mut bounds: Vec<Span> = delays.between_switches().map(|(_, delay)| delay).collect();
        bounds.retain(|delay| *delay > Span::ZERO);
        bounds.sort_unstable();
        bounds.dedup();
        // A lower bound gives finer components. This is the highest bound that is fine enough.
        let total: u64 = graph.nodes().map(|node| weight(graph, node)).sum();
        let fine_enough = bounds.partition_point(|bound| {
            let (component_of_node, components) = delays.contract_below(*bound);
            heaviest(graph, &component_of_node, components) * 2 <= total
        });
        let Some(bound) = fine_enough.checked_sub(1).map(|index| bounds[index]) else {
            return Self::whole(graph, lane_delays);
        };
        let (component_of_node, components) = delays.contract_below(bound);
        let component = |node: NodeId| component_of_node[node.index()];
        let cut = |lane: &LaneId| component(graph.lane_from(*lane)) != component(graph.lane_to(*lane));
        let lookahead = graph.lanes().filter(cut).map(|lane| lane_delays[lane.index()]).min();
        let lookahead = lookahead.expect("no component has more than half, so there are cuts");
        Self { component_of_node, components, lookahead }
    }

    /// Returns a partition with one component.
    pub fn whole(graph: &Graph, lane_delays: &[Span]) -> Self {
        let shortest = lane_delays.iter().copied().filter(|delay| *delay > Span::ZERO).min();
        Self {
            component_of_node: vec![0; graph.node_count() as usize],
            components: 1,
            lookahead: shortest.unwrap_or(LOOKAHEAD_DEFAULT),
        }
    }
}

/// Returns the work of a node: each frame costs something at both ends of its lane.
pub(crate) fn weight(graph: &Graph, node: NodeId) -> u64 {
    graph.ports(node).len() as u64 * 2
}

/// Returns the work of each component.
pub(crate) fn weights(graph: &Graph, component_of_node: &[u32], components: u32) -> Vec<u64> {
    let mut weights = vec![0; components as usize];
    for node in graph.nodes() {
        weights[component_of_node[node.index()] as usize] += weight(graph, node);
    }
    weights
}

fn heaviest(graph: &Graph, component_of_node: &[u32], components: u32) -> u64 {
    weights(graph, component_of_node, components).into_iter().max().unwrap_or(0)
}

struct LinkDelays<'a> {
    graph: &'a Graph,
    lane_delays: &'a [Span],
}

impl LinkDelays<'_> {
    /// Iterates over links between switches, with the smaller delay of their two directions.
    fn between_switches(&self) -> impl Iterator<Item = (LinkId, Span)> {
        let links = (0..self.graph.links().len() as u32).map(LinkId);
        links
            .filter(|link| self.graph.link_role(*link) == LinkRole::Switch)
            .map(|link| (link, self.delay(link)))
    }

    fn delay(&self, link: LinkId) -> Span {
        self.lane_delays[link.forward().index()].min(self.lane_delays[link.backward().index()])
    }

    /// Joins the ends of all links shorter than `bound`, and hosts with their switches.
    fn contract_below(&self, bound: Span) -> (Vec<u32>, u32) {
        let mut sets = Sets::new(self.graph.node_count());
        for (index, link) in self.graph.links().iter().enumerate() {
            let id = LinkId(index as u32);
            if self.graph.link_role(id) == LinkRole::Host || self.delay(id) < bound {
                sets.join(link.a, link.b);
            }
        }
        sets.numbered()
    }
}

/// Disjoint sets of nodes.
struct Sets {
    parents: Vec<u32>,
}

impl Sets {
    fn new(nodes: u32) -> Self {
        Self { parents: (0..nodes).collect() }
    }

    fn root(&mut self, node: u32) -> u32 {
        let mut at = node;
        while self.parents[at as usize] != at {
            let above = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = above;
            at = above;
        }
        at
    }

    /// The lower root stays, so that the first node represents its set.
    fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.root(a.0), self.root(b.0));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// Returns the set of each node, numbered in the order of their first nodes.
    fn numbered(mut self) -> (Vec<u32>, u32) {
        let mut count = 0;
        let mut numbers = vec![0; self.parents.len()];
        for node in 0..self.parents.len() as u32 {
            let root = self.root(node);
            if root == node {
                numbers[node as usize] = count;
                count += 1;
            } else {
                numbers[node as usize] = numbers[root as usize];
            }
        }
        (numbers, count)
    }
}
