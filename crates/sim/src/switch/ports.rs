//! The ports of switches: the doors that all kinds of them have.
//!
//! A port is plain, scheduled or protected, and in a lossless switch scheduled or protected; which of these is decided when the
//! network is built. A plain port, and a lossless one where nothing waits, settles a frame's departure when it comes.

use wiremend_measure::Trims;
use wiremend_units::{Bytes, LaneId, Span, SwitchId, Time};

use super::{Lossless, Lossy, Marking};
use crate::frame::{Frame, FrameId, Header};
use crate::link::{Intake, LaneCounters, Lanes};
use crate::port::{CLASSES, Egress, Hold};
use crate::protect::{Delivered, Guard, ProtectedId, Protection, Rare};

/// The ports of a part's switches.
pub(crate) struct SwitchPorts {
    /// Marks frames when queues are long.
    marking: Option<Box<Marking>>,
    kind: Kind,
}

/// What came of an event of a port.
pub(crate) struct Freed {
    /// Protected links have handed something on.
    pub(crate) has_delivered: bool,
    /// A port of a lossless switch has looked around, which it does the more often the fewer of its neighbours are in its part.
    pub(crate) is_look: bool,
}

/// All switches of a network are of one kind.
enum Kind {
    /// They drop what they have no room for.
    Lossy(Box<Lossy>),
    /// They stop their neighbours before they run out of memory.
    Lossless(Box<Lossless>),
}

impl SwitchPorts {
    pub(crate) fn lossy(ports: Lossy, marking: Option<Marking>) -> Self {
        Self { marking: marking.map(Box::new), kind: Kind::Lossy(Box::new(ports)) }
    }

    pub(crate) fn lossless(ports: Lossless, marking: Option<Marking>) -> Self {
        Self { marking: marking.map(Box::new), kind: Kind::Lossless(Box::new(ports)) }
    }

    /// Switches that stop their neighbours, if they are such.
    pub(crate) fn as_lossless(&self) -> Option<&Lossless> {
        match &self.kind {
            Kind::Lossless(ports) => Some(ports),
            Kind::Lossy(_) => None,
        }
    }

    /// Hands a frame to the port that sends over `lane`.
    #[inline]
    pub(crate) fn on_frame(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: FrameId) {
        let port = &lanes.ports[lane.index()];
        if port.intake == Intake::Settle {
            if let Some(marking) = &mut self.marking {
                let queue = port.busy_until.since(now);
                marking.on_frame(lanes, lane, id, queue);
            }
            lanes.transmit(now, lane, id);
        } else if port.intake == Intake::SettleIfFree && port.busy_until <= now {
            Self::pass(lanes, now, lane, id);
        } else {
            self.offer(lanes, now, lane, id);
        }
    }

    /// The same for a port of a lossless switch where nothing waits.
    #[inline(never)]
    fn pass(lanes: &mut Lanes, now: Time, lane: LaneId, id: FrameId) {
        lanes.note_queue(lane, id, Span::ZERO);
        lanes.transmit(now, lane, id);
    }

    /// The same where it is for the port's kind to say what becomes of the frame.
    #[inline(never)]
    fn offer(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: FrameId) {
        let marking = self.marking.as_deref_mut();
        match &mut self.kind {
            Kind::Lossy(ports) => ports.on_frame(lanes, marking, now, lane, id),
            Kind::Lossless(ports) => {
                // Memory of the port, its queue and the buffer is far: all three are asked for at once.
                let frame = lanes.frames.get(id);
                ports.prefetch(lane, frame.ingress, frame.class());
                ports.on_frame(lanes, marking, now, lane, id);
            }
        }
    }

    /// Hands a frame that a switch has made to one of its ports.
    pub(crate) fn on_copy(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, frame: Frame) {
        let id = lanes.frames.insert(frame);
        self.on_frame(lanes, now, lane, id);
    }

    /// A port has fallen free, or a time has come for which it wanted to come back.
    #[inline]
    pub(crate) fn on_free(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) -> Freed {
        match &mut self.kind {
            Kind::Lossy(ports) => Freed { has_delivered: ports.on_free(lanes, now, lane), is_look: false },
            Kind::Lossless(ports) => Freed { has_delivered: ports.on_free(lanes, now, lane), is_look: true },
        }
    }

    /// Holds a class at the port that sends over `lane`, or lets it go.
    pub(crate) fn on_pause(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, class: u8, hold: Hold) {
        match &mut self.kind {
            Kind::Lossy(ports) => ports.on_pause(lanes, now, lane, class, hold),
            Kind::Lossless(ports) => ports.on_pause(lanes, now, lane, class, hold),
        }
    }

    /// The last frame on a lane has arrived, or one was expected.
    #[inline]
    pub(crate) fn on_last_arrival(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) {
        if let Kind::Lossless(ports) = &mut self.kind
            && lanes.ports[lane.index()].intake == Intake::Queue
        {
            ports.on_last_arrival(lanes, now, lane);
        }
    }

    /// A frame with a header of its link has come over `lane`: if it is a PFC frame, the holds that the port back has to obey, by class.
    /// A header that the port knows nothing of makes no sense to it.
    pub(crate) fn on_header(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        lane: LaneId,
        id: FrameId,
    ) -> Option<[Option<Hold>; CLASSES]> {
        match (lanes.headers.get(lanes.frames.get(id).header), &mut self.kind) {
            (Some(&Header::Pfc(classes)), Kind::Lossless(ports)) => {
                let holds = ports.on_pfc(now, lane, lanes.rate(lane), classes);
                lanes.throw_away(id);
                return Some(holds);
            }
            (Some(&Header::Probe(probe)), Kind::Lossless(ports)) => {
                lanes.throw_away(id);
                ports.on_probe(lanes, now, lane, probe);
            }
            (Some(Header::Pfc(_) | Header::Probe(_)), Kind::Lossy(_)) => lanes.throw_away(id),
            (_, Kind::Lossy(ports)) => ports.on_header(lanes, now, lane.reverse(), id),
            (_, Kind::Lossless(ports)) => ports.on_header(lanes, now, lane.reverse(), id),
        }
        None
    }

    /// A frame that came over `lane` is corrupted. A protected port may have seen too many of them.
    #[cold]
    pub(crate) fn on_corrupted(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, id: FrameId) {
        let (header, frames) = lanes.discard(lane, id);
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

    /// The end that sends over `lane` learns that it is to start.
    pub(crate) fn on_start(&mut self, lanes: &mut Lanes, lane: LaneId, at: Time) {
        if let Some(end) = self.protected(lane) {
            self.protection_mut().on_start(lanes, end, at);
        }
    }

    /// In a switch a buffered frame comes round, or neighbours are to be told again to wait.
    #[cold]
    pub(crate) fn on_inside(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        match &mut self.kind {
            Kind::Lossy(ports) => ports.on_inside(lanes, now, switch),
            Kind::Lossless(ports) => ports.on_inside(lanes, now, switch),
        }
    }

    /// A port of a switch was told to hold something: those that watch it come back in time.
    pub(crate) fn watch_held(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        if let Kind::Lossless(ports) = &mut self.kind {
            ports.watch_held(lanes, now, switch);
        }
    }

    /// All departures of the past are settled, for whoever looks.
    pub(crate) fn catch_up(&mut self, lanes: &mut Lanes, now: Time) {
        if let Kind::Lossless(ports) = &mut self.kind {
            ports.catch_up_everywhere(lanes, now);
        }
    }

    /// What a packet of that class would wait for at a port, what is just leaving included: bits on the wire, times 10¹². Comparing products
    /// spares a division for each port.
    #[inline]
    pub(crate) fn queued(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, class: u8) -> u128 {
        let waiting = match &mut self.kind {
            _ if lanes.ports[lane.index()].intake != Intake::Queue => Span::ZERO,
            Kind::Lossy(ports) => ports.backlog_of(lane, class),
            Kind::Lossless(ports) => ports.backlog_of(lanes, now, lane, class),
        };
        let leaving = lanes.leaving(now, lane);
        u128::from((leaving + waiting).as_ps()) * u128::from(lanes.rate(lane).bits_per_s())
    }

    /// Bytes that wait for a lane or are leaving over it.
    pub(crate) fn backlog(&self, lanes: &Lanes, now: Time, lane: LaneId) -> Bytes {
        let egress = match &self.kind {
            Kind::Lossy(ports) => ports.egress(lane),
            Kind::Lossless(ports) => ports.egress(lane),
        };
        let queued = egress.map_or(Span::ZERO, Egress::backlog);
        lanes.bytes_in(lane, lanes.leaving(now, lane) + queued)
    }

    /// What a lane counts, and what the port before it does.
    pub(crate) fn counters(&self, lanes: &Lanes, lane: LaneId) -> LaneCounters {
        let marked = self.marking.as_ref().map_or(0, |marking| marking.marked(lane));
        let trims = match &self.kind {
            Kind::Lossy(ports) => ports.trims(lane),
            Kind::Lossless(_) => Trims::default(),
        };
        LaneCounters { marked, trims, ..lanes.counters(lane) }
    }

    /// The end of a protected link that sends over a lane.
    pub(crate) fn guard(&self, lane: LaneId) -> Option<&Guard> {
        let end = self.protected(lane)?;
        Some(&self.protection().port(end).guard)
    }

    /// Has the episodes of losses on a protected lane weighed.
    pub(crate) fn weigh_episodes(&mut self, lane: LaneId) {
        if let Some(far) = self.protected(lane.reverse()) {
            self.protection_mut().weigh(Rare::new(lane, far));
        }
    }

    /// What came of episodes of losses, if they are weighed here.
    pub(crate) fn rare(&self) -> Option<&Rare> {
        self.protection().rare()
    }

    /// What protected links have handed on and nobody has forwarded yet.
    #[inline]
    pub(crate) fn delivered(&mut self) -> &mut Delivered {
        self.protection_mut().delivered()
    }

    /// The port of a lane is needed soon, or very soon. That of a lossless switch mostly has no events of its own.
    #[inline]
    pub(crate) fn prefetch(&self, lane: usize, is_next: bool) {
        if let Kind::Lossy(ports) = &self.kind {
            ports.prefetch(lane, is_next);
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
