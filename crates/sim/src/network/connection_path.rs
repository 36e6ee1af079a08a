//! The output ports of a path. Frames carry them, so that switches need not look up routes, whose tables exceed the
//! caches in large networks.
//!
//! While switches only forward along shortest paths, a path follows from source, destination and entropy.
//! It is looked up when a connection sends its first frame with another one ready, or its second frame.

use wiremend_units::{LaneId, SwitchId};

use super::{FlowKey, Network};
use crate::frame::PathPorts;

/// The path on which a connection sends.
#[derive(Clone, Copy, Default)]
pub(crate) struct ConnectionPath {
    ports: PathPorts,
    entropy: u16,
    has_sent: bool,
}

impl ConnectionPath {
    /// Returns the ports for the next frame. `more`: another frame will certainly follow.
    #[inline]
    pub(crate) fn next(&mut self, net: &Network, key: FlowKey, more: bool) -> PathPorts {
        if self.entropy != key.entropy || self.ports == PathPorts::default() {
            self.update(net, key, more);
        }
        self.ports
    }

    #[inline(never)]
    fn update(&mut self, net: &Network, key: FlowKey, more: bool) {
        let is_same = self.has_sent && self.entropy == key.entropy || more && !self.has_sent;
        let ports = if is_same { net.path_ports(key) } else { PathPorts::default() };
        *self = Self { ports, entropy: key.entropy, has_sent: true };
    }
}

impl Network {
    /// Returns the output ports of a flow's path, as far as there is room for them.
    fn path_ports(&self, key: FlowKey) -> PathPorts {
        let (mut ports, mut lane) = (PathPorts::default(), self.uplink(key.src));
        for hop in 0..PathPorts::hops(self.port_width) {
            let Some(switch) = self.switch_at(lane) else { break };
            lane = self.next_hop(switch, key);
            ports.set(hop, self.port_width, self.lanes[lane.reverse().index()].ingress);
        }
        ports
    }

    /// Returns the lane over which a switch forwards a frame, which its `hop`-th switch may know without a look at the
    /// routes.
    #[inline]
    pub(crate) fn forwarding_lane(
        &self,
        switch: SwitchId,
        key: FlowKey,
        ports: PathPorts,
        hop: u8,
    ) -> LaneId {
        match ports.at(hop, self.port_width) {
            Some(port) => {
                let lane = self.graph.ports(self.graph.switch_node(switch))[port as usize];
                debug_assert_eq!(lane, self.next_hop(switch, key), "a path is constant");
                lane
            }
            None => self.next_hop(switch, key),
        }
    }
}
