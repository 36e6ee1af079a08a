//! A partition of the fabric, simulated by one thread: the nodes that it owns, and the frames in flight to
//! them.

use std::sync::Arc;

use wiremend_measure::{FlowOutcome, Metric, SeriesRow};
use wiremend_proto::cc::AckFeedback;
use wiremend_units::{HostId, LaneId, NodeId, SwitchId, Time};

use crate::engine::PauseScript;
use crate::event::Event;
use crate::frame::{Body, FrameId, LossCause};
use crate::host::{Context, Host, Tally};
use crate::link::{LaneCounters, Lanes, Outbox};
use crate::memory::prefetch;
use crate::network::{FlowKey, Network, Notice};
use crate::port::PortPause;
use crate::switch::deadlock::{PauseReport, TransitChecks, TransitVerdict};
use crate::switch::{Balancer, ForwardingEntries, Repeaters, SwitchPorts};

/// Partitions are adjacent in memory and each thread writes its own. The alignment keeps two partitions out
/// of one cache line, and out of the next line, which processors prefetch as a pair.
#[repr(align(128))]
pub(crate) struct Partition {
    pub(crate) number: u16,
    pub(crate) net: Arc<Network>,
    pub(crate) node_partitions: Arc<[u16]>,
    pub(crate) lanes: Lanes,
    pub(crate) ports: SwitchPorts,
    /// All hosts of the fabric, indexed by host number. Hosts of other partitions stay idle.
    pub(crate) hosts: Vec<Host>,
    /// The scripted pauses of each node that has some.
    pub(crate) scripts: Vec<PauseScript>,
    pub(crate) tally: Tally,
    pub(crate) repeaters: Option<Box<Repeaters>>,
    pub(crate) detours: Option<Arc<ForwardingEntries>>,
    pub(crate) transit: Option<Box<TransitChecks>>,
    /// The load balancer; `None`: ECMP.
    pub(crate) balancer: Option<Box<Balancer>>,
    /// Whether switches only forward along shortest paths.
    pub(crate) is_plain: bool,
    /// Number of events. Those of switch ports do not count: their number depends on windows, and on which
    /// neighbours are in this partition.
    pub(crate) events: u64,
    /// Lanes of the time series, and the samples since the last collection.
    pub(crate) sampled: Vec<LaneId>,
    pub(crate) samples: Vec<SeriesRow>,
    /// Counters of these lanes at the last sample, and the retransmissions of their sending hosts.
    pub(crate) last_sample: Vec<(LaneCounters, u64)>,
}

/// A node is busy if one event is pending for this many ports.
const BUSY_PORTS: usize = 4;

impl Partition {
    pub(crate) fn start(&mut self) {
        // Pauses from time zero must apply before the first event.
        for script in 0..self.scripts.len() {
            while let Some(pause) = self.scripts[script].pop_due(Time::ZERO) {
                self.pause(Time::ZERO, pause);
            }
            self.on_script(Time::ZERO, script as u32);
        }
        for host in 0..self.hosts.len() {
            if self.owns(HostId(host as u32)) {
                self.with_host(Time::ZERO, HostId(host as u32), Host::start);
            }
        }
    }

    /// Handles every event before `end`.
    // Not inlined: inside its caller it would get fewer registers.
    #[inline(never)]
    pub(crate) fn run(&mut self, end: Time) {
        while let Some((now, source)) = self.lanes.queue.pop(end) {
            self.events += 1;
            if self.lanes.queue.take_new_node() {
                self.prefetch();
            }
            match self.lanes.sources.event(source) {
                Event::Arrival(lane) => self.on_arrival(now, lane),
                Event::PortFree(lane) => self.on_port_free(now, lane),
                Event::App(host) => self.with_host(now, host, Host::on_app),
                Event::Timer(host) => self.with_host(now, host, Host::on_timer),
                Event::Inbox(host) => self.with_host(now, host, Host::on_inbox),
                Event::SwitchTimer(switch) => self.on_switch_timer(now, switch),
                Event::PauseScript(script) => self.on_script(now, script),
            }
        }
    }

    /// Prefetches memory for the next nodes: more frames are in flight than fit in a cache.
    #[inline]
    fn prefetch(&self) {
        let lanes = self.lanes.ports.len();
        for source in self.lanes.queue.upcoming(2) {
            self.lanes.queue.prefetch(source);
            match self.lanes.ring(source) {
                Some(ring) => prefetch(ring),
                None => self.ports.prefetch(source.0 as usize - lanes, false),
            }
        }
        for ahead in 0..=3 {
            let node = self.lanes.queue.node_of_turn(ahead);
            if let Some(host) = node.and_then(|node| self.hosts.get(node as usize)) {
                host.prefetch(ahead);
            }
        }
        for ahead in [2, 1] {
            if let Some((node, events)) = self.lanes.queue.upcoming_node(ahead) {
                self.prefetch_ports(NodeId(node), events, ahead == 1);
            }
        }
        for source in self.lanes.queue.upcoming(1) {
            match self.lanes.ring(source) {
                Some(ring) => self.lanes.prefetch_first(ring),
                None => self.ports.prefetch(source.0 as usize - lanes, true),
            }
        }
        if self.ports.has_lazy_ports() {
            self.prefetch_lazy_ports();
        }
    }

    #[inline(never)]
    fn prefetch_lazy_ports(&self) {
        for ahead in 1..=4 {
            let node = self.lanes.queue.upcoming_node(ahead);
            if let Some(switch) = node.and_then(|(node, _)| node.checked_sub(self.hosts.len() as u32)) {
                self.ports.prefetch_lazy_ports(&self.lanes, SwitchId(switch), ahead);
            }
        }
    }

    /// Returns the number of events, including arrivals that need none.
    pub(crate) fn events(&self) -> u64 {
        self.events + self.lanes.lazy_arrivals
    }

    /// Prefetches the ports of a node with many events, which will probably use most of them: first these, then
    /// (`is_next`) what they refer to.
    #[inline]
    fn prefetch_ports(&self, node: NodeId, events: u32, is_next: bool) {
        let ports = self.net.graph.ports(node);
        if events as usize * BUSY_PORTS >= ports.len() {
            for lane in ports {
                self.lanes.prefetch_port(*lane, is_next);
            }
            if self.ports.has_queues() {
                for lane in ports {
                    self.ports.prefetch_queues(*lane, is_next);
                }
            }
        }
    }

    fn deliver(&mut self, notice: Notice) {
        self.hosts[notice.to.index()].post_notice(&mut self.lanes, notice);
    }

    /// Takes over the frames and notices that another partition has sent.
    pub(crate) fn take_over(&mut self, outbox: &mut Outbox) {
        for (lane, at) in outbox.starts.drain(..) {
            self.ports.on_start(&mut self.lanes, lane, at);
        }
        self.lanes.take_over(outbox);
        for notice in outbox.notices.drain(..) {
            self.deliver(notice);
        }
    }

    /// Ends the run: open flows end with `outcome`, and pending notices of timeouts are processed.
    pub(crate) fn finish(&mut self, now: Time, outcome: FlowOutcome) {
        for host in 0..self.hosts.len() {
            if self.owns(HostId(host as u32)) {
                self.with_host(now, HostId(host as u32), |host, cx| host.finish(cx, outcome));
            }
        }
    }

    pub(crate) fn sample(&mut self, now: Time) {
        if let Some(watch) = &mut self.tally.watch {
            let hosts = &self.hosts;
            watch.sample(now, |flow| hosts[flow.host.index()].sending_state(&self.net, flow.slot));
        }
        self.ports.catch_up(&mut self.lanes, now);
        self.last_sample.resize(self.sampled.len(), (LaneCounters::default(), 0));
        for (lane, (last, last_again)) in self.sampled.iter().zip(&mut self.last_sample) {
            let counters = self.ports.counters(&self.lanes, *lane);
            let mut row = |metric, value| {
                self.samples.push(SeriesRow { time_ps: now.as_ps(), entity: lane.0, metric, value });
            };
            let owns = |node: NodeId| self.node_partitions[node.index()] == self.number;
            // Transmitted frames are counted at the receiving end of a lane; queues at the sending end.
            if owns(self.net.graph.lane_to(*lane)) {
                row(Metric::TxBytes, counters.tx_bytes - last.tx_bytes);
                row(Metric::CorruptedFrames, counters.corrupted - last.corrupted);
            }
            if owns(self.net.graph.lane_from(*lane)) {
                row(Metric::QueueBytes, self.ports.backlog(&self.lanes, now, *lane).get());
                row(Metric::DroppedFrames, counters.dropped - last.dropped);
                if let Some(host) = self.hosts.get(self.net.graph.lane_from(*lane).index()) {
                    let again = host.counters.retransmitted_packets;
                    row(Metric::RetransmittedPackets, again - *last_again);
                    *last_again = again;
                }
                if let Some(link_end) = self.ports.link_end(*lane) {
                    row(Metric::TxBufferBytes, link_end.counters().tx_bytes);
                }
                if let Some(lossless) = self.ports.as_lossless() {
                    row(Metric::PausedClasses, lossless.paused_classes(*lane, now));
                }
            }
            if let Some(lossless) = self.ports.as_lossless()
                && self.net.switch_at(*lane).is_some()
                && let Some(bytes) = lossless.ingress_bytes(*lane)
            {
                row(Metric::IngressBytes, bytes);
            }
            if let Some(link_end) = self.ports.link_end(lane.reverse()) {
                row(Metric::RxBufferBytes, link_end.counters().rx_bytes);
            }
            *last = counters;
        }
    }

    /// Returns the ports of this partition that have been paused since `before`, for the deadlock detector.
    pub(crate) fn report(&mut self, now: Time, before: Time) -> PauseReport {
        if self.ports.as_lossless().is_none_or(|lossless| lossless.lanes_with_pfc().is_empty()) {
            return PauseReport::default();
        }
        self.ports.catch_up(&mut self.lanes, now);
        let owns = |lane: LaneId| self.node_partitions[self.net.graph.lane_from(lane).index()] == self.number;
        self.ports
            .as_lossless()
            .map_or_else(PauseReport::default, |lossless| lossless.pause_report(&self.net, owns, now, before))
    }

    pub(crate) fn counters(&self, lane: LaneId) -> LaneCounters {
        self.ports.counters(&self.lanes, lane)
    }

    pub(crate) fn owns(&self, host: HostId) -> bool {
        self.node_partitions[host.index()] == self.number
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, lane: LaneId) {
        let (node, ingress) = self.lanes.receiver(lane);
        if self.lanes.is_lazy(lane) {
            self.on_lazy_arrival(now, lane);
            return;
        }
        let arrived = self.lanes.take_arrival(lane);
        if arrived.is_last {
            self.ports.on_last_arrival(&mut self.lanes, now, lane);
        }
        let Some(id) = arrived.frame else {
            self.events -= 1;
            return;
        };
        let frame = self.lanes.frame_mut(id);
        if let Body::Lost(cause) = frame.body {
            self.on_lost(now, lane, id, cause);
            return;
        }
        if frame.has_header {
            self.on_header(now, lane, id);
            return;
        }
        if let Some(switch) = node.0.checked_sub(self.hosts.len() as u32) {
            self.forward(now, SwitchId(switch), id, ingress);
        } else {
            if self.net.transport.needs.ack_feedback != AckFeedback::None {
                self.lanes.feedback = self.lanes.frames.detach(id);
            }
            let frame = self.lanes.consume(id);
            self.with_host(now, HostId(node.0), |host, cx| host.on_frame(cx, &frame));
        }
    }

    /// Handles the arrival of a stored frame over a lane whose control frames have no events.
    #[inline(never)]
    fn on_lazy_arrival(&mut self, now: Time, lane: LaneId) {
        self.ports.catch_up_port(&mut self.lanes, lane.reverse());
        let arrived = self.lanes.take_lazy_arrival(lane, now);
        self.lanes.arm_lazy(lane);
        let Some(id) = arrived else {
            // The control frame was counted.
            self.events -= 1;
            return;
        };
        let frame = self.lanes.frame_mut(id);
        if let Body::Lost(cause) = frame.body {
            self.on_lost(now, lane, id, cause);
        } else if frame.has_header {
            self.on_header(now, lane, id);
        } else {
            let (node, ingress) = self.lanes.receiver(lane);
            self.forward(now, SwitchId(node.0 - self.hosts.len() as u32), id, ingress);
        }
    }

    /// Handles the arrival time of a frame that the link has lost.
    #[cold]
    fn on_lost(&mut self, now: Time, lane: LaneId, id: FrameId, cause: LossCause) {
        match cause {
            LossCause::Corruption => self.ports.on_corrupted(&mut self.lanes, now, lane, id),
            LossCause::Failure { is_response } => self.lanes.discard_failed(now, lane, id, is_response),
            LossCause::Kept => self.lanes.discard_kept(id),
        }
    }

    #[inline(never)]
    fn on_header(&mut self, now: Time, lane: LaneId, frame: FrameId) {
        // The headers of data frames, dummies and ACKs are small.
        let windows = match self.lanes.headers.large(frame) {
            Some(_) => self.ports.on_switch_header(&mut self.lanes, now, lane, frame),
            None => None,
        };
        let Some(windows) = windows else { return self.on_link_header(now, lane, frame) };
        for (class, window) in windows.into_iter().enumerate() {
            if let Some(window) = window {
                self.pause(now, PortPause { lane: lane.reverse(), class: class as u8, window });
            }
        }
        if let Some(switch) = self.net.switch_at(lane) {
            self.ports.schedule_pause_checks(&mut self.lanes, now, switch);
        }
    }

    /// Handles a frame with the header of a protected link.
    #[inline]
    fn on_link_header(&mut self, now: Time, lane: LaneId, frame: FrameId) {
        let next = self.ports.on_link_header(&mut self.lanes, now, lane, frame);
        if let Some(next) = next {
            let (node, ingress) = self.lanes.receiver(lane);
            self.forward(now, SwitchId(node.0 - self.hosts.len() as u32), next, ingress);
        }
        if !self.ports.delivered().is_empty() {
            self.forward_delivered(now);
        }
    }

    #[cold]
    fn on_switch_timer(&mut self, now: Time, switch: SwitchId) {
        if !self.ports.on_switch_timer(&mut self.lanes, now, switch) {
            self.events -= 1;
        }
        self.forward_delivered(now);
        if self.lanes.has_kept() {
            self.forward_kept(now, switch);
        }
    }

    /// Forwards the frames that a switch has kept while a link failed.
    #[cold]
    fn forward_kept(&mut self, now: Time, switch: SwitchId) {
        let node = self.net.graph.switch_node(switch);
        while let Some((lane, id)) = self.lanes.pop_kept(now, node) {
            let (_, ingress) = self.lanes.receiver(lane.reverse());
            self.forward(now, switch, id, ingress);
        }
    }

    /// Forwards the frames that protected links have delivered.
    #[inline(never)]
    fn forward_delivered(&mut self, now: Time) {
        let mut next = 0;
        while let Some((lane, frame)) = self.ports.delivered().get(next).copied() {
            next += 1;
            let (node, ingress) = self.lanes.receiver(lane);
            self.forward(now, SwitchId(node.0 - self.hosts.len() as u32), frame, ingress);
        }
        self.ports.delivered().clear();
    }

    /// Forwards a frame at a switch: TTL, next hop, port.
    #[inline]
    fn forward(&mut self, now: Time, switch: SwitchId, id: FrameId, ingress: u16) {
        let frame = self.lanes.frame_mut(id);
        let hop = self.net.transport.ttl.wrapping_sub(frame.ttl);
        frame.ttl -= 1;
        if frame.ttl == 0 {
            self.expire(now, switch, id);
            return;
        }
        let key = FlowKey { src: frame.src, dst: frame.dst, entropy: frame.entropy };
        if self.is_plain {
            let out = self.net.forwarding_lane(switch, key, frame.ports, hop);
            self.ports.on_frame(&mut self.lanes, now, out, id, ingress);
        } else {
            self.forward_checked(now, switch, key, id, ingress);
        }
    }

    /// Forwards a frame at switches that check for loops, balance per packet, override routes, or make copies.
    #[inline(never)]
    fn forward_checked(&mut self, now: Time, switch: SwitchId, key: FlowKey, id: FrameId, ingress: u16) {
        if let Some(transit) = &mut self.transit
            && transit.on_frame(now, switch, self.lanes.frame_mut(id)) == TransitVerdict::Drop
        {
            let frame = self.lanes.consume(id);
            self.lanes.recorder.on_ttl(now, self.net.graph.switch_node(switch), &frame);
            return;
        }
        let detour = self.detours.as_ref().and_then(|all| all.next_hops(now, &self.net, switch, key));
        let lanes = detour.unwrap_or_else(|| self.net.next_hops_at(now, switch, key.dst));
        if lanes.is_empty() {
            self.tally.no_route += 1;
            let frame = self.lanes.consume(id);
            self.lanes.recorder.on_no_route(now, self.net.graph.switch_node(switch), &frame);
            return;
        }
        let out = match &mut self.balancer {
            Some(balancer) => {
                let class = self.lanes.frame_mut(id).class();
                let queued = |lane| self.ports.queued(&mut self.lanes, now, lane, class);
                balancer.choose(now, switch, key, lanes, queued)
            }
            None => self.net.pick_lane(switch, key, lanes),
        };
        if let Some(transit) = &mut self.transit {
            let frame = self.lanes.frame_mut(id);
            let ports = self.net.graph.ports(self.net.graph.switch_node(switch));
            transit.on_forward(frame, ports[usize::from(ingress)].reverse(), out);
        }
        if self.repeaters.is_some() {
            self.forward_with_copies(now, switch, out, id, ingress);
        } else {
            self.ports.on_frame(&mut self.lanes, now, out, id, ingress);
        }
    }

    /// Copies follow the original immediately, on the same lane.
    fn forward_with_copies(&mut self, now: Time, switch: SwitchId, out: LaneId, id: FrameId, ingress: u16) {
        let frame = *self.lanes.frame_mut(id);
        let copies = self.repeaters.as_mut().map_or(0, |all| all.copies(&self.net, switch, &frame));
        self.ports.on_frame(&mut self.lanes, now, out, id, ingress);
        for _ in 0..copies {
            self.ports.on_copy(&mut self.lanes, now, out, frame.replica(), ingress);
        }
    }

    #[cold]
    fn expire(&mut self, now: Time, switch: SwitchId, id: FrameId) {
        self.tally.dropped_ttl += 1;
        if let Some(transit) = &mut self.transit {
            transit.on_expiry(now, switch);
        }
        let frame = self.lanes.consume(id);
        self.lanes.recorder.on_ttl(now, self.net.graph.switch_node(switch), &frame);
    }

    #[inline]
    fn on_port_free(&mut self, now: Time, lane: LaneId) {
        // A lane and its reverse end at each other's nodes: the sender of a lane is the receiver of its
        // reverse.
        let (sender, _) = self.lanes.receiver(lane.reverse());
        if sender.0 < self.hosts.len() as u32 {
            self.with_host(now, HostId(sender.0), Host::on_port_free);
            return;
        }
        self.events -= 1;
        if self.ports.on_free(&mut self.lanes, now, lane) {
            self.forward_delivered(now);
        }
    }

    /// Starts the next scripted pause. One pause per event, so that the number of partitions does not change
    /// the number of events.
    #[cold]
    fn on_script(&mut self, now: Time, script: u32) {
        let pauses = &mut self.scripts[script as usize];
        let due = pauses.pop_due(now);
        if let Some(next) = pauses.next_due() {
            self.lanes.queue.arm(self.lanes.sources.script(script), next.max(now));
        }
        if let Some(pause) = due {
            self.pause(now, pause);
        }
    }

    /// Pauses or resumes a class at a port.
    fn pause(&mut self, now: Time, pause: PortPause) {
        let PortPause { lane, class, window } = pause;
        self.lanes.recorder.on_pause(now, lane, class, (window.from, window.until));
        if self.net.switch_at(lane.reverse()).is_some() {
            self.ports.on_pause(&mut self.lanes, now, lane, class, window);
        } else {
            let host = HostId(self.net.lanes[lane.reverse().index()].to.0);
            self.with_host(now, host, |host, cx| host.pause(cx, class, window));
        }
    }

    #[inline]
    fn with_host(&mut self, now: Time, host: HostId, act: impl FnOnce(&mut Host, &mut Context<'_>)) {
        let mut cx = Context { now, net: &self.net, lanes: &mut self.lanes, tally: &mut self.tally };
        act(&mut self.hosts[host.index()], &mut cx);
        if !self.lanes.notices.is_empty() {
            self.hand_over_notices();
        }
    }

    #[cold]
    fn hand_over_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.lanes.notices);
        for notice in notices.drain(..) {
            let partition = self.node_partitions[notice.to.index()];
            if partition == self.number {
                self.deliver(notice);
            } else {
                self.lanes.outbox[usize::from(partition)].notices.push(notice);
            }
        }
        self.lanes.notices = notices;
    }
}
