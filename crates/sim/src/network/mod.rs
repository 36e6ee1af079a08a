//! What does not change while a run goes on: the graph, its routes, the latencies, and what all connections share.

pub(crate) mod ideal;
mod notice;

pub(crate) use notice::{Delivered, News, Notice};

use std::sync::Arc;

use wiremend_fabric::{Graph, Plan, Routes};
use wiremend_proto::engine::Op;
use wiremend_proto::{cc, dcp, rc, sr, tcp};
use wiremend_units::{HostId, LaneId, NodeId, Psn, Rate, Span, SwitchId, mix, stream_seed};

use wiremend_wire::Ecn;

/// Names of random streams: one per purpose, so that no purpose disturbs another.
pub(crate) mod purpose {
    pub(crate) const TIES: u64 = 1;
    pub(crate) const ECMP: u64 = 2;
    pub(crate) const IMPAIR: u64 = 3;
    pub(crate) const ARRIVALS: u64 = 4;
    pub(crate) const ENTROPY: u64 = 5;
    pub(crate) const MARKS: u64 = 6;
    pub(crate) const BALANCE: u64 = 7;
    pub(crate) const TRIMS: u64 = 8;
}

pub(crate) struct Network {
    pub(crate) graph: Graph,
    pub(crate) routes: Routes,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) plan: Plan,
    pub(crate) transport: Transport,
    pub(crate) seed: u64,
    /// Frames of a connection may take different ways.
    pub(crate) balanced: bool,
    salts: Vec<u64>,
}

/// One direction of a link, as seen by a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    /// The receiving node.
    pub(crate) to: NodeId,
    /// Which of the receiver's ports it ends at.
    pub(crate) ingress: u16,
    pub(crate) rate: Rate,
    /// From the last bit sent to the frame standing in the receiver's output queue, or before its transport:
    /// propagation, the receiver's forwarding or rx latency, and a sending host's tx latency. Constant, so it
    /// costs no event of its own.
    pub(crate) delay: Span,
}

/// Fixed latencies of nodes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Latencies {
    pub(crate) switch: Span,
    pub(crate) host_tx: Span,
    pub(crate) host_rx: Span,
}

/// What all connections of a run share.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    /// What connections of every scheme have in common, and all there is to go-back-N.
    pub(crate) config: rc::Config,
    pub(crate) engine: Engine,
    pub(crate) op: Op,
    /// A waiting ACK is replaced by a newer one.
    pub(crate) coalesce: bool,
    /// One connection per ordered pair of hosts, instead of one per flow.
    pub(crate) per_pair: bool,
    /// How fast each connection sends, if not as fast as it can.
    pub(crate) congestion: Option<Arc<dyn cc::Algorithm>>,
    /// What it has to be told.
    pub(crate) needs: cc::Needs,
    /// What is true of all paths that it may ask for.
    pub(crate) longest_round_trip: Span,
    /// The class of these notifications; `None`: that of what was marked.
    pub(crate) cnp_class: Option<u8>,
    pub(crate) ttl: u8,
    pub(crate) first_psn: Psn,
    /// Its receivers make sense of header-only packets, so that switches may trim what it sends.
    pub(crate) trims: bool,
    /// What ToR switches copy, if anything.
    pub(crate) repeats: Option<Repeats>,
    /// The other protocol, if some connections have it.
    pub(crate) tcp: Option<Box<Tcp>>,
}

/// How many copies switches make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeats {
    pub(crate) nak_copies: u8,
    pub(crate) retransmission_copies: u8,
    pub(crate) registers: u32,
}

/// What all TCP connections of a run share.
#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    pub(crate) config: tcp::Config,
    /// The same for connections with several subflows, whose segments have less room.
    pub(crate) multipath: tcp::Config,
    /// From a frame's arrival until the host's stack has done with it.
    pub(crate) stack_latency: Span,
}

/// What a connection speaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Protocol {
    /// What [`Engine`] says.
    Rdma,
    Tcp,
    /// TCP over so many subflows.
    Multipath(u8),
}

/// Which engine every connection has.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    /// Go-back-N and its kin.
    GoBack,
    /// Selective repeat.
    Selective(Box<sr::Config>),
    /// Packets that carry their place, over switches that cut payloads off.
    Trimming(Box<dcp::Config>),
}

impl Transport {
    /// The configuration of a connection that repeats selectively.
    pub(crate) fn selective(&self) -> &sr::Config {
        let Engine::Selective(config) = &self.engine else {
            unreachable!("a connection has the engine of its run");
        };
        config
    }

    /// The configuration of a connection whose packets may be cut.
    pub(crate) fn trimming(&self) -> &dcp::Config {
        let Engine::Trimming(config) = &self.engine else {
            unreachable!("a connection has the engine of its run");
        };
        config
    }

    /// The longest frame of a TCP connection; 0 if there is none.
    pub(crate) fn stream_frame_max(&self) -> u16 {
        self.tcp.as_ref().map_or(0, |tcp| tcp::frame_len(tcp.config.mss))
    }

    /// The configuration of a TCP connection.
    #[inline]
    pub(crate) fn tcp(&self) -> &tcp::Config {
        &self.tcp.as_ref().expect("a run with TCP connections says how").config
    }

    /// The configuration of a TCP connection with several subflows.
    #[inline]
    pub(crate) fn multipath(&self) -> &tcp::Config {
        &self.tcp.as_ref().expect("a run with TCP connections says how").multipath
    }

    /// Whether switches may mark TCP's data frames.
    pub(crate) fn tcp_ecn(&self) -> Ecn {
        let echoed = self.tcp().ecn != tcp::Ecn::Off;
        if echoed { Ecn::Capable0 } else { Ecn::NotCapable }
    }
}

impl Network {
    pub(crate) fn new(graph: Graph, latencies: Latencies, transport: Transport, seed: u64) -> Self {
        let ingress = ingress_of_lanes(&graph);
        let lane = |lane: LaneId| lane_of(&graph, latencies, lane, ingress[lane.index()]);
        let lanes: Vec<_> = graph.lanes().map(lane).collect();
        let delays: Vec<_> = lanes.iter().map(|lane| lane.delay).collect();
        let plan = Plan::of(&graph, &delays);
        let routes = Routes::shortest(&graph);
        let salts =
            graph.switches().map(|switch| stream_seed(seed, purpose::ECMP, u64::from(switch.0))).collect();
        Self { graph, routes, lanes, plan, transport, seed, balanced: false, salts }
    }

    /// Which way a switch sends a frame: one of the shortest, the same for all frames of a connection, chosen
    /// with a salt of the switch's own, so that choices at successive switches do not go together.
    ///
    /// A call of its own: what is left of forwarding is then small enough to be inlined where events are handled.
    #[inline(never)]
    pub(crate) fn next_hop(&self, switch: SwitchId, way: Way) -> LaneId {
        self.pick(switch, way, self.routes.next_hops(switch, way.dst))
    }

    /// One of several ways from a switch.
    #[inline]
    pub(crate) fn pick(&self, switch: SwitchId, way: Way, lanes: &[LaneId]) -> LaneId {
        if lanes.len() == 1 {
            return lanes[0];
        }
        let hash = mix(way.flow() ^ self.salts[switch.index()]) >> 32;
        lanes[((hash * lanes.len() as u64) >> 32) as usize]
    }

    /// The lanes that a frame crosses; where frames of a connection take different ways, the fastest ones.
    pub(crate) fn path(&self, way: Way) -> Vec<LaneId> {
        let mut path = vec![self.uplink(way.src)];
        while let Some(switch) = self.switch_at(path[path.len() - 1]) {
            path.push(if self.balanced {
                self.fastest(self.routes.next_hops(switch, way.dst))
            } else {
                self.next_hop(switch, way)
            });
        }
        path
    }

    /// The first of the lanes with the highest rate and, among these, the shortest delay.
    fn fastest(&self, lanes: &[LaneId]) -> LaneId {
        let key = |lane: &&LaneId| {
            let of = &self.lanes[lane.index()];
            (std::cmp::Reverse(of.rate), of.delay)
        };
        *lanes.iter().min_by_key(key).expect("hosts reach each other")
    }

    pub(crate) fn uplink(&self, host: HostId) -> LaneId {
        self.graph.uplink(host)
    }

    /// The switch at the end of a lane, if it is one.
    #[inline]
    pub(crate) fn switch_at(&self, lane: LaneId) -> Option<SwitchId> {
        self.lanes[lane.index()].to.0.checked_sub(self.graph.host_count()).map(SwitchId)
    }

    /// How long a notice takes; see [`mod@crate::network`].
    pub(crate) fn notice_delay(&self, from: HostId, to: HostId) -> Span {
        let (up, down) = (self.uplink(from), self.uplink(to).reverse());
        let bare = self.lanes[up.index()].delay + self.lanes[down.index()].delay;
        let component = |host: HostId| self.plan.component_of_node[self.graph.host_node(host).index()];
        if component(from) == component(to) { bare } else { bare + self.plan.lookahead }
    }
}

/// What decides a frame's path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    pub(crate) entropy: u16,
}

impl Way {
    #[inline]
    fn flow(self) -> u64 {
        u64::from(self.src.0) << 40 ^ u64::from(self.dst.0) << 16 ^ u64::from(self.entropy)
    }

    /// The same for all frames of a connection.
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        mix(self.flow())
    }
}

/// By lane: which of the receiver's ports it ends at.
fn ingress_of_lanes(graph: &Graph) -> Vec<u16> {
    let mut ingress = vec![0; graph.lane_count() as usize];
    for node in graph.nodes() {
        for (port, lane) in graph.ports(node).iter().enumerate() {
            ingress[lane.reverse().index()] = port as u16;
        }
    }
    ingress
}

fn lane_of(graph: &Graph, latencies: Latencies, lane: LaneId, ingress: u16) -> Lane {
    let link = graph.link(lane.link());
    let (from, to) = (graph.lane_from(lane), graph.lane_to(lane));
    let is_host = |node: NodeId| node.0 < graph.host_count();
    let out = if is_host(from) { latencies.host_tx } else { Span::ZERO };
    let into = if is_host(to) { latencies.host_rx } else { latencies.switch };
    Lane { to, ingress, rate: link.rate, delay: link.delay + out + into }
}
