//! The forwarding entries of a scenario, switch by switch.

use std::collections::BTreeSet;

use wiremend_fabric::deadlock::RouteOverride;
use wiremend_fabric::{Graph, Node};
use wiremend_scenario::{Line, Placed, Route, Scenario};
use wiremend_units::{LaneId, NodeId, SwitchId, Time};

use super::BuildError;
use crate::switch::{ForwardingEntry, ForwardingTarget};

/// An entry, resolved to nodes of the network.
struct Entry {
    switch: SwitchId,
    forwarding: ForwardingEntry,
    next: NodeId,
}

/// Returns all entries. Two entries for the same frames at the same time are rejected.
pub(super) fn place(
    scenario: &Scenario,
    graph: &Graph,
) -> Result<Vec<(SwitchId, ForwardingEntry)>, BuildError> {
    Ok(entries(scenario, graph)?.into_iter().map(|entry| (entry.switch, entry.forwarding)).collect())
}

/// Forwarding entries that are active together in a time interval.
#[derive(Clone, Debug)]
pub struct ForwardingPhase {
    /// Start of the interval.
    pub start: Time,
    /// End of the interval; `None`: no end.
    pub stop: Option<Time>,
    /// The active entries.
    pub overrides: Vec<RouteOverride>,
}

/// Returns the forwarding entries of a scenario as a sequence of time intervals.
pub fn forwarding_phases(scenario: &Scenario, graph: &Graph) -> Result<Vec<ForwardingPhase>, BuildError> {
    let entries = entries(scenario, graph)?;
    let bounds = entries.iter().flat_map(|entry| [entry.forwarding.from, entry.forwarding.until]);
    let bounds: Vec<Time> =
        bounds.chain([Time::ZERO, Time::MAX]).collect::<BTreeSet<_>>().into_iter().collect();
    let phase = |ends: &[Time]| ForwardingPhase {
        start: ends[0],
        stop: (ends[1] < Time::MAX).then_some(ends[1]),
        overrides: overrides(graph, entries.iter().filter(|entry| is_active(&entry.forwarding, ends[0]))),
    };
    Ok(bounds.windows(2).map(phase).collect())
}

fn is_active(forwarding: &ForwardingEntry, at: Time) -> bool {
    (forwarding.from..forwarding.until).contains(&at)
}

/// Expands entries for all hosts to one entry per ToR switch, unless that switch has a more specific entry.
fn overrides<'a>(graph: &Graph, entries: impl Iterator<Item = &'a Entry>) -> Vec<RouteOverride> {
    let mut found: Vec<RouteOverride> = Vec::new();
    let mut all = Vec::new();
    for Entry { switch, forwarding, next } in entries {
        let one = |to| RouteOverride { switch: *switch, to, next: *next };
        match forwarding.to {
            ForwardingTarget::Host(host) => found.push(one(graph.host_node(host))),
            ForwardingTarget::Tor(tor) => found.push(one(graph.switch_node(tor))),
            ForwardingTarget::All => {
                let tors: BTreeSet<_> = graph.hosts().map(|host| graph.tor(host)).collect();
                all.extend(tors.into_iter().map(|tor| one(graph.switch_node(tor))));
            }
        }
    }
    for one in all {
        if !found.iter().any(|other| (other.switch, other.to) == (one.switch, one.to)) {
            found.push(one);
        }
    }
    found
}

fn entries(scenario: &Scenario, graph: &Graph) -> Result<Vec<Entry>, BuildError> {
    let mut entries: Vec<Entry> = Vec::new();
    for route in &scenario.routes {
        let entry = entry(graph, route)?;
        let meets = |other: &Entry| {
            (other.switch, other.forwarding.to) == (entry.switch, entry.forwarding.to)
                && other.forwarding.from < entry.forwarding.until
                && entry.forwarding.from < other.forwarding.until
        };
        if entries.iter().any(meets) {
            let what = format!(
                "`{}` has two entries for `{}` at the same time; remove one",
                route.switch.as_str(),
                route.to.as_str()
            );
            return Err(BuildError::at(route.place, what));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(graph: &Graph, route: &Placed<Route>) -> Result<Entry, BuildError> {
    let node = |name: &Placed<Line>, what: &str| {
        graph.node_by_name(name.as_str()).ok_or_else(|| {
            let names: Vec<&str> = graph.nodes().map(|node| graph.name(node)).collect();
            BuildError::at(name.place, wiremend_units::unknown_name(what, name.as_str(), &names))
        })
    };
    let Node::Switch(switch) = graph.node(node(&route.switch, "switch")?) else {
        let what = format!("`{}` is a host; name a switch", route.switch.as_str());
        return Err(BuildError::at(route.switch.place, what));
    };
    let to = match route.to.as_str() {
        "all" => ForwardingTarget::All,
        _ => match graph.node(node(&route.to, "destination")?) {
            Node::Host(host) => ForwardingTarget::Host(host),
            Node::Switch(tor) if graph.hosts().any(|host| graph.tor(host) == tor) => {
                ForwardingTarget::Tor(tor)
            }
            Node::Switch(_) => {
                let what = format!(
                    "`{}` has no hosts; name a host, a switch with hosts, or \"all\"",
                    route.to.as_str()
                );
                return Err(BuildError::at(route.to.place, what));
            }
        },
    };
    let lanes = lanes(graph, switch, &route.next)?;
    let next = graph.lane_to(lanes[0]);
    if let Node::Host(host) = graph.node(next)
        && to != ForwardingTarget::Host(host)
    {
        let what = format!("`{}` is a host and cannot forward; name a switch", graph.name(next));
        return Err(BuildError::at(route.next.place, what));
    }
    let until = route.stop.unwrap_or(Time::MAX);
    Ok(Entry { switch, forwarding: ForwardingEntry { to, lanes, from: route.start, until }, next })
}

/// Returns all lanes to a neighbour, or the lane of a link.
fn lanes(graph: &Graph, switch: SwitchId, next: &Placed<Line>) -> Result<Vec<LaneId>, BuildError> {
    let node = graph.switch_node(switch);
    let ports = graph.ports(node);
    let neighbour = graph.node_by_name(next.as_str());
    let link = graph.link_by_name(next.as_str());
    let is_selected = |lane: &LaneId| match (neighbour, link) {
        (Some(neighbour), _) => graph.lane_to(*lane) == neighbour,
        (None, link) => Some(lane.link()) == link,
    };
    let lanes: Vec<LaneId> = ports.iter().copied().filter(is_selected).collect();
    if !lanes.is_empty() {
        return Ok(lanes);
    }
    let mut around: Vec<&str> = ports.iter().map(|lane| graph.name(graph.lane_to(*lane))).collect();
    around.dedup();
    let what = if neighbour.is_some() || link.is_some() {
        let more = if around.len() > 8 { ", …" } else { "" };
        around.truncate(8);
        format!(
            "`{}` is neither a neighbour nor a link of `{}`; its neighbours are {}{more}",
            next.as_str(),
            graph.name(node),
            around.join(", ")
        )
    } else {
        wiremend_units::unknown_name("neighbour or link", next.as_str(), &around)
    };
    Err(BuildError::at(next.place, what))
}
