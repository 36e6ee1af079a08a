//! Ports under protection: an end of [`proto::link`](wiremend_proto::link) or [`proto::fec`](wiremend_proto::fec) between a switch's queues and its
//! wire.
//!
//! A protected port is a scheduled one whose wire is not its own: whenever it is free, the link's end says who is next
//! on it. What arrives with a header goes to the end of the port it came in by, and from there to the switch. A
//! dormant end adds neither header nor frame.

mod coder;
mod depth;
mod end;
mod gauge;
mod guard;
mod loopback;
mod memory;
mod missing;
mod prototype;
mod rare;
mod retransmission;

pub(crate) use coder::Coder;
pub(crate) use gauge::Gauge;
pub use guard::EndCounters;
pub(crate) use guard::{Guard, Order, Protocol, named};
pub(crate) use loopback::{Loopback, Turn};
pub(crate) use memory::Home;
pub(crate) use prototype::{Prototype, Room};
pub(crate) use rare::Rare;

use wiremend_units::{Bytes, LaneId, SwitchId, Time};

use crate::frame::{Body, FrameId, Header};
use crate::link::{Intake, Lanes};
use crate::port::{Egress, Waiting};
use end::{EndContext, Shared};
use loopback::Step;

/// The protected ports of a part, and what they share.
#[derive(Default)]
pub(crate) struct Protection {
    ports: Vec<ProtectedPort>,
    shared: Shared,
    /// Where losses come in episodes.
    rare: Option<Box<Rare>>,
}

/// Frames, and the lanes that they came over.
pub(crate) type Delivered = Vec<(LaneId, FrameId)>;

/// The place of a protected port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProtectedId(u32);

/// A port at an end of a protected link.
pub(crate) struct ProtectedPort {
    pub(crate) egress: Egress,
    pub(crate) guard: Guard,
}

/// Something has happened at the loopback port of a switch.
pub(crate) struct Turned {
    /// A port that may have something to send for it.
    pub(crate) wakes: Option<ProtectedId>,
}

impl Protection {
    /// Room for so many ports; `loopbacks`: of switches whose buffers turn, by switch.
    pub(crate) fn new(ports: usize, loopbacks: Vec<Loopback>) -> Self {
        let shared = Shared { loopbacks, ..Shared::default() };
        Self { ports: Vec::with_capacity(ports), shared, rare: None }
    }

    /// Adds a port with these queues, and an end before its wire.
    pub(crate) fn add(&mut self, lanes: &mut Lanes, egress: Egress, guard: Guard) -> ProtectedId {
        let (lane, id) = (guard.state.lane, ProtectedId(self.ports.len() as u32));
        if let Some(due) = guard.next_due(Time::ZERO) {
            lanes.queue.arm_by(lanes.sources.tx(lane), due);
        }
        lanes.set_intake(lane, Intake::Queue);
        self.ports.push(ProtectedPort { egress, guard });
        id
    }

    /// Has episodes of losses weighed.
    pub(crate) fn weigh(&mut self, rare: Rare) {
        self.rare = Some(Box::new(rare));
    }

    pub(crate) fn rare(&self) -> Option<&Rare> {
        self.rare.as_deref()
    }

    #[inline]
    pub(crate) fn port(&self, id: ProtectedId) -> &ProtectedPort {
        &self.ports[id.0 as usize]
    }

    #[inline]
    pub(crate) fn port_mut(&mut self, id: ProtectedId) -> &mut ProtectedPort {
        &mut self.ports[id.0 as usize]
    }

    /// What links have handed on since the last time; given back empty, for its memory.
    #[inline]
    pub(crate) fn delivered(&mut self) -> &mut Delivered {
        &mut self.shared.delivered
    }

    /// The port has fallen free, or a time has come.
    pub(crate) fn on_time(&mut self, lanes: &mut Lanes, now: Time, id: ProtectedId) {
        self.port_mut(id).guard.on_time(now);
        let (protocol, mut cx) = self.split(lanes, now, id);
        if let Protocol::Prototype(prototype) = protocol {
            prototype.settle(&mut cx);
        }
    }

    /// A frame with a link header has come in by the port.
    pub(crate) fn on_header(&mut self, lanes: &mut Lanes, now: Time, id: ProtectedId, frame: FrameId) {
        let block = lanes.headers.detach(lanes.frames.get(frame).header);
        let header = lanes.detach_header(frame);
        let (protocol, mut cx) = self.split(lanes, now, id);
        let arrived = cx.lanes.frames.get(frame);
        let len = Bytes::new(u64::from(arrived.len));
        let incoming = if matches!(arrived.body, Body::Link) {
            cx.take_away(frame);
            None
        } else {
            Some((frame, len))
        };
        match (protocol, header, incoming) {
            (Protocol::Link(end), Header::Link(signal), incoming) => end.on_signal(now, &signal, incoming),
            (Protocol::Link(end), Header::Bare, Some((frame, _))) => end.on_plain(now, frame),
            (Protocol::Fec(coder), Header::Fec(signal), incoming) => {
                coder.on_signal(now, signal, incoming, block);
            }
            (Protocol::Fec(coder), Header::Bare, Some(incoming)) => coder.on_bare(incoming),
            (Protocol::Prototype(prototype), Header::Prototype(signal), incoming) => {
                prototype.on_signal(&mut cx, &signal, incoming);
                prototype.settle(&mut cx);
            }
            (Protocol::Prototype(prototype), Header::Pause(quanta), _) => {
                prototype.on_pause(now, quanta);
                prototype.settle(&mut cx);
            }
            // A header of another protocol means nothing to this end.
            (_, _, Some((frame, _))) => {
                cx.take_away(frame);
            }
            (_, _, None) => {}
        }
    }

    /// Puts on the wire what is next, if `may_send`, does with handles what the end of the link has decided, and sees to being called
    /// again. What left the queues of the port for it, with its class.
    pub(crate) fn pump(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        id: ProtectedId,
        may_send: bool,
    ) -> Option<(u8, Waiting)> {
        let (protocol, mut cx) = self.split(lanes, now, id);
        let frame = match protocol {
            _ if !may_send => None,
            Protocol::Link(end) => retransmission::next(end, &mut cx),
            Protocol::Prototype(prototype) => prototype.next_frame(&mut cx),
            Protocol::Fec(coder) => coder.next(&mut cx),
        };
        if let Some(frame) = frame {
            cx.lanes.transmit(now, cx.state.lane, frame);
        }
        match protocol {
            Protocol::Link(end) => retransmission::dispose(end, &mut cx),
            Protocol::Fec(coder) => coder.dispose(&mut cx),
            Protocol::Prototype(_) => {}
        }
        let head = cx.head;
        self.arm(lanes, now, id);
        if self.rare.is_some() && frame.is_some() {
            self.weigh_episode(lanes, now, self.port(id).guard.lane());
        }
        head
    }

    /// Comes back when the wire falls free, a hold is over, or the end of the link wants to act.
    pub(crate) fn arm(&self, lanes: &mut Lanes, now: Time, id: ProtectedId) {
        let ProtectedPort { egress, guard } = self.port(id);
        let lane = guard.lane();
        let busy_until = lanes.busy_until(lane);
        let free = if busy_until > now { Some(busy_until) } else { None };
        let opens = egress.next_start(now).filter(|start| *start > now);
        if let Some(due) = [free, opens, guard.next_due(now)].into_iter().flatten().min() {
            lanes.queue.arm_by(lanes.sources.tx(lane), due.max(now));
        }
    }

    /// Does what is due next at the loopback port of a switch.
    pub(crate) fn turn(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) -> Option<Turned> {
        let step = self.shared.loopbacks.get_mut(switch.index())?.step(now)?;
        let (Step::Mirrored(turning) | Step::Dequeued(turning) | Step::Judged(turning)) = step;
        let port = turning.port;
        let (protocol, mut cx) = self.split(lanes, now, port);
        // No other protocol has buffers that turn.
        let Protocol::Prototype(prototype) = protocol else { return Some(Turned { wakes: None }) };
        let wakes = match step {
            Step::Mirrored(turning) => {
                prototype.keep(&mut cx, turning);
                false
            }
            Step::Dequeued(turning) => prototype.on_dequeue(now, &turning),
            Step::Judged(turning) => prototype.on_turned(&mut cx, turning),
        };
        Some(Turned { wakes: wakes.then_some(port) })
    }

    /// Comes back when something happens next at the loopback port of a switch.
    pub(crate) fn arm_loopback(&self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        if let Some(loopback) = self.shared.loopbacks.get(switch.index()) {
            loopback.arm(lanes, now, switch);
        }
    }

    /// So many frames have come in by a port, and the last is corrupted: when the other end of the link is to start for it. That comes
    /// about once.
    pub(crate) fn on_loss(&mut self, now: Time, id: ProtectedId, frames: u64) -> Option<Time> {
        let gauge = &mut self.port_mut(id).guard.state.gauge;
        let gauge = gauge.take_if(|gauge| gauge.on_loss(now, frames))?;
        Some(now + gauge.told_after)
    }

    /// The end of a port learns that it is to start.
    pub(crate) fn on_start(&mut self, lanes: &mut Lanes, id: ProtectedId, at: Time) {
        let guard = &mut self.port_mut(id).guard;
        guard.start_at(at);
        lanes.queue.arm_by(lanes.sources.tx(guard.lane()), at);
    }

    /// A frame has left over a lane: an episode of losses may have ended with it.
    #[cold]
    pub(crate) fn weigh_episode(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) {
        let Some(rare) = self.rare.as_mut().filter(|rare| rare.lane == lane) else { return };
        let far = &mut self.ports[rare.far.0 as usize].guard;
        if let Some(tilted) = lanes.impairments[lane.index()].as_mut().and_then(|lane| lane.tilted_mut()) {
            rare.on_sent(tilted, || far.lost(now));
        }
    }

    /// A port's protocol, and what that works with.
    #[inline]
    fn split<'a>(
        &'a mut self,
        lanes: &'a mut Lanes,
        now: Time,
        id: ProtectedId,
    ) -> (&'a mut Protocol, EndContext<'a>) {
        let ProtectedPort { egress, guard: Guard { protocol, state } } = &mut self.ports[id.0 as usize];
        (protocol, EndContext { now, port: id, lanes, egress, state, shared: &mut self.shared, head: None })
    }
}
