//! The lanes between switches, densely numbered: only these can be part of a cycle.

use wiremend_units::{LaneId, LinkId, SwitchId};

use crate::graph::{Graph, Node};

/// Position of a lane among the lanes between switches, ordered by the switch where it starts and its port.
pub(super) type Slot = u32;

/// Lanes between switches. Lanes of hosts are excluded: no packet waits behind a host, and no switch sends
/// into a lane that starts at a host.
pub(super) struct SwitchLanes {
    /// First lane of each switch; one more entry at the end.
    pub(super) starts: Vec<u32>,
    /// By slot.
    pub(super) lanes: Vec<LaneId>,
    /// Destination switch, by slot.
    pub(super) to: Vec<u32>,
    /// Reverse lane, by slot.
    pub(super) reverse: Vec<Slot>,
}

impl SwitchLanes {
    pub(super) fn new(graph: &Graph) -> Self {
        let (mut starts, mut lanes, mut to) = (vec![0], Vec::new(), Vec::new());
        let mut slot_of = vec![u32::MAX; graph.lane_count() as usize];
        for switch in graph.switches() {
            for &lane in graph.ports(graph.switch_node(switch)) {
                if let Node::Switch(next) = graph.node(graph.lane_to(lane)) {
                    slot_of[lane.index()] = lanes.len() as u32;
                    lanes.push(lane);
                    to.push(next.0);
                }
            }
            starts.push(lanes.len() as u32);
        }
        let reverse = lanes.iter().map(|lane| slot_of[lane.reverse().index()]).collect();
        Self { starts, lanes, to, reverse }
    }

    pub(super) fn switch_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the lanes that leave a switch.
    pub(super) fn leaving(&self, switch: u32) -> std::ops::Range<Slot> {
        self.starts[switch as usize]..self.starts[switch as usize + 1]
    }

    /// Returns the lanes from one switch to another; several if there are parallel links.
    pub(super) fn between(&self, from: SwitchId, to: SwitchId) -> Vec<Slot> {
        self.leaving(from.0).filter(|slot| self.to[*slot as usize] == to.0).collect()
    }

    /// Returns which lanes belong to these links, by slot.
    pub(super) fn without(&self, failed: &[LinkId]) -> Vec<bool> {
        self.lanes.iter().map(|lane| failed.contains(&lane.link())).collect()
    }
}
