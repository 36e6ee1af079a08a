//! The ports of switches that drop what they have no room for: plain, scheduled, or protected.

use wiremend_measure::Trims;
use wiremend_units::{LaneId, Span, SwitchId, Time};

use super::{Marking, Trimming};
use crate::frame::FrameId;
use crate::link::{Intake, Lanes};
use crate::memory::prefetch;
use crate::port::{Egress, Hold, Taken, Waiting};
use crate::protect::{Guard, ProtectedId, Protection};

/// The ports of a part's switches.
pub(crate) struct Lossy {
    /// By lane; those that others send over are plain.
    ports: Vec<LossyPort>,
    /// Cuts packets to their headers when queues are long.
    trimming: Option<Box<Trimming>>,
    pub(super) protection: Protection,
}

/// What a port is.
enum LossyPort {
    /// First in, first out, without a limit: departures are settled when frames come.
    Plain,
    /// Frames wait in queues, or at least take room.
    Scheduled(Box<Egress>),
    /// The same at an end of a protected link.
    Protected(ProtectedId),
}

impl Lossy {
    /// Plain ports only.
    pub(crate) fn new(lanes: usize, trimming: Option<Trimming>, protection: Protection) -> Self {
        let ports = (0..lanes).map(|_| LossyPort::Plain).collect();
        Self { ports, trimming: trimming.map(Box::new), protection }
    }

    /// Has frames wait before a lane.
    pub(crate) fn schedule(&mut self, lanes: &mut Lanes, lane: LaneId, egress: Egress) {
        lanes.set_intake(lane, if egress.is_immediate() { Intake::Admit } else { Intake::Queue });
        self.ports[lane.index()] = LossyPort::Scheduled(Box::new(egress));
    }

    /// Puts an end of a protected link before the wire of its lane.
    pub(crate) fn protect(&mut self, lanes: &mut Lanes, egress: Egress, guard: Guard) {
        let lane = guard.lane();
        let id = self.protection.add(lanes, egress, guard);
        self.ports[lane.index()] = LossyPort::Protected(id);
    }

    pub(super) fn protected(&self, lane: LaneId) -> Option<ProtectedId> {
        match self.ports[lane.index()] {
            LossyPort::Protected(id) => Some(id),
            LossyPort::Plain | LossyPort::Scheduled(_) => None,
        }
    }

    /// The queues of a port.
    #[inline]
    pub(super) fn egress(&self, lane: LaneId) -> Option<&Egress> {
        match &self.ports[lane.index()] {
            LossyPort::Plain => None,
            LossyPort::Scheduled(egress) => Some(egress),
            LossyPort::Protected(id) => Some(&self.protection.port(*id).egress),
        }
    }

    pub(super) fn trims(&self, lane: LaneId) -> Trims {
        self.trimming.as_ref().map_or(Trims::default(), |trimming| trimming.counts(lane))
    }

    /// A frame comes to a port.
    pub(super) fn on_frame(
        &mut self,
        lanes: &mut Lanes,
        marking: Option<&mut Marking>,
        now: Time,
        lane: LaneId,
        id: FrameId,
    ) {
        let (egress, protected) = match &mut self.ports[lane.index()] {
            LossyPort::Plain => return plain(lanes, marking, now, lane, id),
            LossyPort::Scheduled(egress) => (&mut **egress, None),
            LossyPort::Protected(port) => (&mut self.protection.port_mut(*port).egress, Some(*port)),
        };
        if let Some(trimming) = &mut self.trimming
            && !trimming.on_frame(lanes, egress, now, lane, id)
        {
            return;
        }
        let frame = lanes.frames.get(id);
        let (len, class, ingress) = (frame.len, frame.class(), frame.ingress);
        let busy_until = lanes.busy_until(lane);
        if marking.is_some() || lanes.has_telemetry() {
            let queue = busy_until.since(now) + egress.backlog_of(class);
            if let Some(marking) = marking {
                marking.on_frame(lanes, lane, id, queue);
            }
            lanes.note_queue(lane, id, queue);
        }
        let waiting = Waiting { frame: id, len, ingress, cost: lanes.cost(lane, len) };
        let Some(port) = protected else {
            return match egress.offer(now, waiting, class, busy_until) {
                Taken::Dropped => lanes.drop_frame(now, lane, id),
                Taken::Passed => lanes.transmit(now, lane, id),
                Taken::Queued => arm(lanes, egress, now, lane),
            };
        };
        match egress.admit(now, waiting, class) {
            Taken::Dropped => lanes.drop_frame(now, lane, id),
            Taken::Passed | Taken::Queued => self.pump(lanes, now, lane, port),
        }
    }

    /// A port has fallen free, or a time has come for which it wanted to come back. Whether links have handed something on.
    #[inline]
    pub(super) fn on_free(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) -> bool {
        match &mut self.ports[lane.index()] {
            LossyPort::Plain => false,
            LossyPort::Scheduled(egress) => {
                debug_assert!(lanes.is_free(now, lane), "nothing starts while a frame leaves");
                if let Some(frame) = egress.next(now) {
                    lanes.transmit(now, lane, frame);
                }
                arm(lanes, egress, now, lane);
                false
            }
            LossyPort::Protected(id) => {
                let id = *id;
                self.protection.on_time(lanes, now, id);
                self.pump(lanes, now, lane, id);
                !self.protection.delivered().is_empty()
            }
        }
    }

    /// Holds a class at a port, or lets it go. A plain port cannot wait.
    pub(super) fn on_pause(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, class: u8, hold: Hold) {
        let egress = match &mut self.ports[lane.index()] {
            LossyPort::Plain => return,
            LossyPort::Scheduled(egress) => &mut **egress,
            LossyPort::Protected(id) => &mut self.protection.port_mut(*id).egress,
        };
        egress.pause(class, hold);
        arm(lanes, egress, now, lane);
    }

    /// A frame with a link header has come in by the port that sends over `lane`. To a port without an end it means nothing.
    pub(super) fn on_header(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, frame: FrameId) {
        match self.ports[lane.index()] {
            LossyPort::Protected(id) => {
                self.protection.on_header(lanes, now, id, frame);
                self.pump(lanes, now, lane, id);
            }
            LossyPort::Plain | LossyPort::Scheduled(_) => lanes.throw_away(frame),
        }
    }

    /// A buffered frame comes round in a switch.
    pub(super) fn on_inside(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        while let Some(turned) = self.protection.turn(lanes, now, switch) {
            if let Some(id) = turned.wakes {
                let lane = self.protection.port(id).guard.lane();
                self.pump(lanes, now, lane, id);
            }
        }
        self.protection.arm_loopback(lanes, now, switch);
    }

    /// The time that what waits of a class at a port will take.
    pub(super) fn backlog_of(&self, lane: LaneId, class: u8) -> Span {
        self.egress(lane).map_or(Span::ZERO, |egress| egress.backlog_of(class))
    }

    /// The port of a lane is needed soon, if there is such a lane: where its queues are or, very soon, the queues themselves.
    #[inline]
    pub(super) fn prefetch(&self, lane: usize, is_next: bool) {
        match self.ports.get(lane) {
            Some(port) if !is_next => prefetch(port),
            Some(LossyPort::Scheduled(egress)) => prefetch(&**egress),
            _ => {}
        }
    }

    /// Puts on the wire of a protected port what is next, if it is free, and sees to being called again.
    fn pump(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: ProtectedId) {
        let may_send = lanes.is_free(now, lane);
        self.protection.pump(lanes, now, id, may_send);
    }
}

/// Comes back when the first of the frames that wait may start. A hold that comes later makes that too early
/// once, and never too late.
fn arm(lanes: &mut Lanes, egress: &Egress, now: Time, lane: LaneId) {
    let free_at = lanes.busy_until(lane).max(now);
    if let Some(due) = egress.next_start(free_at) {
        lanes.queue.arm_by(lanes.sources.tx(lane), due);
    }
}

/// A frame comes to a plain port that tells what waits there.
fn plain(lanes: &mut Lanes, marking: Option<&mut Marking>, now: Time, lane: LaneId, id: FrameId) {
    let queue = lanes.leaving(now, lane);
    if let Some(marking) = marking {
        marking.on_frame(lanes, lane, id, queue);
    }
    lanes.note_queue(lane, id, queue);
    lanes.transmit(now, lane, id);
}

#[cfg(test)]
mod tests {
    use wiremend_units::{NodeId, Rate};

    use super::*;
    use crate::event::{Queue, Sources};
    use crate::frame::Frame;
    use crate::network::Lane;
    use crate::port::Schedule;

    const LANE: LaneId = LaneId(0);

    /// One scheduled port of 8 Gbit/s: a nanosecond a byte.
    struct Line {
        lanes: Lanes,
        ports: Lossy,
    }

    impl Line {
        fn new() -> Self {
            let sources = Sources::new(2, 2, 1);
            let mut lanes = Lanes::new(Queue::new(1, sources.count(), Span::from_us(1)), sources, 1);
            let lane = Lane { to: NodeId(0), ingress: 0, rate: Rate::gbps(8), delay: Span::from_us(500) };
            lanes.add(&lane, None);
            lanes.add(&lane, None);
            let mut ports = Lossy::new(2, None, Protection::default());
            ports.schedule(&mut lanes, LANE, Egress::scheduled(Schedule::all_strict(), None));
            Self { lanes, ports }
        }

        fn enqueue(&mut self, now: Time, class: u8) {
            let frame = self.lanes.frames.insert(Frame { len: 980, ..Frame::blank() }.with_class(class));
            self.ports.on_frame(&mut self.lanes, None, now, LANE, frame);
        }

        fn pause(&mut self, now: Time, class: u8, hold: Hold) {
            self.ports.on_pause(&mut self.lanes, now, LANE, class, hold);
        }

        /// Handles what the port wants until `end`; when it wanted something.
        fn run(&mut self, end: Time) -> Vec<u64> {
            let mut times = Vec::new();
            while let Some((now, source)) = self.lanes.queue.pop(end) {
                assert_eq!(source, self.lanes.sources.tx(LANE));
                self.ports.on_free(&mut self.lanes, now, LANE);
                times.push(now.as_ns());
            }
            times
        }
    }

    #[test]
    fn a_port_wakes_by_itself_when_a_pause_is_over() {
        let mut line = Line::new();
        line.pause(Time::ZERO, 3, Hold { from: Time::ZERO, until: Time::from_ns(50_000) });
        line.enqueue(Time::from_ns(10), 3);
        line.enqueue(Time::from_ns(20), 3);
        assert_eq!(line.run(Time::from_ns(100_000)), [50_000, 51_000], "and at no other time");
        assert_eq!(line.lanes.busy_until(LANE), Time::from_ns(52_000));
    }

    #[test]
    fn a_port_wakes_when_it_is_let_go() {
        let mut line = Line::new();
        line.pause(Time::ZERO, 3, Hold { from: Time::ZERO, until: Time::MAX });
        line.enqueue(Time::from_ns(10), 3);
        assert!(line.run(Time::from_ns(30_000)).is_empty());
        let now = Time::from_ns(30_000);
        line.pause(now, 3, Hold { from: now + Hold::NOTICE, until: now });
        assert_eq!(line.run(Time::from_ns(100_000)), [30_000]);
    }

    #[test]
    fn a_pause_can_be_longer_or_shorter_than_first_told() {
        let mut line = Line::new();
        let hold = |from, until| Hold { from: Time::from_ns(from), until: Time::from_ns(until) };
        line.pause(Time::ZERO, 0, hold(0, 10_000));
        line.enqueue(Time::ZERO, 0);
        line.pause(Time::from_ns(5_000), 0, hold(5_001, 40_000));
        assert_eq!(line.run(Time::from_ns(20_000)), [10_000], "once too early");
        line.pause(Time::from_ns(20_000), 0, hold(20_001, 25_000));
        assert_eq!(line.run(Time::from_ns(100_000)), [25_000]);
        assert_eq!(line.lanes.busy_until(LANE), Time::from_ns(26_000));
    }
}
