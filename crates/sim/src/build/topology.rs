//! The network of a scenario.

use std::collections::BTreeSet;

use wiremend_fabric::{Cable, Cables, Graph, GraphError, LinkRole, NamedLink, NetworkSize, Topology};
use wiremend_scenario::{Direction, LinkSet, Placed, Scenario, Shape};
use wiremend_units::{LaneId, LinkId};

use super::BuildError;

/// Returns the size of the topology without building it.
pub(super) fn size(scenario: &Scenario) -> NetworkSize {
    match layout(scenario) {
        Layout::Listed(graph) => {
            let (hosts, switches) = (graph.hosts.len() as u64, graph.switches.len() as u64);
            NetworkSize { hosts, switches, tors: switches.min(hosts), links: graph.links.len() as u64 }
        }
        Layout::Regular(topology) => topology.size(),
    }
}

/// Builds the graph of a scenario. Also returns its shape, unless the scenario lists single links.
pub fn build_graph(scenario: &Scenario) -> Result<(Graph, Option<Topology>), BuildError> {
    let shape = match layout(scenario) {
        Layout::Listed(_) => None,
        Layout::Regular(topology) => Some(topology),
    };
    Ok((graph(scenario)?, shape))
}

pub(super) fn graph(scenario: &Scenario) -> Result<Graph, BuildError> {
    let built = match layout(scenario) {
        Layout::Regular(topology) => topology.build(cables(scenario)),
        Layout::Listed(graph) => graph_from_links(scenario, graph),
    };
    let mut graph = built.map_err(|error| BuildError::at(scenario.topology.place, error.to_string()))?;
    for changed in &scenario.topology.link_overrides {
        let selected =
            links(&graph, &changed.links.value).map_err(|what| BuildError::at(changed.links.place, what))?;
        for link in selected {
            let usual = *graph.link(link);
            let (rate, delay) = (changed.rate.unwrap_or(usual.rate), changed.delay.unwrap_or(usual.delay));
            graph.set_cable(link, Cable { rate, delay });
        }
    }
    Ok(graph)
}

/// Returns the links that a scenario selects, each once and in order; at least one.
pub(crate) fn links(graph: &Graph, set: &LinkSet) -> Result<Vec<LinkId>, String> {
    let of_role =
        |role| (0..graph.links().len() as u32).map(LinkId).filter(move |link| graph.link_role(*link) == role);
    let mut found: Vec<LinkId> = match set {
        LinkSet::All => (0..graph.links().len() as u32).map(LinkId).collect(),
        LinkSet::Hosts => of_role(LinkRole::Host).collect(),
        LinkSet::Switches => of_role(LinkRole::Switch).collect(),
        LinkSet::Named(names) => names.iter().map(|name| by_name(graph, name)).collect::<Result<_, _>>()?,
    };
    if found.is_empty() {
        return Err("this network has no links between switches; choose \"all\" or \"hosts\"".to_owned());
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the lanes that a scenario selects, in order.
pub(super) fn lanes(
    graph: &Graph,
    set: &Placed<LinkSet>,
    direction: Direction,
) -> Result<Vec<LaneId>, BuildError> {
    let links = links(graph, &set.value).map_err(|what| BuildError::at(set.place, what))?;
    let lanes = links.into_iter().flat_map(|link| [link.forward(), link.backward()]);
    let is_selected = |lane: &LaneId| match direction {
        Direction::Both => true,
        Direction::Forward => *lane == lane.link().forward(),
        Direction::Backward => *lane == lane.link().backward(),
    };
    Ok(lanes.filter(is_selected).collect())
}

fn by_name(graph: &Graph, name: &str) -> Result<LinkId, String> {
    graph.link_by_name(name).ok_or_else(|| {
        let names: Vec<_> =
            (0..graph.links().len() as u32).map(|link| graph.link_name(LinkId(link))).collect();
        wiremend_units::unknown_name("link", name, &names.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

/// How a scenario describes a network.
enum Layout<'a> {
    /// By its shape.
    Regular(Topology),
    /// Link by link.
    Listed(&'a wiremend_scenario::Graph),
}

fn layout(scenario: &Scenario) -> Layout<'_> {
    Layout::Regular(match &scenario.topology.shape {
        Shape::Pair(_) => Topology::Pair,
        Shape::Chain(chain) => {
            Topology::Chain { switches: chain.switches.get(), hosts_per_end: chain.hosts_per_end.get() }
        }
        Shape::FatTree(tree) => Topology::FatTree { k: tree.k.get() },
        Shape::LeafSpine(layers) => Topology::LeafSpine {
            leaves: layers.leaves.get(),
            spines: layers.spines.get(),
            hosts_per_leaf: layers.hosts_per_leaf.get(),
        },
        Shape::CrossDc(both) => {
            let usual = cables(scenario).switch;
            Topology::CrossDc {
                leaves: both.leaves.get(),
                spines: both.spines.get(),
                hosts_per_leaf: both.hosts_per_leaf.get(),
                long_links: both.long_links(),
                long: Cable { rate: both.long_rate.unwrap_or(usual.rate), delay: both.long_delay },
            }
        }
        Shape::Graph(graph) => return Layout::Listed(graph),
    })
}

fn cables(scenario: &Scenario) -> Cables {
    let topology = &scenario.topology;
    let cable = |rate: Option<_>, delay: Option<_>| Cable {
        rate: rate.unwrap_or(topology.rate),
        delay: delay.unwrap_or(topology.delay),
    };
    Cables {
        host: cable(topology.host_rate, topology.host_delay),
        switch: cable(topology.switch_rate, topology.switch_delay),
    }
}

fn graph_from_links(scenario: &Scenario, graph: &wiremend_scenario::Graph) -> Result<Graph, GraphError> {
    let cables = cables(scenario);
    let hosts: BTreeSet<&str> = graph.hosts.iter().map(|host| host.as_str()).collect();
    let links: Vec<_> = graph
        .links
        .iter()
        .map(|link| {
            let [a, b] = [link.ends[0].as_str(), link.ends[1].as_str()];
            let is_host_link = hosts.contains(a) || hosts.contains(b);
            let usual = if is_host_link { cables.host } else { cables.switch };
            let cable =
                Cable { rate: link.rate.unwrap_or(usual.rate), delay: link.delay.unwrap_or(usual.delay) };
            NamedLink { a, b, cable }
        })
        .collect();
    let names = |nodes: &[Placed<wiremend_scenario::Name>]| {
        nodes.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>()
    };
    Graph::from_links(&names(&graph.hosts), &names(&graph.switches), &links)
}
