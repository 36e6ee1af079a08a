//! Order of the nodes in a ladder diagram.

use std::collections::{BTreeMap, VecDeque};

use wiremend_measure::{TraceEvent, TraceRecord};
use wiremend_units::NodeId;

/// Nodes of a ladder from left to right, with their names.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    nodes: Vec<NodeId>,
    names: Vec<String>,
}

impl Lanes {
    /// Sorts nodes by their distance in hops from the node of the first record. At the same distance (ACKs
    /// may take another path) the node that was recorded first comes first.
    pub(super) fn new(records: &[TraceRecord], name: impl Fn(NodeId) -> String) -> Self {
        let mut seen = Vec::new();
        let mut neighbours: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for record in records {
            let to = match record.event {
                TraceEvent::Sent { to, .. } => Some(to),
                _ => None,
            };
            for node in [Some(record.node), to].into_iter().flatten() {
                neighbours.entry(node).or_insert_with(|| {
                    seen.push(node);
                    Vec::new()
                });
            }
            if let Some(to) = to {
                neighbours.entry(record.node).or_default().push(to);
                neighbours.entry(to).or_default().push(record.node);
            }
        }
        let hops = seen.first().map(|&first| distances(first, &neighbours)).unwrap_or_default();
        seen.sort_by_key(|node| hops.get(node).copied().unwrap_or(usize::MAX));
        let names = seen.iter().map(|&node| name(node)).collect();
        Self { nodes: seen, names }
    }

    pub(super) const fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Position of a node, counted from the left.
    pub(super) fn position(&self, node: NodeId) -> usize {
        self.nodes.iter().position(|&lane| lane == node).expect("every node of a record has a lane")
    }

    /// Whether the position is one of the two outer ones.
    pub(super) fn is_end(&self, position: usize) -> bool {
        position == 0 || position + 1 == self.len()
    }
}

fn distances(first: NodeId, neighbours: &BTreeMap<NodeId, Vec<NodeId>>) -> BTreeMap<NodeId, usize> {
    let mut hops = BTreeMap::from([(first, 0)]);
    let mut next = VecDeque::from([first]);
    while let Some(node) = next.pop_front() {
        let further = hops[&node] + 1;
        for &neighbour in &neighbours[&node] {
            hops.entry(neighbour).or_insert_with(|| {
                next.push_back(neighbour);
                further
            });
        }
    }
    hops
}
