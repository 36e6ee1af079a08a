//! Cutting a network into pieces that can be simulated side by side.

use wiremend_units::{LaneId, LinkId, NodeId, Span};

use crate::graph::{Graph, LinkRole};

/// The finest pieces worth having. What happens in one piece is felt in another no earlier than the lookahead:
/// the smallest delay of a lane that is cut.
///
/// Hosts stay with their switch. The network is cut at its longest links, and at shorter ones only as long as one
/// piece carries more than half of all lanes. The pieces depend on the network alone, never on the number of
/// threads; that is what [`assign`](Self::assign) is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The piece of each node.
    pub component_of_node: Vec<u32>,
    /// How many pieces there are, at least 1.
    pub components: u32,
    /// How far a piece can be simulated without news from the others.
    pub lookahead: Span,
}

/// The lookahead of a network in one piece whose links have no delay: any value is right, this one makes steps
/// long enough not to be noticed.
const LOOKAHEAD_DEFAULT: Span = Span::from_us(1);

impl Plan {
    /// The plan for a network whose lanes have these delays, from the end of a transmission to its effect at the
    /// far end: propagation, and whatever fixed latency the simulation adds.
    pub fn of(graph: &Graph, lane_delays: &[Span]) -> Self {
        assert_eq!(lane_delays.len(), graph.lane_count() as usize, "one delay per lane");
        let delays = LinkDelays { graph, lane_delays };
        let mut bounds: Vec<Span> = delays.between_switches().map(|(_, delay)| delay).collect();
        bounds.retain(|delay| *delay > Span::ZERO);
        bounds.sort_unstable();
        bounds.dedup();
        // The lower the bound, the finer the pieces: of all bounds that are fine enough, the highest.
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
        let lookahead = lookahead.expect("no piece holds more than half, so there are cuts");
        Self { component_of_node, components, lookahead }
    }

    /// Everything in one piece.
    pub fn whole(graph: &Graph, lane_delays: &[Span]) -> Self {
        let shortest = lane_delays.iter().copied().filter(|delay| *delay > Span::ZERO).min();
        Self {
            component_of_node: vec![0; graph.node_count() as usize],
            components: 1,
            lookahead: shortest.unwrap_or(LOOKAHEAD_DEFAULT),
        }
    }
}

/// The work that a node makes: each frame costs something at both ends of its lane.
pub(crate) fn weight(graph: &Graph, node: NodeId) -> u64 {
    graph.ports(node).len() as u64 * 2
}

/// The work of each component.
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
    /// Links between switches, with the delay of their faster direction.
    fn between_switches(&self) -> impl Iterator<Item = (LinkId, Span)> {
        let links = (0..self.graph.links().len() as u32).map(LinkId);
        links
            .filter(|link| self.graph.link_role(*link) == LinkRole::Switch)
            .map(|link| (link, self.delay(link)))
    }

    fn delay(&self, link: LinkId) -> Span {
        self.lane_delays[link.forward().index()].min(self.lane_delays[link.backward().index()])
    }

    /// Joins the ends of all links that are shorter than `bound`, and hosts with their switches.
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

    /// The lower root stays, so that a set is named by its first node.
    fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.root(a.0), self.root(b.0));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// The set of each node, numbered in the order of their first nodes.
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
