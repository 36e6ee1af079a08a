//! Maximum flow of a small network (Dinic's algorithm).

/// A network with node 0 as its source and node 1 as its sink. Its arrays are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowNetwork {
    /// First edge of each node, or `NONE`.
    first: Vec<u32>,
    /// Each edge and its reverse are neighbours.
    edges: Vec<Edge>,
    levels: Vec<u32>,
    next: Vec<u32>,
    queue: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u32,
    next: u32,
    /// Capacity that is left.
    left: u64,
}

const NONE: u32 = u32::MAX;
pub(super) const SOURCE: u32 = 0;
pub(super) const SINK: u32 = 1;

impl FlowNetwork {
    pub(super) fn clear(&mut self) {
        self.first.clear();
        self.first.extend([NONE; 2]);
        self.edges.clear();
    }

    pub(super) fn add_node(&mut self) -> u32 {
        self.first.push(NONE);
        self.first.len() as u32 - 1
    }

    pub(super) fn add_edge(&mut self, from: u32, to: u32, capacity: u64) {
        for (from, to, left) in [(from, to, capacity), (to, from, 0)] {
            let edge = self.edges.len() as u32;
            self.edges.push(Edge { to, next: self.first[from as usize], left });
            self.first[from as usize] = edge;
        }
    }

    /// Returns the maximum flow, and leaves what is left of each edge.
    pub(super) fn solve(&mut self) -> u64 {
        let mut flow = 0;
        while self.find_levels() {
            self.next.clone_from(&self.first);
            loop {
                let sent = self.send(SOURCE, u64::MAX);
                if sent == 0 {
                    break;
                }
                flow += sent;
            }
        }
        flow
    }

    /// Returns whether more could flow to a node; the nodes where it can are the source's side of a minimum
    /// cut. Requires [`solve`](Self::solve).
    pub(super) fn is_reached(&self, node: u32) -> bool {
        self.levels[node as usize] != NONE
    }

    fn find_levels(&mut self) -> bool {
        self.levels.clear();
        self.levels.resize(self.first.len(), NONE);
        self.levels[SOURCE as usize] = 0;
        self.queue.clear();
        self.queue.push(SOURCE);
        let mut at = 0;
        while let Some(node) = self.queue.get(at).copied() {
            at += 1;
            let mut edge = self.first[node as usize];
            while edge != NONE {
                let Edge { to, next, left } = self.edges[edge as usize];
                if left > 0 && self.levels[to as usize] == NONE {
                    self.levels[to as usize] = self.levels[node as usize] + 1;
                    self.queue.push(to);
                }
                edge = next;
            }
        }
        self.levels[SINK as usize] != NONE
    }

    /// Sends up to `most` along one or more paths of ascending levels. The depth is at most twice the number
    /// of tiers per change of direction, and bounded by the number of nodes.
    fn send(&mut self, node: u32, most: u64) -> u64 {
        if node == SINK {
            return most;
        }
        let mut sent = 0;
        while self.next[node as usize] != NONE && sent < most {
            let edge = self.next[node as usize];
            let Edge { to, next, left } = self.edges[edge as usize];
            if left > 0 && self.levels[to as usize] == self.levels[node as usize] + 1 {
                let part = self.send(to, left.min(most - sent));
                self.edges[edge as usize].left -= part;
                self.edges[edge as usize ^ 1].left += part;
                sent += part;
                if sent == most {
                    break;
                }
            }
            self.next[node as usize] = next;
        }
        sent
    }
}
