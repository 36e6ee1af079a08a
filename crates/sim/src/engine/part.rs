//! A part of the fabric that one thread simulates: the nodes it owns, and what is on its way to them.

use std::sync::Arc;

use wiremend_measure::{Metric, Outcome, SeriesRow};
use wiremend_proto::cc::Echo;
use wiremend_units::{HostId, LaneId, NodeId, SwitchId, Time};

use crate::engine::Script;
use crate::event::Event;
use crate::frame::{Body, FrameId, HeaderId};
use crate::host::{Context, Host, Tally};
use crate::link::{LaneCounters, Lanes, Outbox};
use crate::memory::prefetch;
use crate::network::{Network, Notice, Way};
use crate::port::Hold;
use crate::switch::deadlock::{Passage, Report, Verdict};
use crate::switch::{Balancer, Detours, Repeaters, SwitchPorts};

/// Parts lie side by side and each thread writes its own: none shares a line of the cache, or the next one that the
/// machine fetches along with it, with its neighbour.
#[repr(align(128))]
pub(crate) struct Part {
    pub(crate) number: u16,
    pub(crate) net: Arc<Network>,
    /// Which part each node belongs to.
    pub(crate) owner_of_node: Arc<[u16]>,
    pub(crate) lanes: Lanes,
    pub(crate) ports: SwitchPorts,
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
        while let Some((now, source)) = self.lanes.queue.pop(end) {
            self.events += 1;
            if self.lanes.queue.has_turned() {
                self.prefetch();
            }
            match self.lanes.sources.event(source) {
                Event::Arrival(lane) => self.on_arrival(now, lane),
                Event::PortFree(lane) => self.on_port_free(now, lane),
                Event::App(host) => self.with_host(now, host, Host::on_app),
                Event::Timer(host) => self.with_host(now, host, Host::on_timer),
                Event::Inbox(host) => self.with_host(now, host, Host::on_inbox),
                Event::Inside(switch) => self.on_inside(now, switch),
                Event::Script => self.on_script(now),
            }
        }
    }

    /// Fetches what events of the near future need: far more is under way than a cache holds.
    #[inline]
    fn prefetch(&self) {
        let [next, after] = self.lanes.queue.upcoming();
        let lanes = self.lanes.ports.len();
        for source in self.lanes.queue.bucket(after) {
            match self.lanes.ring(source) {
                Some(ring) => prefetch(ring),
                None => self.ports.prefetch(source.0 as usize - lanes, false),
            }
        }
        for source in self.lanes.queue.bucket(next) {
            match self.lanes.ring(source) {
                Some(ring) => self.lanes.prefetch_first(ring),
                None => self.ports.prefetch(source.0 as usize - lanes, true),
            }
        }
    }

    /// Takes a notice from another part, or from a host of this one.
    fn deliver(&mut self, notice: Notice) {
        self.hosts[notice.to.index()].post_notice(&mut self.lanes, notice);
    }

    /// Takes over what another part has sent.
    pub(crate) fn take_over(&mut self, outbox: &mut Outbox) {
        for (lane, at) in outbox.starts.drain(..) {
            self.ports.on_start(&mut self.lanes, lane, at);
        }
        self.lanes.take_over(outbox);
        for notice in outbox.notices.drain(..) {
            self.deliver(notice);
        }
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
        self.ports.catch_up(&mut self.lanes, now);
        self.last_sample.resize(self.sampled.len(), (LaneCounters::default(), 0));
        for (lane, (last, last_again)) in self.sampled.iter().zip(&mut self.last_sample) {
            let counters = self.ports.counters(&self.lanes, *lane);
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
                row(Metric::QueueBytes, self.ports.backlog(&self.lanes, now, *lane).get());
                row(Metric::DroppedFrames, counters.dropped - last.dropped);
                if let Some(host) = self.hosts.get(self.net.graph.lane_from(*lane).index()) {
                    let again = host.counters.retransmitted_packets;
                    row(Metric::RetransmittedPackets, again - *last_again);
                    *last_again = again;
                }
                if let Some(guard) = self.ports.guard(*lane) {
                    row(Metric::TxBufferBytes, guard.counters().tx_bytes);
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
            if let Some(guard) = self.ports.guard(lane.reverse()) {
                row(Metric::RxBufferBytes, guard.counters().rx_bytes);
            }
            *last = counters;
        }
    }

    /// What an observer with full sight is to know: ports that had to hold since `before`.
    pub(crate) fn report(&mut self, now: Time, before: Time) -> Report {
        self.ports.catch_up(&mut self.lanes, now);
        let owns = |lane: LaneId| self.owner_of_node[self.net.graph.lane_from(lane).index()] == self.number;
        self.ports
            .as_lossless()
            .map_or_else(Report::default, |lossless| Report::new(lossless, &self.net, owns, now, before))
    }

    /// What a lane counts.
    pub(crate) fn counters(&self, lane: LaneId) -> LaneCounters {
        self.ports.counters(&self.lanes, lane)
    }

    pub(crate) fn owns(&self, host: HostId) -> bool {
        self.owner_of_node[host.index()] == self.number
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, lane: LaneId) {
        let (node, ingress) = self.lanes.end(lane);
        let arrived = self.lanes.take_arrived(lane);
        if arrived.is_last {
            self.ports.on_last_arrival(&mut self.lanes, now, lane);
        }
        let Some(id) = arrived.frame else {
            self.events -= 1;
            return;
        };
        let frame = self.lanes.frame_mut(id);
        if matches!(frame.body, Body::Corrupted) {
            self.ports.on_corrupted(&mut self.lanes, now, lane, id);
            return;
        }
        if frame.header != HeaderId::NONE {
            self.on_header(now, lane, id);
            return;
        }
        if let Some(switch) = node.0.checked_sub(self.hosts.len() as u32) {
            self.forward(now, SwitchId(switch), id, ingress);
        } else {
            if self.net.transport.needs.echo != Echo::Nothing {
                self.lanes.feedback = self.lanes.frames.detach(id);
            }
            let frame = self.lanes.consume(id);
            self.with_host(now, HostId(node.0), |host, cx| host.on_frame(cx, &frame));
        }
    }

    #[cold]
    fn on_header(&mut self, now: Time, lane: LaneId, frame: FrameId) {
        let Some(holds) = self.ports.on_header(&mut self.lanes, now, lane, frame) else {
            self.forward_delivered(now);
            return;
        };
        for (class, hold) in holds.into_iter().enumerate() {
            if let Some(hold) = hold {
                self.pause(now, lane.reverse(), class as u8, hold);
            }
        }
        if let Some(switch) = self.net.switch_at(lane) {
            self.ports.watch_held(&mut self.lanes, now, switch);
        }
    }

    #[cold]
    fn on_inside(&mut self, now: Time, switch: SwitchId) {
        self.ports.on_inside(&mut self.lanes, now, switch);
        self.forward_delivered(now);
    }

    /// What protected links have handed on goes its way.
    #[cold]
    fn forward_delivered(&mut self, now: Time) {
        let mut delivered = std::mem::take(self.ports.delivered());
        for (lane, frame) in delivered.drain(..) {
            let (node, ingress) = self.lanes.end(lane);
            self.forward(now, SwitchId(node.0 - self.hosts.len() as u32), frame, ingress);
        }
        assert!(self.ports.delivered().is_empty(), "forwarding hands on nothing new");
        *self.ports.delivered() = delivered;
    }

    /// A switch: hops left, the way, the port.
    #[inline]
    fn forward(&mut self, now: Time, switch: SwitchId, id: FrameId, ingress: u16) {
        let frame = self.lanes.frame_mut(id);
        frame.ttl -= 1;
        frame.ingress = ingress;
        if frame.ttl == 0 {
            self.expire(now, switch, id);
            return;
        }
        let way = Way { src: frame.src, dst: frame.dst, entropy: frame.entropy };
        if self.is_plain {
            let out = self.net.next_hop(switch, way);
            self.ports.on_frame(&mut self.lanes, now, out, id);
        } else {
            self.forward_with_care(now, switch, way, id);
        }
    }

    /// The same where switches look at frames, choose ways frame by frame, have entries of their own, or make copies.
    #[inline(never)]
    fn forward_with_care(&mut self, now: Time, switch: SwitchId, way: Way, id: FrameId) {
        if let Some(passage) = &mut self.passage
            && passage.on_frame(now, switch, self.lanes.frame_mut(id)) == Verdict::Drop
        {
            let frame = self.lanes.consume(id);
            self.lanes.watch.on_ttl(now, self.net.graph.switch_node(switch), &frame);
            return;
        }
        let lanes = match &self.detours {
            Some(detours) => detours.next_hops(now, &self.net, switch, way),
            None => self.net.routes.next_hops(switch, way.dst),
        };
        let out = match &mut self.balancer {
            Some(balancer) => {
                let class = self.lanes.frame_mut(id).class();
                let queued = |lane| self.ports.queued(&mut self.lanes, now, lane, class);
                balancer.choose(now, switch, way, lanes, queued)
            }
            None => self.net.pick(switch, way, lanes),
        };
        if let Some(passage) = &mut self.passage {
            let frame = self.lanes.frame_mut(id);
            let ports = self.net.graph.ports(self.net.graph.switch_node(switch));
            passage.on_way(frame, ports[usize::from(frame.ingress)].reverse(), out);
        }
        if self.repeaters.is_some() {
            self.forward_with_copies(now, switch, out, id);
        } else {
            self.ports.on_frame(&mut self.lanes, now, out, id);
        }
    }

    /// Copies follow the original at once, on the same way.
    fn forward_with_copies(&mut self, now: Time, switch: SwitchId, out: LaneId, id: FrameId) {
        let frame = *self.lanes.frame_mut(id);
        let copies = self.repeaters.as_mut().map_or(0, |all| all.copies(&self.net, switch, &frame));
        self.ports.on_frame(&mut self.lanes, now, out, id);
        for _ in 0..copies {
            self.ports.on_copy(&mut self.lanes, now, out, frame.replica());
        }
    }

    #[cold]
    fn expire(&mut self, now: Time, switch: SwitchId, id: FrameId) {
        self.tally.dropped_ttl += 1;
        if let Some(passage) = &mut self.passage {
            passage.on_expiry(now, switch);
        }
        let frame = self.lanes.consume(id);
        self.lanes.watch.on_ttl(now, self.net.graph.switch_node(switch), &frame);
    }

    #[inline]
    fn on_port_free(&mut self, now: Time, lane: LaneId) {
        // Lane and its reverse end at each other's nodes: the sender of a lane is where its reverse ends.
        let (sender, _) = self.lanes.end(lane.reverse());
        if sender.0 < self.hosts.len() as u32 {
            self.with_host(now, HostId(sender.0), Host::on_port_free);
            return;
        }
        let freed = self.ports.on_free(&mut self.lanes, now, lane);
        if freed.is_look {
            self.events -= 1;
        }
        if freed.has_delivered {
            self.forward_delivered(now);
        }
    }

    /// Tells a port what the scenario has it told: one an event, so that parts do not change the number of events.
    #[cold]
    fn on_script(&mut self, now: Time) {
        if let Some(pause) = self.script.pop_due(now) {
            self.pause(now, pause.lane, pause.class, pause.hold);
        }
        if let Some(due) = self.script.next_due() {
            self.lanes.queue.arm(self.lanes.sources.script(), due.max(now));
        }
    }

    /// Holds a class at the port that sends over `lane`, or lets it go.
    fn pause(&mut self, now: Time, lane: LaneId, class: u8, hold: Hold) {
        if self.net.switch_at(lane.reverse()).is_some() {
            self.ports.on_pause(&mut self.lanes, now, lane, class, hold);
        } else {
            let host = HostId(self.net.lanes[lane.reverse().index()].to.0);
            self.with_host(now, host, |host, cx| host.pause(cx, class, hold));
        }
    }

    #[inline]
    fn with_host(&mut self, now: Time, host: HostId, act: impl FnOnce(&mut Host, &mut Context<'_>)) {
        let mut cx = Context { now, net: &self.net, wires: &mut self.lanes, tally: &mut self.tally };
        act(&mut self.hosts[host.index()], &mut cx);
        if !self.lanes.notices.is_empty() {
            self.hand_over_notices();
        }
    }

    #[cold]
    fn hand_over_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.lanes.notices);
        for notice in notices.drain(..) {
            let part = self.owner_of_node[notice.to.index()];
            if part == self.number {
                self.deliver(notice);
            } else {
                self.lanes.outbox[usize::from(part)].notices.push(notice);
            }
        }
        self.lanes.notices = notices;
    }
}
