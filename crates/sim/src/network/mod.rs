//! The constant part of a run: the graph, its routes, latencies, and the settings that all connections share.

mod connection_path;
mod failed_frames;
mod failures;
mod flow_paths;
mod host_delay;
pub(crate) mod ideal;
mod notice;

pub(crate) use connection_path::ConnectionPath;
pub(crate) use failed_frames::{FailedFrame, FailedFrames};
pub(crate) use failures::{Failures, GrayFlows, Outages, Reaction};
pub use flow_paths::{FlowPath, FlowPaths};
pub(crate) use host_delay::HostDelay;
pub(crate) use ideal::{IdealFlow, LastIdealTime};
pub(crate) use notice::{DeliveryNotice, Notice, NoticeKind};

use std::sync::Arc;

use wiremend_fabric::{Graph, Partition, Routes};
use wiremend_proto::engine::Op;
use wiremend_proto::{Packet, cc, dcp, rc, sr, tcp};
use wiremend_scenario::FrameSizes;
use wiremend_units::{HostId, LaneId, NodeId, Psn, Rate, Span, SwitchId, Time, mix, stream_seed};
use wiremend_wire::{Ecn, Opcode};

use crate::frame::PathPorts;

/// Identifiers of random streams. Each purpose has its own stream, so that draws for one do not affect
/// another.
pub(crate) mod purpose {
    pub(crate) const TIES: u64 = 1;
    pub(crate) const ECMP: u64 = 2;
    pub(crate) const IMPAIR: u64 = 3;
    pub(crate) const ARRIVALS: u64 = 4;
    pub(crate) const ENTROPY: u64 = 5;
    pub(crate) const MARKS: u64 = 6;
    pub(crate) const BALANCE: u64 = 7;
    pub(crate) const TRIMS: u64 = 8;
    pub(crate) const FAILURES: u64 = 9;
    pub(crate) const HOST_DELAY: u64 = 10;
    pub(crate) const QUEUE_PAIRS: u64 = 11;
    pub(crate) const FIRST_PSN: u64 = 12;
}

pub(crate) struct Network {
    pub(crate) graph: Graph,
    pub(crate) routes: Routes,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) plan: Partition,
    pub(crate) transport: Transport,
    pub(crate) seed: u64,
    /// Links that fail at times, if there are any.
    pub(crate) failures: Option<Arc<Failures>>,
    /// Whether frames of a connection may take different paths.
    pub(crate) balanced: bool,
    /// Whether all links have the same rate and delay.
    has_equal_links: bool,
    salts: Vec<u64>,
    /// Bits of a port number in [`PathPorts`].
    port_width: u8,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) to: NodeId,
    /// The receiver's port at which the lane ends.
    pub(crate) ingress: u16,
    pub(crate) rate: Rate,
    /// Time from the last bit sent until the frame is in the receiver's output queue, or at its transport. It
    /// is the sum of the propagation delay, the receiver's forwarding or rx latency, and a sending host's tx
    /// latency. It is constant, so it needs no event of its own.
    pub(crate) delay: Span,
}

/// Fixed latencies of nodes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Latencies {
    pub(crate) switch: Span,
    pub(crate) host_tx: Span,
    pub(crate) host_rx: Span,
}

/// Settings that all connections of a run share.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    /// Settings of every scheme; go-back-N has no others.
    pub(crate) config: rc::Config,
    pub(crate) engine: Engine,
    pub(crate) op: Op,
    /// Whether a newer ACK replaces an ACK that waits in the NIC.
    pub(crate) coalesce_acks: bool,
    /// Whether flows share one connection per ordered pair of hosts. Otherwise each flow has its own.
    pub(crate) per_pair: bool,
    /// The congestion control; `None`: connections send at line rate.
    pub(crate) congestion: Option<Arc<dyn cc::Algorithm>>,
    pub(crate) needs: cc::Needs,
    /// The longest base round trip of the network; set only if the congestion control needs it.
    pub(crate) longest_round_trip: Span,
    /// The class of CNPs; `None`: the class of the marked packet.
    pub(crate) cnp_class: Option<u8>,
    pub(crate) ttl: u8,
    /// Connections per ordered pair of hosts, if flows share them.
    pub(crate) queue_pairs: u16,
    pub(crate) frames: FrameSizes,
    /// First PSN of all connections; `None`: a random one for each.
    pub(crate) first_psn: Option<Psn>,
    /// Whether receivers accept header-only packets, so that switches may trim data packets.
    pub(crate) trimmable: bool,
    /// Copies that ToR switches make; `None`: no copies.
    pub(crate) repeats: Option<SwitchCopyConfig>,
    /// TCP settings, if some connections use TCP.
    pub(crate) tcp: Option<Box<Tcp>>,
    /// Time until a host's processor reacts; `None`: it reacts at once.
    pub(crate) host_delay: Option<Box<HostDelay>>,
}

impl Transport {
    /// Bytes of a packet's frame, MAC header to FCS.
    #[inline]
    pub(crate) fn frame_len(&self, packet: &Packet) -> u16 {
        match packet {
            Packet::Rc(packet) if self.frames == FrameSizes::Paper => {
                self.sized(packet.opcode, packet.payload_len)
            }
            _ => packet.frame_len(),
        }
    }

    /// Bytes of the frame of an RDMA packet with this payload.
    pub(crate) fn sized(&self, opcode: Opcode, payload: u16) -> u16 {
        match opcode {
            _ if self.frames == FrameSizes::Wire => rc::frame_len(opcode, payload),
            Opcode::Acknowledge => PAPER_ANSWER_BYTES,
            _ => PAPER_HEADER_BYTES + payload,
        }
    }
}

/// Headers and FCS of a packet, and an ACK or NAK, in Gao et al. (JCST §3.2): without RETH and padding.
const PAPER_HEADER_BYTES: u16 = 62;
const PAPER_ANSWER_BYTES: u16 = 68;

/// Number of copies that `ToR` switches make of each NAK and retransmission (JCST §5.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwitchCopyConfig {
    pub(crate) nak_copies: u8,
    pub(crate) retransmission_copies: u8,
    pub(crate) registers: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    pub(crate) config: tcp::Config,
    /// Settings of connections with several subflows; their segments have a smaller MSS.
    pub(crate) multipath: tcp::Config,
    /// Time from the arrival of a frame until the host's stack has processed it.
    pub(crate) stack_latency: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum TransportProtocol {
    /// RDMA, with the scheme of [`Engine`].
    Rdma,
    Tcp,
    /// Multipath TCP with this number of subflows.
    Multipath(u8),
}

/// The loss recovery engine of all RDMA connections.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    /// Go-back-N or go-back-0.
    GoBack,
    Selective(Box<sr::Config>),
    /// Packets that carry their own offset, over switches that trim (DCP, NDP, CP).
    Trimming(Box<dcp::Config>),
}

impl Transport {
    /// Returns whether all packets of a connection have the same ECMP entropy.
    pub(crate) fn has_one_entropy(&self, protocol: TransportProtocol) -> bool {
        match (protocol, &self.engine) {
            (TransportProtocol::Multipath(subflows), _) => subflows == 1,
            (TransportProtocol::Rdma, Engine::Selective(config)) => {
                !matches!(config.scheme, sr::Scheme::MpRdma | sr::Scheme::Custom(_))
            }
            _ => true,
        }
    }

    /// Returns the configuration of selective repeat.
    pub(crate) fn selective(&self) -> &sr::Config {
        let Engine::Selective(config) = &self.engine else {
            unreachable!("all connections have the engine of the run");
        };
        config
    }

    /// Returns the configuration of trimmable transports.
    pub(crate) fn trimming(&self) -> &dcp::Config {
        let Engine::Trimming(config) = &self.engine else {
            unreachable!("all connections have the engine of the run");
        };
        config
    }

    /// Returns the longest frame of a TCP connection; 0 without TCP.
    pub(crate) fn stream_frame_max(&self) -> u16 {
        self.tcp.as_ref().map_or(0, |tcp| tcp::frame_len(tcp.config.mss))
    }

    #[inline]
    pub(crate) fn tcp(&self) -> &tcp::Config {
        &self.tcp.as_ref().expect("a run with TCP connections has TCP settings").config
    }

    /// Returns the configuration of a TCP connection with several subflows.
    #[inline]
    pub(crate) fn multipath(&self) -> &tcp::Config {
        &self.tcp.as_ref().expect("a run with TCP connections has TCP settings").multipath
    }

    /// Returns the ECN field of TCP data frames.
    pub(crate) fn tcp_ecn(&self) -> Ecn {
        let echoed = self.tcp().ecn != tcp::Ecn::Off;
        if echoed { Ecn::Ect0 } else { Ecn::NotEct }
    }
}

impl Network {
    pub(crate) fn new(graph: Graph, latencies: Latencies, transport: Transport, seed: u64) -> Self {
        let ingress = ingress_ports(&graph);
        let lane = |lane: LaneId| make_lane(&graph, latencies, lane, ingress[lane.index()]);
        let lanes: Vec<_> = graph.lanes().map(lane).collect();
        let delays: Vec<_> = lanes.iter().map(|lane| lane.delay).collect();
        let plan = Partition::new(&graph, &delays);
        let routes = Routes::shortest(&graph);
        let salts =
            graph.switches().map(|switch| stream_seed(seed, purpose::ECMP, u64::from(switch.0))).collect();
        let most_ports = graph.switches().map(|switch| graph.ports(graph.switch_node(switch)).len()).max();
        let port_width = PathPorts::width(most_ports.unwrap_or(0));
        let has_equal_links =
            graph.links().windows(2).all(|two| (two[0].rate, two[0].delay) == (two[1].rate, two[1].delay));
        Self {
            graph,
            routes,
            lanes,
            plan,
            transport,
            seed,
            failures: None,
            balanced: false,
            has_equal_links,
            salts,
            port_width,
        }
    }

    /// Returns the first PSN of a host's connection.
    pub(crate) fn first_psn(&self, requester: HostId, serial: u32) -> Psn {
        let host = u64::from(requester.0) << 32;
        let random = || stream_seed(self.seed, purpose::FIRST_PSN, host | u64::from(serial));
        self.transport.first_psn.unwrap_or_else(|| Psn::new(random() as u32))
    }

    /// Returns the lane over which a switch forwards a frame: one of the shortest paths by a hash of the flow
    /// (ECMP). Each switch has its own salt, so that the choices of successive switches are independent.
    ///
    /// This function is not inlined, so that the rest of forwarding is small enough to be inlined into the
    /// event loop.
    #[inline(never)]
    pub(crate) fn next_hop(&self, switch: SwitchId, key: FlowKey) -> LaneId {
        self.pick_lane(switch, key, self.routes.next_hops(switch, key.dst))
    }

    #[inline]
    pub(crate) fn pick_lane(&self, switch: SwitchId, key: FlowKey, lanes: &[LaneId]) -> LaneId {
        if lanes.len() == 1 {
            return lanes[0];
        }
        let hash = mix(key.flow() ^ self.salts[switch.index()]) >> 32;
        lanes[((hash * lanes.len() as u64) >> 32) as usize]
    }

    /// Returns the lanes towards a host that routing uses at a time; empty if there are none.
    #[inline]
    pub(crate) fn next_hops_at(&self, now: Time, switch: SwitchId, dst: HostId) -> &[LaneId] {
        match &self.failures {
            None => self.routes.next_hops(switch, dst),
            Some(failures) => failures.next_hops(now, &self.graph, &self.routes, switch, dst),
        }
    }

    /// Returns the lanes of a flow's path while no link has failed. If frames of a connection take different paths, returns the
    /// fastest lanes.
    pub(crate) fn path(&self, key: FlowKey) -> Vec<LaneId> {
        let mut path = vec![self.uplink(key.src)];
        while let Some(switch) = self.switch_at(path[path.len() - 1]) {
            path.push(if self.balanced {
                self.fastest_lane(self.routes.next_hops(switch, key.dst))
            } else {
                self.next_hop(switch, key)
            });
        }
        path
    }

    /// Returns the number of lanes of all shortest paths, if their ideal times depend on nothing else.
    pub(crate) fn equal_path_len(&self, src: HostId, dst: HostId) -> Option<u32> {
        let (mut lane, mut len) = (self.uplink(src), 1);
        while let Some(switch) = self.switch_at(lane).filter(|_| self.has_equal_links) {
            // Always the same switches, which stay in the cache.
            lane = *self.routes.next_hops(switch, dst).first()?;
            len += 1;
        }
        self.has_equal_links.then_some(len)
    }

    /// Returns the first lane with the highest rate; among equal rates, the one with the shortest delay.
    fn fastest_lane(&self, lanes: &[LaneId]) -> LaneId {
        let key = |lane: &&LaneId| {
            let lane = &self.lanes[lane.index()];
            (std::cmp::Reverse(lane.rate), lane.delay)
        };
        *lanes.iter().min_by_key(key).expect("every host is reachable")
    }

    pub(crate) fn uplink(&self, host: HostId) -> LaneId {
        self.graph.uplink(host)
    }

    /// Returns the switch at the receiving end of a lane; `None` if it is a host.
    #[inline]
    pub(crate) fn switch_at(&self, lane: LaneId) -> Option<SwitchId> {
        self.lanes[lane.index()].to.0.checked_sub(self.graph.host_count()).map(SwitchId)
    }

    /// Returns the longest delay of any notice.
    pub(crate) fn notice_delay_max(&self) -> Span {
        let longest = self.lanes.iter().map(|lane| lane.delay).max().unwrap_or(Span::ZERO);
        longest + longest + self.plan.lookahead
    }

    /// Returns the delay of a notice; see [`mod@crate::network`].
    pub(crate) fn notice_delay(&self, from: HostId, to: HostId) -> Span {
        let (up, down) = (self.uplink(from), self.uplink(to).reverse());
        let bare = self.lanes[up.index()].delay + self.lanes[down.index()].delay;
        let component = |host: HostId| self.plan.component_of_node[self.graph.host_node(host).index()];
        if component(from) == component(to) { bare } else { bare + self.plan.lookahead }
    }
}

/// The fields that ECMP hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowKey {
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    pub(crate) entropy: u16,
}

impl FlowKey {
    #[inline]
    fn flow(self) -> u64 {
        u64::from(self.src.0) << 40 ^ u64::from(self.dst.0) << 16 ^ u64::from(self.entropy)
    }

    /// Returns a hash that is equal for all frames of a connection.
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        mix(self.flow())
    }
}

/// Returns the receiver's port of each lane.
fn ingress_ports(graph: &Graph) -> Vec<u16> {
    let mut ingress = vec![0; graph.lane_count() as usize];
    for node in graph.nodes() {
        for (port, lane) in graph.ports(node).iter().enumerate() {
            ingress[lane.reverse().index()] = port as u16;
        }
    }
    ingress
}

fn make_lane(graph: &Graph, latencies: Latencies, lane: LaneId, ingress: u16) -> Lane {
    let link = graph.link(lane.link());
    let (from, to) = (graph.lane_from(lane), graph.lane_to(lane));
    let is_host = |node: NodeId| node.0 < graph.host_count();
    let out = if is_host(from) { latencies.host_tx } else { Span::ZERO };
    let into = if is_host(to) { latencies.host_rx } else { latencies.switch };
    Lane { to, ingress, rate: link.rate, delay: link.delay + out + into }
}
