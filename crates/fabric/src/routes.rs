//! All shortest paths from every switch to every host.

use std::collections::BTreeMap;
use std::ops::Range;

use wiremend_units::{HostId, LaneId, SwitchId};

use crate::graph::{Graph, Node};

/// For each switch and destination, the lanes on shortest paths.
///
/// All hosts of one switch share their paths up to that switch, so the table has one entry per switch and
/// *edge* switch. Equal sets of lanes are stored once: an entry is a position in one array.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Column of the table, by host.
    column: Vec<u32>,
    columns: usize,
    /// By switch, then column: position of the set of lanes in `sets`, or `LAST_HOP`.
    table: Vec<u32>,
    /// Sets of lanes, each preceded by its length: one read finds both, and an entry takes 4 bytes.
    sets: Vec<LaneId>,
    /// Lane to each host from its switch.
    last_hop: Vec<LaneId>,
}

/// The packet has reached its edge switch.
const LAST_HOP: u32 = u32::MAX;
/// The empty set at position 0: there is no path.
const NO_PATH: u32 = 0;

impl Routes {
    /// Computes shortest paths by number of hops. Lanes of a set are in the order of ports.
    pub fn shortest(graph: &Graph) -> Self {
        let tors = tors(graph);
        let mut column_of = vec![u32::MAX; graph.switch_count() as usize];
        for (column, tor) in tors.iter().enumerate() {
            column_of[tor.index()] = column as u32;
        }
        let mut routes = Self {
            column: graph.hosts().map(|host| column_of[graph.tor(host).index()]).collect(),
            columns: tors.len(),
            table: vec![NO_PATH; graph.switch_count() as usize * tors.len()],
            sets: vec![LaneId(0)],
            last_hop: graph.hosts().map(|host| graph.uplink(host).reverse()).collect(),
        };
        let mut search = Search::new(graph);
        let mut known = vec![BTreeMap::new(); graph.switch_count() as usize];
        for (column, tor) in tors.into_iter().enumerate() {
            search.run(tor);
            routes.fill_column(column, &search, &mut known);
        }
        routes
    }

    /// Returns the lanes from `switch` towards `dst` on shortest paths; empty if there is no path.
    #[inline]
    pub fn next_hops(&self, switch: SwitchId, dst: HostId) -> &[LaneId] {
        let column = self.column[dst.index()] as usize;
        let entry = self.table[switch.index() * self.columns + column];
        if entry == LAST_HOP {
            return std::slice::from_ref(&self.last_hop[dst.index()]);
        }
        let start = entry as usize + 1;
        &self.sets[start..start + self.sets[entry as usize].index()]
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

    /// Enters the paths to the start of `search`. `known` contains the stored sets of each switch.
    fn fill_column(&mut self, column: usize, search: &Search, known: &mut [BTreeMap<Vec<LaneId>, u32>]) {
        let (tor, others) = search.order.split_first().expect("a search visits its start");
        self.table[tor.index() * self.columns + column] = LAST_HOP;
        let mut lanes = Vec::new();
        for switch in others {
            lanes.clear();
            lanes.extend(search.closer(*switch));
            let known = &mut known[switch.index()];
            let entry = known.get(&lanes).copied().unwrap_or_else(|| {
                let entry = push_set(&mut self.sets, &lanes);
                known.insert(lanes.clone(), entry);
                entry
            });
            self.table[switch.index() * self.columns + column] = entry;
        }
    }
}

fn push_set(sets: &mut Vec<LaneId>, lanes: &[LaneId]) -> u32 {
    let start = u32::try_from(sets.len()).expect("fewer distinct sets than lanes times edge switches");
    assert!(start < LAST_HOP);
    sets.push(LaneId(lanes.len() as u32));
    sets.extend_from_slice(lanes);
    start
}

/// Returns the switches with hosts, in the order of their numbers.
fn tors(graph: &Graph) -> Vec<SwitchId> {
    let mut tors: Vec<SwitchId> = graph.hosts().map(|host| graph.tor(host)).collect();
    tors.sort_unstable();
    tors.dedup();
    tors
}

/// Breadth-first search from one edge switch to all switches.
struct Search {
    /// Lanes between switches with their destination, by switch.
    lanes: Vec<(LaneId, SwitchId)>,
    lane_starts: Vec<usize>,
    /// Hops to the start of the search.
    hops: Vec<u32>,
    /// Switches in the order of visits.
    order: Vec<SwitchId>,
}

impl Search {
    fn new(graph: &Graph) -> Self {
        let (mut lanes, mut lane_starts) = (Vec::new(), vec![0]);
        for switch in graph.switches() {
            for &lane in graph.ports(graph.switch_node(switch)) {
                if let Node::Switch(to) = graph.node(graph.lane_to(lane)) {
                    lanes.push((lane, to));
                }
            }
            lane_starts.push(lanes.len());
        }
        let switches = graph.switch_count() as usize;
        Self { lanes, lane_starts, hops: vec![u32::MAX; switches], order: Vec::with_capacity(switches) }
    }

    fn run(&mut self, start: SwitchId) {
        self.hops.fill(u32::MAX);
        self.hops[start.index()] = 0;
        self.order.clear();
        self.order.push(start);
        let mut done = 0;
        while let Some(&switch) = self.order.get(done) {
            done += 1;
            let hops = self.hops[switch.index()] + 1;
            for &(_, to) in &self.lanes[self.lane_range(switch)] {
                if self.hops[to.index()] == u32::MAX {
                    self.hops[to.index()] = hops;
                    self.order.push(to);
                }
            }
        }
    }

    /// Iterates over the lanes of a switch that lead one hop closer to the start.
    fn closer(&self, switch: SwitchId) -> impl Iterator<Item = LaneId> {
        let hops = self.hops[switch.index()];
        let lanes = &self.lanes[self.lane_range(switch)];
        lanes.iter().filter(move |(_, to)| self.hops[to.index()] + 1 == hops).map(|(lane, _)| *lane)
    }

    fn lane_range(&self, switch: SwitchId) -> Range<usize> {
        self.lane_starts[switch.index()]..self.lane_starts[switch.index() + 1]
    }
}
