//! Topological ranks, strongly connected components and shortest cycles of a directed graph.

/// A directed graph with nodes numbered from 0.
pub(super) trait Successors {
    fn node_count(&self) -> u32;

    /// Returns the first successor at position `from` (from 0) or later, and the next position.
    fn next(&self, node: u32, from: u32) -> Option<(u32, u32)>;

    fn successors(&self, node: u32) -> impl Iterator<Item = u32> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let (next, behind) = self.next(node, from)?;
            from = behind;
            Some(next)
        })
    }
}

/// Returns the number of topological ranks; `None` if there is a cycle. The rank of a node is the length of
/// the longest path to it (Kahn, level by level).
pub(super) fn ranks(graph: &impl Successors) -> Option<u32> {
    let nodes = graph.node_count();
    let mut waiting = vec![0_u32; nodes as usize];
    for node in 0..nodes {
        for next in graph.successors(node) {
            waiting[next as usize] += 1;
        }
    }
    let mut level: Vec<u32> = (0..nodes).filter(|node| waiting[*node as usize] == 0).collect();
    let (mut done, mut ranks) = (0, 0);
    while !level.is_empty() {
        done += level.len();
        ranks += 1;
        let mut following = Vec::new();
        for node in level {
            for next in graph.successors(node) {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    following.push(next);
                }
            }
        }
        level = following;
    }
    (done == nodes as usize).then_some(ranks)
}

/// Returns the strongly connected components with a cycle, each sorted, in the order of their first nodes
/// (Tarjan, with an explicit stack: a network may be deeper than a thread's stack).
pub(super) fn components(graph: &impl Successors) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    const DONE: u32 = u32::MAX - 1;
    let nodes = graph.node_count();
    // Visit number of each node, and the lowest visit number that it reaches.
    let (mut number, mut lowest) = (vec![UNSEEN; nodes as usize], vec![0_u32; nodes as usize]);
    let (mut open, mut path): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    let (mut visits, mut found) = (0, Vec::new());
    for root in 0..nodes {
        if number[root as usize] != UNSEEN {
            continue;
        }
        path.push((root, 0));
        while let Some((node, from)) = path.pop() {
            let at = node as usize;
            if from == 0 && number[at] == UNSEEN {
                (number[at], lowest[at]) = (visits, visits);
                visits += 1;
                open.push(node);
            }
            if let Some((next, behind)) = graph.next(node, from) {
                path.push((node, behind));
                match number[next as usize] {
                    UNSEEN => path.push((next, 0)),
                    DONE => {}
                    seen => lowest[at] = lowest[at].min(seen),
                }
                continue;
            }
            if let Some(&(parent, _)) = path.last() {
                lowest[parent as usize] = lowest[parent as usize].min(lowest[at]);
            }
            if lowest[at] == number[at] {
                let start = open
                    .iter()
                    .rposition(|other| *other == node)
                    .expect("a node stays open until it is done");
                let mut component = open.split_off(start);
                for member in &component {
                    number[*member as usize] = DONE;
                }
                if component.len() > 1 || graph.successors(node).any(|next| next == node) {
                    component.sort_unstable();
                    found.push(component);
                }
            }
        }
    }
    found.sort_unstable();
    found
}

/// Limit of edge visits of a search for cycles; only huge components reach it.
const EDGE_VISITS_MAX: u64 = 100_000_000;

/// Returns up to `max` shortest cycles of a sorted component, each from its lowest node, one per start.
pub(super) fn shortest_cycles(graph: &impl Successors, component: &[u32], max: usize) -> Vec<Vec<u32>> {
    let mut search = Search {
        graph,
        component,
        came_from: vec![UNREACHED; component.len()],
        reached: Vec::new(),
        edge_visits: 0,
    };
    let mut cycles: Vec<Vec<u32>> = Vec::new();
    let mut shortest = usize::MAX;
    for start in 0..component.len() {
        if search.edge_visits > EDGE_VISITS_MAX && !cycles.is_empty() {
            break;
        }
        if let Some(cycle) = search.from(start, shortest) {
            if cycle.len() < shortest {
                shortest = cycle.len();
                cycles.clear();
            }
            if cycles.len() < max {
                cycles.push(cycle);
            }
        }
    }
    cycles
}

const UNREACHED: u32 = u32::MAX;

/// Breadth-first search within a component.
struct Search<'a, G> {
    graph: &'a G,
    component: &'a [u32],
    /// By position in the component: the previous position.
    came_from: Vec<u32>,
    reached: Vec<u32>,
    edge_visits: u64,
}

impl<G: Successors> Search<'_, G> {
    /// Returns the shortest cycle through `start` and later nodes, if it has at most `longest` nodes.
    fn from(&mut self, start: usize, longest: usize) -> Option<Vec<u32>> {
        for position in self.reached.drain(..) {
            self.came_from[position as usize] = UNREACHED;
        }
        let mut level = vec![start as u32];
        let mut length = 0;
        while !level.is_empty() && length < longest {
            length += 1;
            let mut following = Vec::new();
            for position in level {
                for next in self.graph.successors(self.component[position as usize]) {
                    self.edge_visits += 1;
                    let Ok(next) = self.component[start..].binary_search(&next) else { continue };
                    let next = next + start;
                    if next == start {
                        return Some(self.cycle_through(start, position as usize));
                    }
                    if self.came_from[next] == UNREACHED {
                        self.came_from[next] = position;
                        self.reached.push(next as u32);
                        following.push(next as u32);
                    }
                }
            }
            level = following;
        }
        None
    }

    fn cycle_through(&self, start: usize, end: usize) -> Vec<u32> {
        let mut cycle = vec![self.component[end]];
        let mut position = end;
        while position != start {
            position = self.came_from[position] as usize;
            cycle.push(self.component[position]);
        }
        cycle.reverse();
        cycle
    }
}
