//! How a frame leaves a node and reaches the next.
//!
//! A lane's frames wait in one ring, in order, from the moment their departure is settled until they arrive; only
//! the first of them is in the event queue. A plain port (first in, first out) settles a departure when a frame is
//! handed to it: one event a hop. Other ports settle it when transmission starts; see [`crate::switch`].

use wiremend_impair::{Fate, Impairments};
use wiremend_measure::Trims;
use wiremend_proto::cc::Feedback;
use wiremend_units::{Bytes, LaneId, NodeId, Rate, Span, Time};

use super::{Intake, Pool, Port, Ring, Wire};
use crate::event::{Queue, Source, Sources};
use crate::frame::{Body, Frame, FrameId, GAP_BYTES, Header, HeaderId, Headers, Store};
use crate::network::{Lane, Notice};
use crate::observe::{Seen, Watch};

/// The lanes of a part, and what is under way on them.
pub(crate) struct Lanes {
    pub(crate) queue: Queue,
    pub(crate) sources: Sources,
    pub(crate) ports: Vec<Port>,
    rates: Vec<Rate>,
    rings: Vec<Ring>,
    pool: Pool,
    pub(crate) frames: Store,
    /// Headers of frames that are on protected links, or have just arrived over one.
    pub(crate) headers: Headers,
    /// Frames that protected links keep only to send them again.
    pub(crate) kept: u64,
    pub(crate) impairments: Vec<Option<Box<Impairments>>>,
    /// By lane: bytes that ports of switches have sent, with preambles and gaps; empty where nobody asks for telemetry.
    sent_bytes: Vec<u64>,
    /// What the frame has brought that a host has in hand.
    pub(crate) feedback: Option<Box<Feedback>>,
    /// What leaves for other parts, by part.
    pub(crate) outbox: Vec<Outbox>,
    /// What hosts have to tell other hosts; handed over after each event.
    pub(crate) notices: Vec<Notice>,
    pub(crate) watch: Watch,
}

/// A frame on its way to another part, and when its last bit is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    lane: LaneId,
    at: Time,
    frame: Frame,
}

/// What one direction of a link counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaneCounters {
    /// Frames that have crossed, corrupted ones included.
    pub tx_frames: u64,
    /// Bytes of these, MAC header to FCS.
    pub tx_bytes: u64,
    /// Frames corrupted.
    pub corrupted: u64,
    /// Frames dropped for want of room before it.
    pub dropped: u64,
    /// Frames marked before it.
    pub marked: u64,
    /// What was trimmed before it.
    pub trims: Trims,
}

/// What leaves for another part.
#[derive(Default)]
pub(crate) struct Outbox {
    frames: Vec<InFlight>,
    pub(crate) notices: Vec<Notice>,
    /// Ends of protected links that are to start: the lane that they send over, and when.
    pub(crate) starts: Vec<(LaneId, Time)>,
    /// Link headers of those frames that have one.
    headers: Headers,
    /// What some of those frames bring to their senders, by their place among the frames.
    feedback: Vec<(usize, Box<Feedback>)>,
}

/// What came of an arrival.
pub(crate) struct Arrived {
    /// None if a frame was only expected.
    pub(crate) frame: Option<FrameId>,
    /// Nothing is left on the lane.
    pub(crate) is_last: bool,
}

impl Lanes {
    pub(crate) fn new(queue: Queue, sources: Sources, parts: usize) -> Self {
        let lanes = sources.lanes();
        Self {
            queue,
            sources,
            ports: Vec::with_capacity(lanes),
            rates: Vec::with_capacity(lanes),
            rings: Vec::with_capacity(lanes),
            pool: Pool::default(),
            frames: Store::default(),
            headers: Headers::default(),
            kept: 0,
            impairments: (0..lanes).map(|_| None).collect(),
            sent_bytes: Vec::new(),
            feedback: None,
            outbox: (0..parts).map(|_| Outbox::default()).collect(),
            notices: Vec::new(),
            watch: Watch::default(),
        }
    }

    /// Adds a lane with a plain port.
    pub(crate) fn add(&mut self, lane: &Lane, to_part: Option<u16>) {
        const PS_BITS: u64 = 8 * 1_000_000_000_000;
        let bits_per_s = lane.rate.bits_per_s();
        let whole =
            PS_BITS.is_multiple_of(bits_per_s).then(|| u32::try_from(PS_BITS / bits_per_s).ok()).flatten();
        let mut wire = Wire::default();
        if to_part.is_some() {
            wire.set(Wire::REMOTE);
        }
        self.rings.push(Ring::new(lane.to, lane.ingress));
        self.rates.push(lane.rate);
        self.ports.push(Port {
            busy_until: Time::ZERO,
            delay: lane.delay,
            dropped: 0,
            ps_per_byte: whole.unwrap_or(0),
            to_part: to_part.unwrap_or(0),
            intake: Intake::Settle,
            wire,
        });
    }

    pub(crate) fn impair(&mut self, lane: LaneId, impairments: Impairments) {
        self.ports[lane.index()].wire.set(Wire::IMPAIRED);
        self.impairments[lane.index()] = Some(Box::new(impairments));
    }

    pub(crate) fn watch(&mut self, lane: LaneId) {
        self.ports[lane.index()].wire.set(Wire::WATCHED);
    }

    /// The switch that sends over a lane tells what it knows of its port.
    pub(crate) fn tell_telemetry(&mut self, lane: LaneId) {
        let port = &mut self.ports[lane.index()];
        port.wire.set(Wire::TELEMETRY);
        // A port that settles at once asks nobody what waits.
        if port.intake == Intake::Settle {
            port.intake = Intake::Admit;
        }
        self.sent_bytes.resize(self.ports.len(), 0);
    }

    /// Whether switches tell what they know of their ports.
    #[inline]
    pub(crate) fn has_telemetry(&self) -> bool {
        !self.sent_bytes.is_empty()
    }

    /// A frame comes to a port of a switch, where so much is before it.
    #[inline]
    pub(crate) fn note_queue(&mut self, lane: LaneId, id: FrameId, queue: Span) {
        if self.has_telemetry()
            && let Some(feedback) = self.frames.feedback_mut(id)
        {
            let rate = self.rates[lane.index()];
            feedback.on_queue(rate.bytes_in(queue), rate);
        }
    }

    pub(crate) fn set_intake(&mut self, lane: LaneId, intake: Intake) {
        self.ports[lane.index()].intake = intake;
    }

    /// The ring of an event's source, if frames arrive by it.
    #[inline]
    pub(crate) fn ring(&self, source: Source) -> Option<&Ring> {
        self.rings.get(source.0 as usize)
    }

    /// What arrives next by a ring is needed soon.
    #[inline]
    pub(crate) fn prefetch_first(&self, ring: &Ring) {
        ring.prefetch(&self.pool, &self.frames);
    }

    /// The node at the end of a lane, and which of its ports that is.
    #[inline]
    pub(crate) fn end(&self, lane: LaneId) -> (NodeId, u16) {
        let ring = &self.rings[lane.index()];
        (ring.to, ring.ingress)
    }

    /// The frame that has just arrived over `lane`, or was expected to.
    #[inline]
    pub(crate) fn take_arrived(&mut self, lane: LaneId) -> Arrived {
        let ring = &mut self.rings[lane.index()];
        if ring.is_empty() {
            return Arrived { frame: None, is_last: true };
        }
        let (arrived, next) = ring.pop(&self.pool);
        ring.frames += 1;
        ring.bytes += u64::from(self.frames.get(arrived).len);
        if let Some(at) = next {
            self.queue.arm(Source(lane.0), at);
        }
        Arrived { frame: Some(arrived), is_last: next.is_none() }
    }

    /// Whether nothing is under way on a lane.
    pub(crate) fn is_idle(&self, lane: LaneId) -> bool {
        self.rings[lane.index()].is_empty()
    }

    /// Comes back when a frame that has left at `end` is at the other end of the lane.
    pub(crate) fn expect_arrival(&mut self, now: Time, lane: LaneId, end: Time) {
        let at = end + self.ports[lane.index()].delay;
        self.queue.arm_by(Source(lane.0), at.max(now));
    }

    /// When the wire of a lane falls free, as far as that is settled.
    #[inline]
    pub(crate) fn busy_until(&self, lane: LaneId) -> Time {
        self.ports[lane.index()].busy_until
    }

    /// Whether nothing leaves over a lane.
    #[inline]
    pub(crate) fn is_free(&self, now: Time, lane: LaneId) -> bool {
        self.busy_until(lane) <= now
    }

    #[inline]
    pub(crate) fn frame_mut(&mut self, id: FrameId) -> &mut Frame {
        self.frames.get_mut(id)
    }

    /// A frame has come to the end of its way.
    #[inline]
    pub(crate) fn consume(&mut self, id: FrameId) -> Frame {
        self.frames.remove(id)
    }

    /// A host sends a frame that it has just made.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, lane: LaneId, frame: Frame) {
        let id = self.frames.insert(frame);
        self.transmit(now, lane, id);
    }

    /// Puts a header before a frame.
    #[inline]
    pub(crate) fn attach_header(&mut self, id: FrameId, header: Header) {
        let frame = self.frames.get_mut(id);
        frame.len += header.added_len() as u16;
        frame.header = self.headers.insert(header);
    }

    /// Takes the header off a frame.
    #[inline]
    pub(crate) fn detach_header(&mut self, id: FrameId) -> Header {
        let frame = self.frames.get_mut(id);
        let header = self.headers.remove(std::mem::replace(&mut frame.header, HeaderId::NONE));
        frame.len -= header.added_len() as u16;
        header
    }

    /// A frame goes that was only for the two ends of a lane, with its header.
    pub(crate) fn throw_away(&mut self, id: FrameId) {
        self.detach_header(id);
        self.frames.remove(id);
    }

    /// Keeps a copy of a frame, to be sent again.
    #[inline]
    pub(crate) fn keep_copy(&mut self, id: FrameId) -> FrameId {
        self.kept += 1;
        self.frames.duplicate(id)
    }

    /// A copy that was kept is no longer needed.
    #[inline]
    pub(crate) fn release_copy(&mut self, id: FrameId) -> Frame {
        self.kept -= 1;
        self.frames.remove(id)
    }

    /// Settles the departure of a frame at a known time, that takes a known time.
    #[inline]
    pub(crate) fn depart(&mut self, start: Time, lane: LaneId, frame: FrameId, cost: Span) {
        let port = &mut self.ports[lane.index()];
        let done = start + cost;
        port.busy_until = done;
        let (at, wire) = (done + port.delay, port.wire);
        if wire.is_plain() {
            self.carry(lane, at, frame);
        } else {
            self.carry_marked(start, lane, at, frame);
        }
    }

    /// Settles a frame's departure: after all that were settled before it on this lane.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, lane: LaneId, frame: FrameId) {
        let len = self.frames.get(frame).len;
        let port = &mut self.ports[lane.index()];
        let start = port.busy_until.max(now);
        let done = start + port.serialize(len, &self.rates, lane);
        port.busy_until = done;
        let (at, wire) = (done + port.delay, port.wire);
        if wire.is_plain() {
            self.carry(lane, at, frame);
        } else {
            self.carry_marked(start, lane, at, frame);
        }
    }

    #[inline]
    fn carry(&mut self, lane: LaneId, at: Time, frame: FrameId) {
        if let Some(at) = self.rings[lane.index()].push(&mut self.pool, at, frame) {
            // An arrival may have been expected already.
            self.queue.rearm(Source(lane.0), at);
        }
    }

    /// The same over lanes that corrupt, are watched, or end in another part.
    fn carry_marked(&mut self, start: Time, lane: LaneId, at: Time, id: FrameId) {
        let port = &self.ports[lane.index()];
        if port.wire.has(Wire::TELEMETRY) {
            let sent = &mut self.sent_bytes[lane.index()];
            *sent += u64::from(self.frames.get(id).len) + GAP_BYTES;
            if let Some(feedback) = self.frames.feedback_mut(id) {
                feedback.on_departure(start, Bytes::new(*sent));
            }
        }
        let frame = self.frames.get(id);
        let mut fate = Fate::Pass;
        if let Some(impairments) = &mut self.impairments[lane.index()] {
            let mut facts = frame.facts();
            if let Some(header) = self.headers.get(frame.header) {
                header.tell(&mut facts);
            }
            fate = impairments.fate(start, &facts);
        }
        if port.wire.has(Wire::WATCHED) {
            let seen = Seen { frame, header: self.headers.get(frame.header) };
            self.watch.on_transmit(start, lane, at, seen, fate);
        }
        if fate == Fate::Corrupt {
            self.frames.get_mut(id).body = Body::Corrupted;
        }
        if port.wire.has(Wire::REMOTE) {
            let outbox = &mut self.outbox[usize::from(port.to_part)];
            if let Some(feedback) = self.frames.detach(id) {
                outbox.feedback.push((outbox.frames.len(), feedback));
            }
            let mut frame = self.frames.remove(id);
            if frame.header != HeaderId::NONE {
                frame.header = outbox.headers.take_over(&mut self.headers, frame.header);
            }
            outbox.frames.push(InFlight { lane, at, frame });
        } else {
            self.carry(lane, at, id);
        }
    }

    /// Takes over the frames that another part has sent.
    pub(crate) fn take_over(&mut self, outbox: &mut Outbox) {
        let mut feedback = outbox.feedback.drain(..).peekable();
        for (place, InFlight { lane, at, mut frame }) in outbox.frames.drain(..).enumerate() {
            if frame.header != HeaderId::NONE {
                frame.header = self.headers.take_over(&mut outbox.headers, frame.header);
            }
            let frame = self.frames.insert(frame);
            if let Some((_, feedback)) = feedback.next_if(|(of, _)| *of == place) {
                self.frames.attach(frame, feedback);
            }
            self.carry(lane, at, frame);
        }
    }

    /// Where to put what the sender over `lane` is to learn, if it belongs to another part.
    pub(crate) fn outbox_of_sender(&mut self, lane: LaneId) -> Option<&mut Outbox> {
        let back = &self.ports[lane.reverse().index()];
        back.wire.has(Wire::REMOTE).then(|| &mut self.outbox[usize::from(back.to_part)])
    }

    /// A frame before a lane goes, so that others can move.
    pub(crate) fn drop_for_remedy(&mut self, now: Time, lane: LaneId, id: FrameId) {
        if self.ports[lane.index()].wire.has(Wire::WATCHED) {
            self.watch.on_drop(now, lane, self.frames.get(id));
        }
        self.frames.remove(id);
    }

    /// There is no room for a frame before a lane.
    pub(crate) fn drop_frame(&mut self, now: Time, lane: LaneId, id: FrameId) {
        self.ports[lane.index()].dropped += 1;
        self.drop_for_remedy(now, lane, id);
    }

    pub(crate) fn rate(&self, lane: LaneId) -> Rate {
        self.rates[lane.index()]
    }

    /// The time that a frame of so many bytes needs of a lane, with preamble and gap.
    #[inline]
    pub(crate) fn cost(&self, lane: LaneId, len: u16) -> Span {
        self.ports[lane.index()].serialize(len, &self.rates, lane)
    }

    /// The time that so many bytes need of a lane.
    #[inline]
    pub(crate) fn time_of(&self, lane: LaneId, bytes: u64) -> Span {
        self.ports[lane.index()].time_of(bytes, self.rates[lane.index()])
    }

    /// The time that what is leaving over a lane still takes.
    #[inline]
    pub(crate) fn leaving(&self, now: Time, lane: LaneId) -> Span {
        self.busy_until(lane).since(now)
    }

    /// What a lane counts by itself.
    pub(crate) fn counters(&self, lane: LaneId) -> LaneCounters {
        let ring = &self.rings[lane.index()];
        LaneCounters {
            tx_frames: ring.frames,
            tx_bytes: ring.bytes,
            corrupted: ring.corrupted,
            dropped: self.ports[lane.index()].dropped,
            ..LaneCounters::default()
        }
    }

    /// A frame that a link has corrupted is seen by its receiver, and by no one else. Its header, if it has one, and how many frames
    /// have come over the lane.
    #[cold]
    pub(crate) fn discard(&mut self, lane: LaneId, id: FrameId) -> (Option<Header>, u64) {
        let ring = &mut self.rings[lane.index()];
        ring.corrupted += 1;
        let frame = self.frames.remove(id);
        let header = (frame.header != HeaderId::NONE).then(|| self.headers.remove(frame.header));
        (header, ring.frames)
    }

    /// Frames under way in this part: on lanes, waiting in ports, or just leaving for another part.
    pub(crate) fn under_way(&self) -> u64 {
        let leaving: usize = self.outbox.iter().map(|outbox| outbox.frames.len()).sum();
        (self.frames.len() + leaving) as u64 - self.kept
    }

    /// Bytes that a lane carries in that time.
    pub(crate) fn bytes_in(&self, lane: LaneId, span: Span) -> Bytes {
        self.rates[lane.index()].bytes_in(span)
    }
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.notices.is_empty() && self.starts.is_empty()
    }
}
