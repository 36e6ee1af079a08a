//! A part of the fabric that one thread simulates: the nodes it owns, and what is on its way to them.

use std::sync::Arc;

use wiremend_measure::{Metric, Outcome, SeriesRow};
use wiremend_units::{HostId, LaneId, NodeId, SwitchId, Time};

use crate::engine::Script;
use crate::event::Happening;
use crate::frame::{Frame, FrameId, HeaderId, Kind};
use crate::host::{Context, Host, Tally};
use crate::link::{LaneCounters, Wires};
use crate::network::{Network, Notice, Way};
use crate::port::Hold;
use crate::switch::deadlock::{Passage, Report, Verdict};
use crate::switch::{Balancer, Detours, Repeaters};

/// Parts lie side by side and each thread writes its own: none shares a line of the cache, or the next one that the
/// machine fetches along with it, with its neighbour.
#[repr(align(128))]
pub(crate) struct Part {
    pub(crate) number: u16,
    pub(crate) net: Arc<Network>,
    /// Which part each node belongs to.
    pub(crate) owner_of_node: Arc<[u16]>,
    pub(crate) wires: Wires,
    /// All hosts of the fabric, so that a host's number is its place; those of other parts stay idle.
    pub(crate) hosts: Vec<Host>,
    pub(crate) script: Script,
    pub(crate) tally: Tally,
    pub(crate) repeaters: Option<Box<Repeaters>>,
    pub(crate) detours: Option<Arc<Detours>>,
    pub(crate) passage: Option<Box<Passage>>,
    /// How ways are chosen, if not by a hash.
    pub(crate) balancer: Option<Box<Balancer>>,
    /// Whether switches do no more than forward by shortest ways.
    pub(crate) is_plain: bool,
    /// Events handled, but for those at which a port of a lossless switch only looks around: how many those are depends on which
    /// of its neighbours are in this part.
    pub(crate) events: u64,
    /// Lanes that a time series wants, and what was sampled since the last collection.
    pub(crate) sampled: Vec<LaneId>,
    pub(crate) samples: Vec<SeriesRow>,
    /// What the lanes had counted at the last sample, and how many packets the hosts before them had sent again.
    pub(crate) last_sample: Vec<(LaneCounters, u64)>,
}

impl Part {
    pub(crate) fn start(&mut self) {
        // What holds from the start holds before the first event.
        while let Some(pause) = self.script.pop_due(Time::ZERO) {
            self.pause(Time::ZERO, pause.lane, pause.class, pause.hold);
        }
        self.on_script(Time::ZERO);
        for host in 0..self.hosts.len() {
            if self.owns(HostId(host as u32)) {
                self.with_host(Time::ZERO, HostId(host as u32), Host::start);
            }
        }
    }

    /// Handles every event before `end`.
    // A function of its own: within its caller it gets fewer registers.
    #[inline(never)]
    pub(crate) fn run(&mut self, end: Time) {
        while let Some((now, source)) = self.wires.queue.pop(end) {
            self.events += 1;
            if self.wires.queue.has_turned() {
                self.wires.warm();
            }
            match self.wires.sources.happening(source) {
                Happening::Arrival(lane) => self.on_arrival(now, lane),
                Happening::PortFree(lane) => self.on_port_free(now, lane),
                Happening::App(host) => self.with_host(now, host, Host::on_app),
                Happening::Timer(host) => self.with_host(now, host, Host::on_timer),
                Happening::Inbox(host) => self.with_host(now, host, Host::on_inbox),
                Happening::Inside(switch) => self.on_inside(now, switch),
                Happening::Script => self.on_script(now),
            }
        }
    }

    /// Takes a notice from another part, or from a host of this one.
    pub(crate) fn deliver(&mut self, notice: Notice) {
        self.hosts[notice.to.index()].post_notice(&mut self.wires, notice);
    }

    /// The run is over: whatever is still open ends with `outcome`; what is known only to notices is learned.
    pub(crate) fn finish(&mut self, now: Time, outcome: Outcome) {
        for host in 0..self.hosts.len() {
            if self.owns(HostId(host as u32)) {
                self.with_host(now, HostId(host as u32), |host, cx| host.finish(cx, outcome));
            }
        }
    }

    /// Takes a sample of every sampled lane.
    pub(crate) fn sample(&mut self, now: Time) {
        self.wires.catch_up_everywhere(now);
        self.last_sample.resize(self.sampled.len(), (LaneCounters::default(), 0));
        for (lane, (last, last_again)) in self.sampled.iter().zip(&mut self.last_sample) {
            let counters = self.wires.counters(*lane);
            let mut row = |metric, value| {
                self.samples.push(SeriesRow { time_ps: now.as_ps(), entity: lane.0, metric, value });
            };
            let owns = |node: NodeId| self.owner_of_node[node.index()] == self.number;
            // What a lane carries is counted where it ends; what waits, where it begins.
            if owns(self.net.graph.lane_to(*lane)) {
                row(Metric::TxBytes, counters.tx_bytes - last.tx_bytes);
                row(Metric::CorruptedFrames, counters.corrupted - last.corrupted);
            }
            if owns(self.net.graph.lane_from(*lane)) {
                row(Metric::QueueBytes, self.wires.backlog(now, *lane).get());
                row(Metric::DroppedFrames, counters.dropped - last.dropped);
                if let Some(host) = self.hosts.get(self.net.graph.lane_from(*lane).index()) {
                    let again = host.counters.retransmitted_packets;
                    row(Metric::RetransmittedPackets, again - *last_again);
                    *last_again = again;
                }
                if let Some(guard) = self.wires.guard(*lane) {
                    row(Metric::TxBufferBytes, guard.counters().tx_bytes);
                }
                if let Some(lossless) = &self.wires.lossless {
                    row(Metric::PausedClasses, lossless.paused_classes(*lane, now));
                }
            }
            if let Some(lossless) = &self.wires.lossless
                && self.net.switch_at(*lane).is_some()
                && let Some(bytes) = lossless.ingress_bytes(*lane)
            {
                row(Metric::IngressBytes, bytes);
            }
            if let Some(guard) = self.wires.guard(lane.reverse()) {
                row(Metric::RxBufferBytes, guard.counters().rx_bytes);
            }
            *last = counters;
        }
    }

    /// What an observer with full sight is to know: ports that had to hold since `before`.
    pub(crate) fn report(&mut self, now: Time, before: Time) -> Report {
        self.wires.catch_up_everywhere(now);
        let owns = |lane: LaneId| self.owner_of_node[self.net.graph.lane_from(lane).index()] == self.number;
        Report::of(&self.wires, &self.net, owns, now, before)
    }

    pub(crate) fn owns(&self, host: HostId) -> bool {
        self.owner_of_node[host.index()] == self.number
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, lane: LaneId) {
        let (node, ingress) = self.wires.end(lane);
        let Some(frame) = self.wires.take_arrived(now, lane) else {
            self.events -= 1;
            return;
        };
        let arrived = self.wires.frame_mut(frame);
        if arrived.kind == Kind::Corrupted {
            self.wires.discard(now, lane, frame);
            return;
        }
        if arrived.header != HeaderId::NONE {
            self.on_header(now, lane, frame);
            return;
        }
        if let Some(switch) = node.0.checked_sub(self.hosts.len() as u32) {
            self.forward(now, SwitchId(switch), frame, ingress);
        } else {
            let frame = self.wires.consume(frame);
            self.with_host(now, HostId(node.0), |host, cx| host.on_frame(cx, &frame));
        }
    }

    #[cold]
    fn on_header(&mut self, now: Time, lane: LaneId, frame: FrameId) {
        if let Some(holds) = self.wires.take_pfc(now, lane, frame) {
            for (class, hold) in holds.into_iter().enumerate() {
                if let Some(hold) = hold {
                    self.pause(now, lane.reverse(), class as u8, hold);
                }
            }
            if let Some(switch) = self.net.switch_at(lane) {
                self.wires.watch_held(now, switch);
            }
            return;
        }
        if let Some(probe) = self.wires.take_probe(frame) {
            self.wires.on_probe(now, lane, probe);
            return;
        }
        self.wires.on_header(now, lane, frame);
        self.forward_delivered(now);
    }

    #[cold]
    fn on_inside(&mut self, now: Time, switch: SwitchId) {
        if self.wires.lossless.is_some() {
            self.wires.on_refresh(now, switch);
        }
        if self.wires.has_loopback(switch) {
            self.wires.on_loopback(now, switch);
            self.forward_delivered(now);
        }
    }

    /// What protected links have handed on goes its way.
    #[cold]
    fn forward_delivered(&mut self, now: Time) {
        let mut delivered = std::mem::take(&mut self.wires.delivered);
        for (lane, frame) in delivered.drain(..) {
            let (node, ingress) = self.wires.end(lane);
            self.forward(now, SwitchId(node.0 - self.hosts.len() as u32), frame, ingress);
        }
        assert!(self.wires.delivered.is_empty(), "forwarding hands on nothing new");
        self.wires.delivered = delivered;
    }

    /// A switch: hops left, the way, the port.
    #[inline]
    fn forward(&mut self, now: Time, switch: SwitchId, id: FrameId, ingress: u16) {
        let frame = self.wires.frame_mut(id);
        frame.ttl -= 1;
        frame.ingress = ingress;
        if frame.ttl == 0 {
            self.expire(now, switch, id);
            return;
        }
        let way = Way { src: frame.src, dst: frame.dst, entropy: frame.entropy };
        if self.is_plain {
            let out = self.net.next_hop(switch, way);
            self.wires.enqueue(now, out, id);
        } else {
            self.forward_with_care(now, switch, way, id);
        }
    }

    /// The same where switches look at frames, choose ways frame by frame, have entries of their own, or make copies.
    #[inline(never)]
    fn forward_with_care(&mut self, now: Time, switch: SwitchId, way: Way, id: FrameId) {
        if let Some(passage) = &mut self.passage
            && passage.on_frame(now, switch, self.wires.frame_mut(id)) == Verdict::Drop
        {
            let frame = self.wires.consume(id);
            self.wires.watch.on_ttl(now, self.net.graph.switch_node(switch), &frame);
            return;
        }
        let lanes = match &self.detours {
            Some(detours) => detours.next_hops(now, &self.net, switch, way),
            None => self.net.routes.next_hops(switch, way.dst),
        };
        let out = match &mut self.balancer {
            Some(balancer) => {
                let class = self.wires.frame_mut(id).class;
                balancer.choose(now, switch, way, class, lanes, &mut self.wires)
            }
            None => self.net.pick(switch, way, lanes),
        };
        if let Some(passage) = &mut self.passage {
            let frame = self.wires.frame_mut(id);
            let ports = self.net.graph.ports(self.net.graph.switch_node(switch));
            passage.on_way(frame, ports[usize::from(frame.ingress)].reverse(), out);
        }
        if self.repeaters.is_some() {
            self.forward_with_copies(now, switch, out, id);
        } else {
            self.wires.enqueue(now, out, id);
        }
    }

    /// Copies follow the original at once, on the same way.
    fn forward_with_copies(&mut self, now: Time, switch: SwitchId, out: LaneId, id: FrameId) {
        let frame = *self.wires.frame_mut(id);
        let copies = self.repeaters.as_mut().map_or(0, |all| all.copies(&self.net, switch, &frame));
        self.wires.enqueue(now, out, id);
        for replica in 1..=copies {
            self.wires.enqueue_copy(now, out, Frame { replica, ..frame });
        }
    }

    #[cold]
    fn expire(&mut self, now: Time, switch: SwitchId, id: FrameId) {
        self.tally.dropped_ttl += 1;
        if let Some(passage) = &mut self.passage {
            passage.on_expiry(now, switch);
        }
        let frame = self.wires.consume(id);
        self.wires.watch.on_ttl(now, self.net.graph.switch_node(switch), &frame);
    }

    #[inline]
    fn on_port_free(&mut self, now: Time, lane: LaneId) {
        if self.wires.is_lossless(lane) {
            self.events -= 1;
            self.wires.on_lossless_free(now, lane);
            if !self.wires.delivered.is_empty() {
                self.forward_delivered(now);
            }
        } else if self.wires.is_switch(lane) {
            self.wires.on_egress_free(now, lane);
            if !self.wires.delivered.is_empty() {
                self.forward_delivered(now);
            }
        } else {
            // Lane and its reverse end at each other's nodes: the sender of a lane is where its reverse ends.
            let host = HostId(self.net.lanes[lane.reverse().index()].to.0);
            self.with_host(now, host, Host::on_port_free);
        }
    }

    /// Tells a port what the scenario has it told: one an event, so that parts do not change the number of events.
    #[cold]
    fn on_script(&mut self, now: Time) {
        if let Some(pause) = self.script.pop_due(now) {
            self.pause(now, pause.lane, pause.class, pause.hold);
        }
        if let Some(due) = self.script.next_due() {
            self.wires.queue.arm(self.wires.sources.script(), due.max(now));
        }
    }

    /// Holds a class at the port that sends over `lane`, or lets it go.
    fn pause(&mut self, now: Time, lane: LaneId, class: u8, hold: Hold) {
        if self.net.switch_at(lane.reverse()).is_some() {
            self.wires.pause(now, lane, class, hold);
        } else {
            let host = HostId(self.net.lanes[lane.reverse().index()].to.0);
            self.with_host(now, host, |host, cx| host.pause(cx, class, hold));
        }
    }

    #[inline]
    fn with_host(&mut self, now: Time, host: HostId, act: impl FnOnce(&mut Host, &mut Context<'_>)) {
        let mut cx = Context { now, net: &self.net, wires: &mut self.wires, tally: &mut self.tally };
        act(&mut self.hosts[host.index()], &mut cx);
        if !self.wires.notices.is_empty() {
            self.hand_over_notices();
        }
    }

    #[cold]
    fn hand_over_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.wires.notices);
        for notice in notices.drain(..) {
            let part = self.owner_of_node[notice.to.index()];
            if part == self.number {
                self.deliver(notice);
            } else {
                self.wires.outbox[usize::from(part)].notices.push(notice);
            }
        }
        self.wires.notices = notices;
    }
}
