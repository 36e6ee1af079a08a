//! All shortest paths from every switch to every host.

use std::collections::{BTreeMap, BTreeSet};

use wiremend_units::{HostId, LaneId, LinkId, SwitchId};

use crate::graph::{Graph, Node};

/// For each switch and destination, the lanes on shortest paths.
///
/// All hosts of one switch share their paths up to that switch, so the table has one column per *edge* switch.
/// Most switches use the same lanes towards many edge switches, so the table has one entry per block of columns:
/// a set of lanes, or the number of a block with one set per column. Equal sets of lanes are stored once.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Column of the table, by host.
    column: Vec<u32>,
    /// Blocks per switch.
    blocks: usize,
    /// By switch, then block: the set of all its columns with [`UNIFORM`], or a position in `mixed`.
    table: Vec<u32>,
    /// The sets of blocks that are not uniform, by block, then column. A set is its position in `sets`, or
    /// [`LAST_HOP`].
    mixed: Vec<u32>,
    /// Sets of lanes, each preceded by its length: one read finds both, and an entry takes 4 bytes.
    sets: Vec<LaneId>,
    /// Lane to each host from its switch.
    last_hop: Vec<LaneId>,
}

/// Columns per block.
const BLOCK: usize = 32;
/// Columns that are searched at a time, one bit each.
const BATCH: usize = 64;
/// All columns of a block have the same set.
const UNIFORM: u32 = 1 << 31;
/// The packet has reached its edge switch.
const LAST_HOP: u32 = UNIFORM - 1;
/// The empty set at position 0: there is no path.
const NO_PATH: u32 = 0;

impl Routes {
    /// Computes shortest paths by number of hops. Lanes of a set are in the order of ports.
    pub fn shortest(graph: &Graph) -> Self {
        Self::avoiding(graph, &BTreeSet::new())
    }

    /// Computes shortest paths that use none of some links between switches.
    pub fn avoiding(graph: &Graph, avoided: &BTreeSet<LinkId>) -> Self {
        let tors = tors(graph);
        let mut column_of = vec![u32::MAX; graph.switch_count() as usize];
        for (column, tor) in tors.iter().enumerate() {
            column_of[tor.index()] = column as u32;
        }
        let switches = graph.switch_count() as usize;
        let blocks = tors.len().div_ceil(BLOCK);
        let mut routes = Self {
            column: graph.hosts().map(|host| column_of[graph.tor(host).index()]).collect(),
            blocks,
            table: vec![UNIFORM | NO_PATH; switches * blocks],
            mixed: Vec::new(),
            sets: vec![LaneId(0)],
            last_hop: graph.hosts().map(|host| graph.uplink(host).reverse()).collect(),
        };
        let mut search = Search::new(graph, avoided);
        let mut known = vec![BTreeMap::new(); switches];
        for (batch, tors) in tors.chunks(BATCH).enumerate() {
            let columns = search.run(tors, |switch, lanes| {
                known[switch].get(lanes).copied().unwrap_or_else(|| {
                    let set = push_set(&mut routes.sets, lanes);
                    known[switch].insert(lanes.to_vec(), set);
                    set
                })
            });
            for (switch, columns) in columns.iter().enumerate() {
                for (block, columns) in columns[..tors.len()].chunks(BLOCK).enumerate() {
                    let entry = routes.block(columns);
                    routes.table[switch * blocks + batch * BATCH / BLOCK + block] = entry;
                }
            }
        }
        routes
    }

    /// Returns the lanes from `switch` towards `dst` on shortest paths; empty if there is no path.
    #[inline]
    pub fn next_hops(&self, switch: SwitchId, dst: HostId) -> &[LaneId] {
        let column = self.column[dst.index()] as usize;
        let entry = self.table[switch.index() * self.blocks + column / BLOCK];
        let set =
            if entry & UNIFORM == 0 { self.mixed[entry as usize + column % BLOCK] } else { entry & !UNIFORM };
        if set == LAST_HOP {
            return std::slice::from_ref(&self.last_hop[dst.index()]);
        }
        let start = set as usize + 1;
        &self.sets[start..start + self.sets[set as usize].index()]
    }

    /// Returns the lanes of one packet from host to host; `choose` selects one of the lanes at each switch.
    pub fn path(
        &self,
        graph: &Graph,
        src: HostId,
        dst: HostId,
        mut choose: impl FnMut(SwitchId, &[LaneId]) -> LaneId,
    ) -> Vec<LaneId> {
        let mut path = vec![graph.uplink(src)];
        // Each hop of a shortest path is closer to the destination, so the loop ends.
        while let Node::Switch(switch) = graph.node(graph.lane_to(path[path.len() - 1])) {
            let lanes = self.next_hops(switch, dst);
            let lane = choose(switch, lanes);
            assert!(lanes.contains(&lane), "{lane} does not lead from {switch} to {dst}");
            path.push(lane);
        }
        path
    }

    /// Returns the entry of a block with these sets.
    fn block(&mut self, columns: &[u32]) -> u32 {
        if columns.iter().all(|set| *set == columns[0]) {
            return UNIFORM | columns[0];
        }
        let start = self.mixed.len();
        assert!(start < UNIFORM as usize, "fewer than 2^31 entries");
        self.mixed.extend_from_slice(columns);
        start as u32
    }
}

fn push_set(sets: &mut Vec<LaneId>, lanes: &[LaneId]) -> u32 {
    let start = sets.len();
    assert!(start < LAST_HOP as usize, "fewer distinct sets than lanes times edge switches");
    sets.push(LaneId(lanes.len() as u32));
    sets.extend_from_slice(lanes);
    start as u32
}

/// Returns the switches with hosts, in the order of their numbers.
fn tors(graph: &Graph) -> Vec<SwitchId> {
    let mut tors: Vec<SwitchId> = graph.hosts().map(|host| graph.tor(host)).collect();
    tors.sort_unstable();
    tors.dedup();
    tors
}

/// Breadth-first search from several edge switches at a time to all switches. Each edge switch is a bit.
struct Search {
    /// Lanes between switches with their destination, by switch.
    lanes: Vec<(LaneId, u32)>,
    lane_starts: Vec<usize>,
    /// By switch: the edge switches that have reached it, those that reached it with the last hop, and those that
    /// reach it with the next hop.
    seen: Vec<u64>,
    last: Vec<u64>,
    next: Vec<u64>,
    /// By switch: the set of lanes towards each edge switch.
    columns: Vec<[u32; BATCH]>,
}

impl Search {
    fn new(graph: &Graph, avoided: &BTreeSet<LinkId>) -> Self {
        let (mut lanes, mut lane_starts) = (Vec::new(), vec![0]);
        for switch in graph.switches() {
            for &lane in graph.ports(graph.switch_node(switch)) {
                if let Node::Switch(to) = graph.node(graph.lane_to(lane))
                    && !avoided.contains(&lane.link())
                {
                    lanes.push((lane, to.0));
                }
            }
            lane_starts.push(lanes.len());
        }
        let none = vec![0; graph.switch_count() as usize];
        let columns = vec![[NO_PATH; BATCH]; none.len()];
        Self { lanes, lane_starts, seen: none.clone(), last: none.clone(), next: none, columns }
    }

    /// Searches from `tors` and returns the sets of all switches. `set` returns the position of a set of lanes.
    fn run(&mut self, tors: &[SwitchId], mut set: impl FnMut(usize, &[LaneId]) -> u32) -> &[[u32; BATCH]] {
        self.seen.fill(0);
        self.last.fill(0);
        self.columns.fill([NO_PATH; BATCH]);
        for (bit, tor) in tors.iter().enumerate() {
            self.seen[tor.index()] = 1 << bit;
            self.last[tor.index()] = 1 << bit;
            self.columns[tor.index()][bit] = LAST_HOP;
        }
        let all = u64::MAX >> (BATCH - tors.len());
        let (mut groups, mut members) = (Vec::new(), Vec::new());
        loop {
            for switch in 0..self.seen.len() {
                self.next[switch] = 0;
                if self.seen[switch] == all {
                    continue;
                }
                let lanes = &self.lanes[self.lane_starts[switch]..self.lane_starts[switch + 1]];
                let reached = lanes.iter().fold(0, |reached, (_, to)| reached | self.last[*to as usize]);
                let new = reached & !self.seen[switch];
                self.next[switch] = new;
                if new == 0 {
                    continue;
                }
                split(&mut groups, new, lanes.iter().map(|(_, to)| self.last[*to as usize]));
                for &group in &groups {
                    members.clear();
                    let closer = lanes.iter().filter(|(_, to)| self.last[*to as usize] & group != 0);
                    members.extend(closer.map(|(lane, _)| *lane));
                    let set = set(switch, &members);
                    for bit in (0..BATCH).filter(|bit| group >> bit & 1 != 0) {
                        self.columns[switch][bit] = set;
                    }
                }
            }
            std::mem::swap(&mut self.last, &mut self.next);
            if self.last.iter().all(|last| *last == 0) {
                return &self.columns;
            }
            self.seen.iter_mut().zip(&self.last).for_each(|(seen, last)| *seen |= last);
        }
    }
}

/// Splits the bits of `all` into groups that no mask divides.
fn split(groups: &mut Vec<u64>, all: u64, masks: impl Iterator<Item = u64>) {
    groups.clear();
    groups.push(all);
    for mask in masks {
        for index in 0..groups.len() {
            let group = groups[index];
            if group & mask != 0 && group & !mask != 0 {
                groups[index] = group & mask;
                groups.push(group & !mask);
            }
        }
    }
}
