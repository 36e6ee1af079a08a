//! Ports of lossy switches, which drop frames when a buffer is full: plain, scheduled, or protected.

mod departures;

use wiremend_measure::Trims;
use wiremend_proto::engine::StateVisitor;
use wiremend_units::{LaneId, Span, SwitchId, Time};

use super::{Marking, Trimming};
use crate::frame::FrameId;
use crate::link::{Intake, Lanes};
use crate::memory::prefetch;
use crate::port::{Egress, OfferOutcome, PauseWindow, QueuedFrame};
use crate::protect::{LinkEnd, ProtectedId, Protection};
use departures::{catch_up, intake_of_idle};

/// The ports of a partition's lossy switches.
pub(crate) struct Lossy {
    /// By lane; lanes of other senders have a plain entry.
    ports: Vec<LossyPort>,
    /// By switch: the scheduled ports with queued frames. Empty if all departures have events.
    occupied: Vec<Vec<LaneId>>,
    /// Whether some ports are scheduled.
    has_queues: bool,
    /// Trims packets when queues are long.
    trimming: Option<Box<Trimming>>,
    pub(super) protection: Protection,
}

enum LossyPort {
    /// First in, first out, without a limit: departures are fixed on arrival.
    Plain,
    /// Frames are queued, or at least occupy a limited buffer.
    Scheduled(Box<Egress>),
    /// A scheduled port at an end of a protected link.
    Protected(ProtectedId),
}

impl Lossy {
    /// `lazy_switches`: the number of switches, if departures need no events.
    pub(crate) fn new(
        lanes: usize,
        lazy_switches: Option<usize>,
        trimming: Option<Trimming>,
        protection: Protection,
    ) -> Self {
        let ports = (0..lanes).map(|_| LossyPort::Plain).collect();
        let occupied = vec![Vec::new(); lazy_switches.unwrap_or(0)];
        Self { ports, occupied, has_queues: false, trimming: trimming.map(Box::new), protection }
    }

    pub(crate) fn schedule(&mut self, lanes: &mut Lanes, lane: LaneId, egress: Egress) {
        let intake = match self.is_lazy() {
            _ if egress.is_immediate() => Intake::Admit,
            true => intake_of_idle(self.trimming.as_deref(), &egress),
            false => Intake::Queue,
        };
        lanes.set_intake(lane, intake);
        self.ports[lane.index()] = LossyPort::Scheduled(Box::new(egress));
        self.has_queues = true;
    }

    /// Visits the state on which the repetition of a pattern depends.
    pub(super) fn visit_state(&mut self, lanes: &mut Lanes, visitor: &mut impl StateVisitor) {
        for port in &mut self.ports {
            match port {
                LossyPort::Plain => {}
                LossyPort::Scheduled(egress) => egress.visit_state(lanes, visitor),
                LossyPort::Protected(_) => visitor.absent(false),
            }
        }
    }

    /// Returns whether no port trims frames or protects a link.
    pub(super) fn only_forward(&self) -> bool {
        self.trimming.is_none() && !self.ports.iter().any(|port| matches!(port, LossyPort::Protected(_)))
    }

    /// Puts the end of a protected link between the queues and the wire of its lane.
    pub(crate) fn protect(
        &mut self,
        lanes: &mut Lanes,
        switch: Option<SwitchId>,
        egress: Egress,
        link_end: LinkEnd,
    ) {
        let lane = link_end.lane();
        let id = self.protection.add(lanes, egress, link_end, switch);
        self.ports[lane.index()] = LossyPort::Protected(id);
    }

    pub(super) fn protected(&self, lane: LaneId) -> Option<ProtectedId> {
        match self.ports[lane.index()] {
            LossyPort::Protected(id) => Some(id),
            LossyPort::Plain | LossyPort::Scheduled(_) => None,
        }
    }

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

    /// Handles a frame that leaves a port immediately.
    #[inline]
    pub(super) fn on_pass(&self, lanes: &mut Lanes, id: FrameId) {
        if let Some(trimming) = &self.trimming {
            trimming.on_pass(lanes.frame_mut(id));
        }
    }

    /// Handles a frame that arrives at a port.
    pub(super) fn on_frame(
        &mut self,
        lanes: &mut Lanes,
        marking: Option<&mut Marking>,
        now: Time,
        lane: LaneId,
        id: FrameId,
        ingress: u16,
    ) {
        let (egress, protected) = match &mut self.ports[lane.index()] {
            LossyPort::Plain => return plain(lanes, marking, now, lane, id),
            LossyPort::Scheduled(egress) => {
                catch_up(lanes, egress, lane);
                (&mut **egress, None)
            }
            LossyPort::Protected(port) => {
                self.protection.catch_up(lanes, *port);
                (&mut self.protection.port_mut(*port).egress, Some(*port))
            }
        };
        if let Some(trimming) = &mut self.trimming
            && !trimming.on_frame(lanes, egress, now, lane, id)
        {
            return;
        }
        let frame = lanes.frames.get(id);
        let (len, class) = (frame.len, frame.class());
        let busy_until = lanes.busy_until(lane);
        if marking.is_some() || lanes.has_telemetry() {
            let queue = busy_until.since(now) + egress.backlog_of(class);
            if let Some(marking) = marking {
                marking.on_frame(lanes, lane, id, queue);
            }
            lanes.record_queue(lane, id, queue);
        }
        let waiting = QueuedFrame::new(id, len, ingress, lanes.frame_time(lane, len));
        let Some(port) = protected else {
            return match egress.offer(now, waiting, class, busy_until) {
                OfferOutcome::Dropped => lanes.drop_frame(now, lane, id),
                OfferOutcome::Passed => lanes.transmit(now, lane, id),
                OfferOutcome::Queued => self.await_departure(lanes, now, lane),
            };
        };
        if self.protection.send_past_queue(lanes, now, port, waiting, class) {
            return;
        }
        match self.protection.port_mut(port).egress.admit(now, waiting, class) {
            OfferOutcome::Dropped => lanes.drop_frame(now, lane, id),
            OfferOutcome::Passed | OfferOutcome::Queued => self.send_next(lanes, now, lane, port),
        }
    }

    /// Handles a port that became free or asked for this event. Returns whether protected links have
    /// delivered frames.
    #[inline]
    pub(super) fn on_free(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) -> bool {
        match &mut self.ports[lane.index()] {
            LossyPort::Plain => false,
            LossyPort::Scheduled(egress) => {
                debug_assert!(lanes.is_free(now, lane), "no frame starts during a transmission");
                if let Some((_, waiting)) = egress.pop(now) {
                    lanes.depart(now, lane, waiting.frame(), (waiting.len(), waiting.wire_time));
                }
                self.await_departure(lanes, now, lane);
                false
            }
            LossyPort::Protected(id) => {
                let id = *id;
                self.protection.catch_up(lanes, id);
                self.protection.on_time(lanes, now, id);
                self.send_next(lanes, now, lane, id);
                !self.protection.delivered().is_empty()
            }
        }
    }

    /// Pauses or resumes a class at a port. A plain port ignores it.
    pub(super) fn on_pause(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        lane: LaneId,
        class: u8,
        window: PauseWindow,
    ) {
        match &mut self.ports[lane.index()] {
            LossyPort::Plain => {}
            LossyPort::Scheduled(egress) => {
                catch_up(lanes, egress, lane);
                egress.pause(class, window);
                self.await_departure(lanes, now, lane);
            }
            LossyPort::Protected(id) => {
                self.protection.catch_up(lanes, *id);
                let egress = &mut self.protection.port_mut(*id).egress;
                egress.pause(class, window);
                arm(lanes, egress, now, lane);
            }
        }
    }

    /// Handles a frame with a link header that came in by the port that sends over `lane`. A port without a
    /// link end discards it. Returns the frame if the switch must forward it next.
    #[inline]
    pub(super) fn on_header(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        lane: LaneId,
        frame: FrameId,
    ) -> Option<FrameId> {
        let LossyPort::Protected(id) = self.ports[lane.index()] else {
            lanes.discard_link_frame(frame);
            return None;
        };
        let delivered = self.protection.on_header(lanes, now, id, frame);
        self.send_next(lanes, now, lane, id);
        delivered
    }

    /// Handles looped frames of a switch that are due, and departures in the rest of the window. Returns
    /// whether there were looped frames: the number of windows depends on the partitions.
    pub(super) fn on_switch_timer(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) -> bool {
        let mut has_looped = false;
        while let Some(stepped) = self.protection.step_loopback(lanes, now, switch) {
            has_looped = true;
            if let Some(id) = stepped.wakes {
                let lane = self.protection.port(id).link_end.lane();
                self.send_next(lanes, now, lane, id);
            }
        }
        self.protection.end_window(lanes, now, switch);
        self.end_window(lanes, now, switch);
        self.protection.arm_loopback(lanes, now, switch);
        has_looped
    }

    /// Returns the transmission time of the queued frames of a class at a port.
    pub(super) fn backlog_of(&mut self, lanes: &mut Lanes, lane: LaneId, class: u8) -> Span {
        match &mut self.ports[lane.index()] {
            LossyPort::Plain => {}
            LossyPort::Scheduled(egress) => catch_up(lanes, egress, lane),
            LossyPort::Protected(id) => self.protection.catch_up(lanes, *id),
        }
        self.egress(lane).map_or(Span::ZERO, |egress| egress.backlog_of(class))
    }

    /// Prefetches the port of a lane, if it exists: first the port, then (`is_next`) its queues.
    #[inline]
    pub(super) fn prefetch(&self, lane: usize, is_next: bool) {
        match self.ports.get(lane) {
            Some(port) if !is_next => prefetch(port),
            Some(LossyPort::Scheduled(egress)) => egress.prefetch(),
            _ => {}
        }
    }

    /// Returns whether some ports are scheduled.
    pub(super) fn has_queues(&self) -> bool {
        self.has_queues
    }

    /// Prefetches the queues of a scheduled port, then (`is_next`) what they refer to.
    #[inline]
    pub(super) fn prefetch_queues(&self, lane: LaneId, is_next: bool) {
        let LossyPort::Scheduled(egress) = &self.ports[lane.index()] else { return };
        if is_next {
            egress.prefetch_queue();
            return;
        }
        egress.prefetch();
        if let Some(trimming) = &self.trimming {
            trimming.prefetch(lane);
        }
    }

    /// Sends the next frame of a protected port if the wire is free, and schedules the next call.
    #[inline]
    fn send_next(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: ProtectedId) {
        let may_send = lanes.is_free(now, lane);
        self.protection.send_next(lanes, now, id, may_send);
    }
}

/// Schedules the start of the next queued frame. A later pause makes that event too early once, and never too
/// late.
fn arm(lanes: &mut Lanes, egress: &Egress, now: Time, lane: LaneId) {
    let free_at = lanes.busy_until(lane).max(now);
    if let Some(due) = egress.next_start(free_at) {
        lanes.queue.arm_by(lanes.sources.port_free(lane), due);
    }
}

/// Handles a frame at a plain port that reports its queue.
fn plain(lanes: &mut Lanes, marking: Option<&mut Marking>, now: Time, lane: LaneId, id: FrameId) {
    let queue = lanes.transmit_left(now, lane);
    if let Some(marking) = marking {
        marking.on_frame(lanes, lane, id, queue);
    }
    lanes.record_queue(lane, id, queue);
    lanes.transmit(now, lane, id);
}

#[cfg(test)]
mod tests {
    use wiremend_units::{NodeId, Rate};

    use super::*;
    use crate::event::{EventQueue, EventSources, NodeWindows};
    use crate::frame::Frame;
    use crate::network::Lane;
    use crate::port::Schedule;

    const LANE: LaneId = LaneId(0);

    /// One scheduled port of 8 Gbit/s: one nanosecond per byte.
    struct TestPort {
        lanes: Lanes,
        ports: Lossy,
    }

    impl TestPort {
        fn new() -> Self {
            let sources = EventSources::new(2, 2, 1, 0);
            let windows =
                NodeWindows { nodes: vec![0; sources.count()], window: None, has_fixed_ties: false };
            let mut lanes = Lanes::new(EventQueue::new(1, windows, Span::from_us(1)), sources, 1);
            let lane = Lane { to: NodeId(0), ingress: 0, rate: Rate::gbps(8), delay: Span::from_us(500) };
            lanes.add(&lane, None);
            lanes.add(&lane, None);
            let mut ports = Lossy::new(2, None, None, Protection::default());
            ports.schedule(&mut lanes, LANE, Egress::scheduled(Schedule::all_strict(), None));
            Self { lanes, ports }
        }

        fn enqueue(&mut self, now: Time, class: u8) {
            let frame = self.lanes.frames.insert(Frame { len: 980, ..Frame::blank() }.with_class(class));
            self.ports.on_frame(&mut self.lanes, None, now, LANE, frame, 0);
        }

        fn pause(&mut self, now: Time, class: u8, window: PauseWindow) {
            self.ports.on_pause(&mut self.lanes, now, LANE, class, window);
        }

        /// Handles the events of the port until `end`. Returns their times.
        fn run(&mut self, end: Time) -> Vec<u64> {
            let mut times = Vec::new();
            while let Some((now, source)) = self.lanes.queue.pop(end) {
                assert_eq!(source, self.lanes.sources.port_free(LANE));
                self.ports.on_free(&mut self.lanes, now, LANE);
                times.push(now.as_ns());
            }
            times
        }
    }

    #[test]
    fn a_port_sends_when_its_pause_ends() {
        let mut port = TestPort::new();
        port.pause(Time::ZERO, 3, PauseWindow { from: Time::ZERO, until: Time::from_ns(50_000) });
        port.enqueue(Time::from_ns(10), 3);
        port.enqueue(Time::from_ns(20), 3);
        assert_eq!(port.run(Time::from_ns(100_000)), [50_000, 51_000], "no other events");
        assert_eq!(port.lanes.busy_until(LANE), Time::from_ns(52_000));
    }

    #[test]
    fn a_port_sends_when_it_is_resumed() {
        let mut port = TestPort::new();
        port.pause(Time::ZERO, 3, PauseWindow { from: Time::ZERO, until: Time::MAX });
        port.enqueue(Time::from_ns(10), 3);
        assert!(port.run(Time::from_ns(30_000)).is_empty());
        let now = Time::from_ns(30_000);
        port.pause(now, 3, PauseWindow { from: now + PauseWindow::MIN_LEAD, until: now });
        assert_eq!(port.run(Time::from_ns(100_000)), [30_000]);
    }

    #[test]
    fn a_pause_can_be_extended_or_shortened() {
        let mut port = TestPort::new();
        let window = |from, until| PauseWindow { from: Time::from_ns(from), until: Time::from_ns(until) };
        port.pause(Time::ZERO, 0, window(0, 10_000));
        port.enqueue(Time::ZERO, 0);
        port.pause(Time::from_ns(5_000), 0, window(5_001, 40_000));
        assert_eq!(port.run(Time::from_ns(20_000)), [10_000], "one early event");
        port.pause(Time::from_ns(20_000), 0, window(20_001, 25_000));
        assert_eq!(port.run(Time::from_ns(100_000)), [25_000]);
        assert_eq!(port.lanes.busy_until(LANE), Time::from_ns(26_000));
    }
}
