//! Protected ports: an end of [`proto::link`](wiremend_proto::link) or [`proto::fec`](wiremend_proto::fec)
//! between the queues of a switch port and its wire.
//!
//! Whenever the wire of a protected port is free, its link end decides what is sent next. A frame with a
//! header goes to the link end of its ingress port, and from there to the switch. A dormant link end adds
//! neither headers nor frames.

mod buffer_location;

mod end_context;
mod fec_end;
mod lazy_port;
mod link_end;
mod loopback;
mod loss_episodes;
mod loss_monitor;
mod missing_frames;
mod occupancy;
mod prototype;
mod retransmission;

pub(crate) use buffer_location::BufferLocation;
pub(crate) use fec_end::FecEnd;
pub use link_end::LinkEndCounters;
pub(crate) use link_end::{Activation, LinkEnd, LinkProtocol, named};
pub(crate) use loopback::{Loopback, LoopbackTiming};
pub(crate) use loss_episodes::LossEpisodes;
pub(crate) use loss_monitor::LossMonitor;
pub(crate) use prototype::{BufferLimits, Prototype};

use wiremend_proto::link::LinkHeader;
use wiremend_units::{Bytes, LaneId, SwitchId, Time};

use crate::frame::{Body, FrameId, Header};
use crate::link::{Intake, Lanes};
use crate::memory::pages;
use crate::port::{Egress, QueuedFrame};
use end_context::{EndContext, Shared};
use loopback::LoopbackStep;

/// The protected ports of a partition, and the state that they share.
#[derive(Default)]
pub(crate) struct Protection {
    ports: Vec<ProtectedPort>,
    /// By switch: the ports whose departures have no events; see [`lazy_port`].
    lazy: Vec<Vec<ProtectedId>>,
    shared: Shared,
    /// The lane with `tilted` losses, if there is one.
    loss_episodes: Option<Box<LossEpisodes>>,
}

/// Frames, and the lanes that they came over.
pub(crate) type DeliveredFrames = Vec<(LaneId, FrameId)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProtectedId(u32);

pub(crate) struct ProtectedPort {
    pub(crate) egress: Egress,
    pub(crate) link_end: LinkEnd,
    /// The switch that computes departures when it looks at the port. `None`: each departure has an event.
    lazy: Option<SwitchId>,
    /// Whether the link end has something to send when the wire becomes free, and no event for it.
    is_waiting: bool,
    /// No departure without an event and no arrival of a control frame is earlier.
    quiet_until: Time,
    /// An event of the port is due then or earlier.
    armed: Time,
}

/// Result of a step of a switch's loopback port.
pub(crate) struct LoopbackResult {
    /// A port that may have something to send now.
    pub(crate) wakes: Option<ProtectedId>,
}

impl ProtectedPort {
    /// Returns when a timer is due or a pause ends.
    #[inline]
    fn next_due(&self, now: Time) -> Time {
        self.link_end.next_due(now).min(self.resumes(now))
    }

    /// Returns when a pause ends that keeps the queues from sending.
    #[inline]
    fn resumes(&self, now: Time) -> Time {
        if !self.egress.may_be_paused() {
            return Time::MAX;
        }
        self.egress.next_start(now).filter(|start| *start > now).unwrap_or(Time::MAX)
    }

    /// Schedules the next event: at `due`, or earlier if a timer is due or a pause ends.
    #[inline]
    fn arm(&mut self, lanes: &mut Lanes, now: Time, due: Time) {
        let due = due.min(self.next_due(now));
        if due < self.armed {
            self.armed = due;
            lanes.queue.arm_by(lanes.sources.port_free(self.link_end.lane()), due.max(now));
        }
    }
}

impl Protection {
    /// Returns an empty set with room for `ports`. `loopbacks`: loopback ports of switches, by switch.
    pub(crate) fn new(ports: usize, loopbacks: Vec<Loopback>) -> Self {
        let shared = Shared { loopbacks, ..Shared::default() };
        let mut all = Vec::new();
        pages::reserve(&mut all, ports);
        Self { ports: all, lazy: Vec::new(), shared, loss_episodes: None }
    }

    /// Adds a port; `switch` if its departures affect no other port of its switch.
    pub(crate) fn add(
        &mut self,
        lanes: &mut Lanes,
        egress: Egress,
        link_end: LinkEnd,
        switch: Option<SwitchId>,
    ) -> ProtectedId {
        let (lane, id) = (link_end.state.lane, ProtectedId(self.ports.len() as u32));
        let due = link_end.next_due(Time::ZERO);
        if due != Time::MAX {
            lanes.queue.arm_by(lanes.sources.port_free(lane), due);
        }
        lanes.set_intake(lane, Intake::Queue);
        let lazy = switch.filter(|_| lazy_port::may_be_lazy(lanes, &link_end.protocol));
        if let Some(switch) = lazy {
            lanes.receive_lazily(lane.reverse());
            self.lazy.resize_with(self.lazy.len().max(switch.index() + 1), Vec::new);
            self.lazy[switch.index()].push(id);
        }
        // Nothing happens before the first event.
        let quiet_until = if lazy.is_some() { Time::from_ps(1) } else { Time::MAX };
        self.ports.push(ProtectedPort { egress, link_end, lazy, is_waiting: false, quiet_until, armed: due });
        id
    }

    /// Starts to record loss episodes.
    pub(crate) fn track_loss_episodes(&mut self, loss_episodes: LossEpisodes) {
        self.loss_episodes = Some(Box::new(loss_episodes));
    }

    pub(crate) fn loss_episodes(&self) -> Option<&LossEpisodes> {
        self.loss_episodes.as_deref()
    }

    #[inline]
    pub(crate) fn port(&self, id: ProtectedId) -> &ProtectedPort {
        &self.ports[id.0 as usize]
    }

    #[inline]
    pub(crate) fn port_mut(&mut self, id: ProtectedId) -> &mut ProtectedPort {
        &mut self.ports[id.0 as usize]
    }

    /// Returns the frames that links have delivered; given back empty to keep its memory.
    #[inline]
    pub(crate) fn delivered(&mut self) -> &mut DeliveredFrames {
        &mut self.shared.delivered
    }

    /// Handles a port event: the wire became free, or a timer is due.
    pub(crate) fn on_time(&mut self, lanes: &mut Lanes, now: Time, id: ProtectedId) {
        let port = self.port_mut(id);
        port.armed = Time::MAX;
        port.link_end.on_time(now);
        if port.lazy.is_some() {
            // A timer may have moved to a later time of this window.
            port.arm(lanes, now, Time::MAX);
        }
        let (protocol, mut cx) = self.split(lanes, now, id);
        if let LinkProtocol::Prototype(prototype) = protocol {
            prototype.check_memory(&mut cx);
        }
    }

    /// Handles a frame with a link header that came in by the port. Returns the frame if the switch must forward it
    /// next.
    #[inline]
    pub(crate) fn on_header(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        id: ProtectedId,
        frame: FrameId,
    ) -> Option<FrameId> {
        let LinkEnd { protocol, state } = &mut self.port_mut(id).link_end;
        if let LinkProtocol::Link(end) = protocol
            && let Some(header) = lanes.headers.packed(frame).as_data()
        {
            let arrived = lanes.frames.get_mut(frame);
            arrived.has_header = false;
            arrived.len -= LinkHeader::from(header).added_len() as u16;
            let delivered = end.on_data(now, header, frame, Bytes::new(u64::from(arrived.len)));
            state.costs.delivered += u64::from(delivered.is_some());
            return delivered;
        }
        self.on_rare_header(lanes, now, id, frame);
        None
    }

    #[inline(never)]
    fn on_rare_header(&mut self, lanes: &mut Lanes, now: Time, id: ProtectedId, frame: FrameId) {
        let block = lanes.headers.detach(frame);
        let header = lanes.detach_header(frame);
        let (protocol, mut cx) = self.split(lanes, now, id);
        let arrived = cx.lanes.frames.get(frame);
        let len = Bytes::new(u64::from(arrived.len));
        let incoming = if matches!(arrived.body, Body::Link) {
            cx.discard(frame);
            None
        } else {
            Some((frame, len))
        };
        match (protocol, header, incoming) {
            (LinkProtocol::Link(end), Header::Link(signal), incoming) => {
                end.on_signal(now, &signal, incoming);
            }
            (LinkProtocol::Link(end), Header::Unprotected, Some((frame, _))) => end.on_plain(now, frame),
            (LinkProtocol::Fec(fec), Header::Fec(signal), incoming) => {
                fec.on_signal(now, signal, incoming, block);
            }
            (LinkProtocol::Fec(fec), Header::Unprotected, Some(incoming)) => fec.on_unprotected(incoming),
            (LinkProtocol::Prototype(prototype), Header::Prototype(signal), incoming) => {
                prototype.on_signal(&mut cx, &signal, incoming);
                prototype.check_memory(&mut cx);
            }
            (LinkProtocol::Prototype(prototype), Header::Pause(quanta), _) => {
                prototype.on_pause(now, quanta);
                prototype.check_memory(&mut cx);
            }
            // A header of another protocol is discarded.
            (_, _, Some((frame, _))) => {
                cx.discard(frame);
            }
            (_, _, None) => {}
        }
    }

    /// Sends the next frame if `may_send`, processes the decisions of the link end, and schedules the next
    /// call. Returns the queue entry that was sent, with its class.
    pub(crate) fn send_next(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        id: ProtectedId,
        may_send: bool,
    ) -> Option<(u8, QueuedFrame)> {
        if let Some(switch) = self.port(id).lazy {
            self.send_lazily(lanes, now, id, switch);
            return None;
        }
        let (protocol, mut cx) = self.split(lanes, now, id);
        let has_sent = match protocol {
            LinkProtocol::Link(end) => {
                let has_sent = may_send && retransmission::send(end, &mut cx);
                retransmission::dispose(end, &mut cx);
                has_sent
            }
            LinkProtocol::Fec(fec) => {
                let frame = if may_send { fec.next(&mut cx) } else { None };
                let has_sent = cx.transmit(frame);
                fec.dispose(&mut cx);
                has_sent
            }
            LinkProtocol::Prototype(prototype) => {
                let frame = if may_send { prototype.next_frame(&mut cx) } else { None };
                cx.transmit(frame)
            }
        };
        let head = cx.head;
        self.arm(lanes, now, id);
        if self.loss_episodes.is_some() && has_sent {
            self.record_loss_episode(lanes, now, self.port(id).link_end.lane());
        }
        head
    }

    /// Schedules the next event: the wire becomes free, a pause ends, or a timer of the link end is due.
    pub(crate) fn arm(&mut self, lanes: &mut Lanes, now: Time, id: ProtectedId) {
        let port = self.port_mut(id);
        let busy_until = lanes.busy_until(port.link_end.lane());
        port.arm(lanes, now, if busy_until > now { busy_until } else { Time::MAX });
    }

    /// Runs the next step that is due at the loopback port of a switch.
    pub(crate) fn step_loopback(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        switch: SwitchId,
    ) -> Option<LoopbackResult> {
        let step = self.shared.loopbacks.get_mut(switch.index())?.poll(now)?;
        let (LoopbackStep::Dequeued(buffered) | LoopbackStep::Judged(buffered)) = step;
        let port = buffered.port;
        let (protocol, mut cx) = self.split(lanes, now, port);
        // No other protocol buffers frames in the loopback port.
        let LinkProtocol::Prototype(prototype) = protocol else {
            return Some(LoopbackResult { wakes: None });
        };
        let wakes = match step {
            LoopbackStep::Dequeued(buffered) => prototype.on_dequeue(now, &buffered),
            LoopbackStep::Judged(buffered) => prototype.on_looped(&mut cx, buffered),
        };
        Some(LoopbackResult { wakes: wakes.then_some(port) })
    }

    /// Schedules the next step of the loopback port of a switch.
    pub(crate) fn arm_loopback(&self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        if let Some(loopback) = self.shared.loopbacks.get(switch.index()) {
            loopback.arm(lanes, now, switch);
        }
    }

    /// Counts a loss on the lane into a port, which has carried `frames`. Returns when the other end must
    /// start, if this loss is one too many. That happens once.
    pub(crate) fn on_loss(&mut self, now: Time, id: ProtectedId, frames: u64) -> Option<Time> {
        let loss_monitor = &mut self.port_mut(id).link_end.state.loss_monitor;
        let loss_monitor = loss_monitor.take_if(|loss_monitor| loss_monitor.on_loss(now, frames))?;
        Some(now + loss_monitor.notify_delay)
    }

    pub(crate) fn on_start(&mut self, lanes: &mut Lanes, id: ProtectedId, at: Time) {
        let port = self.port_mut(id);
        port.link_end.start_at(at);
        port.armed = port.armed.min(at);
        lanes.queue.arm_by(lanes.sources.port_free(port.link_end.lane()), at);
    }

    /// Records the loss episode that a sent frame has ended, if any.
    #[cold]
    pub(crate) fn record_loss_episode(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) {
        let Some(loss_episodes) = self.loss_episodes.as_mut().filter(|episodes| episodes.lane == lane) else {
            return;
        };
        let far = &mut self.ports[loss_episodes.far_end.0 as usize].link_end;
        if let Some(tilted) = lanes.impairments[lane.index()].as_mut().and_then(|lane| lane.tilted_mut()) {
            loss_episodes.on_sent(tilted, || far.lost(now));
        }
    }

    /// Returns the protocol of a port and its context.
    #[inline]
    fn split<'a>(
        &'a mut self,
        lanes: &'a mut Lanes,
        now: Time,
        id: ProtectedId,
    ) -> (&'a mut LinkProtocol, EndContext<'a>) {
        let ProtectedPort { egress, link_end: LinkEnd { protocol, state }, .. } =
            &mut self.ports[id.0 as usize];
        (protocol, EndContext { now, port: id, lanes, egress, state, shared: &mut self.shared, head: None })
    }
}
