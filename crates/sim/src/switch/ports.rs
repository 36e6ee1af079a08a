//! The ports of switches: the interface that all kinds share.
//!
//! A port is plain, scheduled or protected; in a lossless switch it is scheduled or protected. The kind is
//! fixed when the network is built. A plain port, and a lossless port with empty queues, fixes the departure
//! of a frame on arrival.

use wiremend_measure::Trims;
use wiremend_proto::engine::StateVisitor;
use wiremend_units::{Bytes, LaneId, Span, SwitchId, Time};

use super::{Lossless, Lossy, Marking};
use crate::frame::{Frame, FrameId, Header};
use crate::link::{Intake, LaneCounters, Lanes};
use crate::port::{CLASSES, Egress, PauseWindow};
use crate::protect::{DeliveredFrames, LinkEnd, LossEpisodes, ProtectedId, Protection};

/// The ports of a partition's switches.
pub(crate) struct SwitchPorts {
    marking: Option<Box<Marking>>,
    kind: Kind,
}

/// All switches of a network are of one kind.
enum Kind {
    /// They drop frames when a buffer is full.
    Lossy(Box<Lossy>),
    /// They pause their neighbours before a buffer is full.
    Lossless(Box<Lossless>),
}

impl SwitchPorts {
    pub(crate) fn lossy(ports: Lossy, marking: Option<Marking>) -> Self {
        Self { marking: marking.map(Box::new), kind: Kind::Lossy(Box::new(ports)) }
    }

    pub(crate) fn lossless(ports: Lossless, marking: Option<Marking>) -> Self {
        Self { marking: marking.map(Box::new), kind: Kind::Lossless(Box::new(ports)) }
    }

    /// Returns the lossless switches, if the network has them.
    pub(crate) fn as_lossless(&self) -> Option<&Lossless> {
        match &self.kind {
            Kind::Lossless(ports) => Some(ports),
            Kind::Lossy(_) => None,
        }
    }

    /// Visits the state on which the repetition of a pattern depends.
    pub(crate) fn visit_state(&mut self, lanes: &mut Lanes, visitor: &mut impl StateVisitor) {
        match &mut self.kind {
            Kind::Lossy(ports) => ports.visit_state(lanes, visitor),
            Kind::Lossless(_) => visitor.absent(false),
        }
    }

    /// Returns whether switches mark no frames, trim none, pause none and protect no link.
    pub(crate) fn only_forward(&self) -> bool {
        let is_plain = match &self.kind {
            Kind::Lossy(ports) => ports.only_forward(),
            Kind::Lossless(_) => false,
        };
        is_plain && self.marking.is_none()
    }

    /// Hands a frame to the port that sends over `lane`.
    #[inline]
    pub(crate) fn on_frame(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: FrameId, ingress: u16) {
        let port = &lanes.ports[lane.index()];
        if port.intake == Intake::Immediate {
            if let Some(marking) = &mut self.marking {
                let queue = port.busy_until.since(now);
                marking.on_frame(lanes, lane, id, queue);
            }
            lanes.transmit(now, lane, id);
        } else if port.intake == Intake::ImmediateIfFree && port.busy_until <= now {
            self.pass(lanes, now, lane, id);
        } else {
            self.offer(lanes, now, lane, id, ingress);
        }
    }

    /// Handles a frame at a port with empty queues and a free wire.
    #[inline(never)]
    fn pass(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: FrameId) {
        if let Kind::Lossy(ports) = &self.kind {
            ports.on_pass(lanes, id);
        }
        lanes.record_queue(lane, id, Span::ZERO);
        lanes.transmit(now, lane, id);
    }

    /// Handles a frame at a port whose kind decides.
    #[inline(never)]
    fn offer(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: FrameId, ingress: u16) {
        let marking = self.marking.as_deref_mut();
        match &mut self.kind {
            Kind::Lossy(ports) => ports.on_frame(lanes, marking, now, lane, id, ingress),
            Kind::Lossless(ports) => ports.on_frame(lanes, marking, now, lane, id, ingress),
        }
    }

    /// Hands a copy that a switch has made to one of its ports.
    pub(crate) fn on_copy(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, frame: Frame, ingress: u16) {
        let id = lanes.frames.insert(frame);
        self.on_frame(lanes, now, lane, id, ingress);
    }

    /// Handles a port that became free or asked for this event. Returns whether protected links have delivered
    /// frames.
    #[inline]
    pub(crate) fn on_free(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) -> bool {
        match &mut self.kind {
            Kind::Lossy(ports) => ports.on_free(lanes, now, lane),
            Kind::Lossless(ports) => ports.on_free(lanes, now, lane),
        }
    }

    /// Pauses or resumes a class at the port that sends over `lane`.
    pub(crate) fn on_pause(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        lane: LaneId,
        class: u8,
        window: PauseWindow,
    ) {
        match &mut self.kind {
            Kind::Lossy(ports) => ports.on_pause(lanes, now, lane, class, window),
            Kind::Lossless(ports) => ports.on_pause(lanes, now, lane, class, window),
        }
    }

    /// Handles the arrival of the last frame on a lane, or an expected arrival.
    #[inline]
    pub(crate) fn on_last_arrival(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) {
        if let Kind::Lossless(ports) = &mut self.kind
            && lanes.ports[lane.index()].intake == Intake::Queue
        {
            ports.on_last_arrival(lanes, now, lane);
        }
    }

    /// Handles a frame with the header of a protected link that came over `lane`. Returns the frame if the switch must
    /// forward it next.
    #[inline]
    pub(crate) fn on_link_header(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        lane: LaneId,
        id: FrameId,
    ) -> Option<FrameId> {
        match &mut self.kind {
            Kind::Lossy(ports) => ports.on_header(lanes, now, lane.reverse(), id),
            Kind::Lossless(ports) => ports.on_header(lanes, now, lane.reverse(), id),
        }
    }

    /// Handles the header of a frame that came over `lane` if no end of a link takes it. For a PFC frame, returns the
    /// pauses of the port back, by class. Ports discard headers of other protocols. Returns `None` for headers of
    /// protected links; see [`SwitchPorts::on_link_header`].
    pub(crate) fn on_switch_header(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        lane: LaneId,
        id: FrameId,
    ) -> Option<[Option<PauseWindow>; CLASSES]> {
        const NONE: [Option<PauseWindow>; CLASSES] = [None; CLASSES];
        match (lanes.headers.large(id), &mut self.kind) {
            (Some(&Header::Pfc(classes)), Kind::Lossless(ports)) => {
                let link_fails = lanes.next_failure(now, lane);
                let windows = ports.on_pfc(now, lane, lanes.rate(lane), link_fails, classes);
                lanes.discard_link_frame(id);
                Some(windows)
            }
            (Some(&Header::Probe(probe)), Kind::Lossless(ports)) => {
                lanes.discard_link_frame(id);
                ports.on_probe(lanes, now, lane, probe);
                Some(NONE)
            }
            (Some(Header::Pfc(_) | Header::Probe(_)), Kind::Lossy(_)) => {
                lanes.discard_link_frame(id);
                Some(NONE)
            }
            _ => None,
        }
    }

    /// Handles the departures of the port that sends over `lane`, and the control frames that arrive at it, that
    /// come before the event being handled. Only ports of lossy switches let them wait.
    #[inline]
    pub(crate) fn catch_up_port(&mut self, lanes: &mut Lanes, lane: LaneId) {
        if let Kind::Lossy(ports) = &mut self.kind
            && let Some(id) = ports.protected(lane)
        {
            ports.protection.catch_up(lanes, id);
        }
    }

    /// Handles a corrupted frame that came over `lane`. The link end of the port may start its peer's
    /// protection.
    #[cold]
    pub(crate) fn on_corrupted(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: FrameId) {
        let (header, frames) = lanes.discard_corrupted(lane, id);
        let end = self.protected(lane.reverse());
        if let Some(at) = end.and_then(|end| self.protection_mut().on_loss(now, end, frames)) {
            match lanes.outbox_of_sender(lane) {
                Some(outbox) => outbox.starts.push((lane, at)),
                None => self.on_start(lanes, lane, at),
            }
        }
        if let (Some(Header::Pfc(_)), Kind::Lossless(ports)) = (header, &mut self.kind) {
            ports.on_lost_pfc(lane);
        }
    }

    /// Handles the order to start protection at the end that sends over `lane`.
    pub(crate) fn on_start(&mut self, lanes: &mut Lanes, lane: LaneId, at: Time) {
        if let Some(end) = self.protected(lane) {
            self.protection_mut().on_start(lanes, end, at);
        }
    }

    /// Handles looped frames, PFC refreshes and watchdog polls of a switch that are due. Returns whether it
    /// counts as an event.
    #[cold]
    pub(crate) fn on_switch_timer(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) -> bool {
        match &mut self.kind {
            Kind::Lossy(ports) => ports.on_switch_timer(lanes, now, switch),
            Kind::Lossless(ports) => {
                ports.on_switch_timer(lanes, now, switch);
                true
            }
        }
    }

    /// Schedules watchdog and probe polls after a port of a switch was paused.
    pub(crate) fn schedule_pause_checks(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        if let Kind::Lossless(ports) = &mut self.kind {
            ports.schedule_pause_checks(lanes, now, switch);
        }
    }

    /// Computes all past departures.
    pub(crate) fn catch_up(&mut self, lanes: &mut Lanes, now: Time) {
        match &mut self.kind {
            Kind::Lossy(ports) => ports.catch_up_everywhere(lanes, now),
            Kind::Lossless(ports) => ports.catch_up_everywhere(lanes, now),
        }
    }

    /// Returns the queue that a packet of `class` would find at a port, including the frame being sent: bits
    /// on the wire times 10¹². Comparing products avoids a division per port.
    #[inline]
    pub(crate) fn queued(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, class: u8) -> u128 {
        let waiting = match &mut self.kind {
            _ if lanes.ports[lane.index()].intake != Intake::Queue => Span::ZERO,
            Kind::Lossy(ports) => ports.backlog_of(lanes, lane, class),
            Kind::Lossless(ports) => ports.backlog_of(lanes, now, lane, class),
        };
        let leaving = lanes.transmit_left(now, lane);
        u128::from((leaving + waiting).as_ps()) * u128::from(lanes.rate(lane).bits_per_s())
    }

    /// Returns the bytes that are queued for a lane or being sent.
    pub(crate) fn backlog(&self, lanes: &Lanes, now: Time, lane: LaneId) -> Bytes {
        let egress = match &self.kind {
            Kind::Lossy(ports) => ports.egress(lane),
            Kind::Lossless(ports) => ports.egress(lane),
        };
        let queued = egress.map_or(Span::ZERO, Egress::backlog);
        lanes.bytes_in(lane, lanes.transmit_left(now, lane) + queued)
    }

    pub(crate) fn counters(&self, lanes: &Lanes, lane: LaneId) -> LaneCounters {
        let marked = self.marking.as_ref().map_or(0, |marking| marking.marked(lane));
        let trims = match &self.kind {
            Kind::Lossy(ports) => ports.trims(lane),
            Kind::Lossless(_) => Trims::default(),
        };
        LaneCounters { marked, trims, ..lanes.counters(lane) }
    }

    pub(crate) fn link_end(&self, lane: LaneId) -> Option<&LinkEnd> {
        let end = self.protected(lane)?;
        Some(&self.protection().port(end).link_end)
    }

    pub(crate) fn track_loss_episodes(&mut self, lane: LaneId) {
        if let Some(far) = self.protected(lane.reverse()) {
            self.protection_mut().track_loss_episodes(LossEpisodes::new(lane, far));
        }
    }

    /// Returns the recorded loss episodes, if this partition records them.
    pub(crate) fn loss_episodes(&self) -> Option<&LossEpisodes> {
        self.protection().loss_episodes()
    }

    /// Returns the frames that protected links have delivered and that are not yet forwarded.
    #[inline]
    pub(crate) fn delivered(&mut self) -> &mut DeliveredFrames {
        self.protection_mut().delivered()
    }

    /// Prefetches the port of a lane, or its queues. Lossless ports rarely have events of their own.
    #[inline]
    pub(crate) fn prefetch(&self, lane: usize, is_next: bool) {
        if let Kind::Lossy(ports) = &self.kind {
            ports.prefetch(lane, is_next);
        }
    }

    /// Returns whether departures of some ports have no events.
    #[inline]
    pub(crate) fn has_lazy_ports(&self) -> bool {
        matches!(&self.kind, Kind::Lossy(ports) if ports.protection.has_lazy_ports())
    }

    /// Returns whether frames wait in queues of scheduled ports.
    #[inline]
    pub(crate) fn has_queues(&self) -> bool {
        match &self.kind {
            Kind::Lossy(ports) => ports.has_queues(),
            Kind::Lossless(_) => true,
        }
    }

    /// Prefetches the queues of the port of a lane, then (`is_next`) what they refer to.
    #[inline]
    pub(crate) fn prefetch_queues(&self, lane: LaneId, is_next: bool) {
        match &self.kind {
            Kind::Lossy(ports) => ports.prefetch_queues(lane, is_next),
            Kind::Lossless(ports) => ports.prefetch_queues(lane, is_next),
        }
    }

    /// Prefetches what the lazy ports of a switch need when its turn is `ahead` turns away.
    pub(crate) fn prefetch_lazy_ports(&self, lanes: &Lanes, switch: SwitchId, ahead: usize) {
        if let Kind::Lossy(ports) = &self.kind {
            ports.protection.prefetch(lanes, switch, ahead);
        }
    }

    fn protected(&self, lane: LaneId) -> Option<ProtectedId> {
        match &self.kind {
            Kind::Lossy(ports) => ports.protected(lane),
            Kind::Lossless(ports) => ports.protected(lane),
        }
    }

    fn protection(&self) -> &Protection {
        match &self.kind {
            Kind::Lossy(ports) => &ports.protection,
            Kind::Lossless(ports) => &ports.protection,
        }
    }

    #[inline]
    fn protection_mut(&mut self) -> &mut Protection {
        match &mut self.kind {
            Kind::Lossy(ports) => &mut ports.protection,
            Kind::Lossless(ports) => &mut ports.protection,
        }
    }
}
