//! The paths of flows, for reports.

use std::sync::Arc;

use wiremend_fabric::Graph;
use wiremend_measure::FlowRow;
use wiremend_units::{HostId, LaneId};

use super::{FlowKey, Network};

/// Finds the paths of flows after they ended.
#[derive(Clone)]
pub struct FlowPaths {
    pub(crate) net: Arc<Network>,
    /// By lane: whether it has an impairment that may corrupt frames.
    pub(crate) corrupting: Arc<[bool]>,
    /// Whether forwarding entries or failures may lead packets off the shortest paths.
    pub(crate) has_detours: bool,
}

/// The lanes that a flow crossed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowPath {
    /// From the requester's host to the responder's.
    pub there: Vec<LaneId>,
    /// The way of acknowledgements and READ responses.
    pub back: Vec<LaneId>,
}

impl FlowPaths {
    /// Returns the path of a flow; `None` if its packets may have taken several.
    pub fn path(&self, row: &FlowRow) -> Option<FlowPath> {
        if self.has_detours {
            return None;
        }
        let (src, dst) = (HostId(row.src), HostId(row.dst));
        let entropy = row.entropy.filter(|_| !self.net.balanced);
        Some(FlowPath {
            there: self.net.only_path(src, dst, entropy)?,
            back: self.net.only_path(dst, src, entropy)?,
        })
    }

    /// Returns whether a lane has an impairment that may corrupt frames.
    pub fn is_corrupting(&self, lane: LaneId) -> bool {
        self.corrupting[lane.index()]
    }

    /// Returns the topology graph.
    pub fn graph(&self) -> &Graph {
        &self.net.graph
    }
}

impl Network {
    /// Returns the lanes that all packets from a host to another take; `None` if there are several shortest paths and
    /// no entropy that decides.
    fn only_path(&self, src: HostId, dst: HostId, entropy: Option<u16>) -> Option<Vec<LaneId>> {
        let mut path = Vec::with_capacity(8);
        path.push(self.uplink(src));
        while let Some(switch) = self.switch_at(path[path.len() - 1]) {
            let lanes = self.routes.next_hops(switch, dst);
            let key = entropy.map(|entropy| FlowKey { src, dst, entropy });
            path.push(match (lanes, key) {
                ([only], _) => *only,
                (_, Some(key)) => self.pick_lane(switch, key, lanes),
                (_, None) => return None,
            });
        }
        Some(path)
    }
}
