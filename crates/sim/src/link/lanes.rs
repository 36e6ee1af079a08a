//! The lanes of a partition: they carry frames from one node to the next.
//!
//! The frames of a lane wait in a ring, in order, from the moment their departure time is fixed until they
//! arrive. Only the first of them is in the event queue. A plain port (first in, first out) fixes the
//! departure time when it gets a frame: one event per hop. Other ports fix it when transmission starts; see
//! [`crate::switch`].

mod exchange;
mod failures;
mod kept_frames;
mod repeat_state;

use std::sync::Arc;

use wiremend_impair::{Fate, Impairments};
use wiremend_measure::Trims;
use wiremend_proto::cc::Feedback;
use wiremend_units::{Bytes, LaneId, NodeId, Rate, Span, Time};
use wiremend_wire::MIN_FRAME_BYTES;

pub(crate) use self::kept_frames::KeptCounters;
use self::kept_frames::KeptFrames;
use super::{Intake, LaneRing, Outbox, PoolRing, Port, RingPool, WireFlags};
use crate::event::{EventQueue, EventSource, EventSources};
use crate::frame::{Body, Frame, FrameId, FrameStore, GAP_BYTES, Header, Headers, LossCause, PackedHeader};
use crate::memory::prefetch;
use crate::network::{FailedFrame, Failures, Lane, Notice};
use crate::observe::{Recorder, SentFrame};

/// The lanes of a partition, and the frames in flight on them.
pub(crate) struct Lanes {
    pub(crate) queue: EventQueue,
    pub(crate) sources: EventSources,
    pub(crate) ports: Vec<Port>,
    /// By lane: frames dropped because the buffer was full.
    dropped: Vec<u64>,
    pub(super) rates: Vec<Rate>,
    pub(super) rings: Vec<LaneRing>,
    pub(super) pool: RingPool<FrameId>,
    /// By lane: control frames that have no events. Empty without such lanes.
    pub(super) control_rings: Vec<PoolRing>,
    pub(super) control_pool: RingPool<PackedHeader>,
    pub(crate) frames: FrameStore,
    /// Headers of frames that are on protected links or have just arrived over one.
    pub(crate) headers: Headers,
    /// Number of frames that protected links keep only for retransmission.
    pub(crate) kept_copies: u64,
    /// Number of frames in flight that are not in the store.
    pub(super) controls: u64,
    /// Number of control frames that arrived without an event.
    pub(crate) lazy_arrivals: u64,
    pub(crate) impairments: Vec<Option<Box<Impairments>>>,
    /// Links that fail at times.
    failures: Option<Arc<Failures>>,
    /// By lane: frames lost because the link had failed. Empty without failures.
    failed: Vec<u64>,
    /// Frames that ports keep for other paths, and how many they have sent.
    kept: KeptFrames,
    /// Such frames of connections since the last collection.
    pub(crate) failed_frames: Vec<FailedFrame>,
    /// Number of frames whose fate the impairments of a lane decided one by one.
    draws: u64,
    /// By lane: bytes that switch ports have sent, with preambles and gaps. Empty without telemetry.
    sent_bytes: Vec<u64>,
    /// Feedback of the frame that a host is processing.
    pub(crate) feedback: Option<Box<Feedback>>,
    /// Outboxes to other partitions, by partition.
    pub(crate) outbox: Vec<Outbox>,
    /// Notices from hosts; delivered after each event.
    pub(crate) notices: Vec<Notice>,
    pub(crate) recorder: Recorder,
}

/// Counters of one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaneCounters {
    /// Frames carried, including corrupted ones.
    pub tx_frames: u64,
    /// Bytes of these frames, MAC header to FCS.
    pub tx_bytes: u64,
    /// Frames corrupted.
    pub corrupted: u64,
    /// Frames lost because the link had failed.
    pub failed: u64,
    /// Frames that its port dropped because the buffer was full.
    pub dropped: u64,
    /// Frames that its port marked.
    pub marked: u64,
    /// Frames that its port trimmed.
    pub trims: Trims,
}

/// Result of an arrival event.
pub(crate) struct Arrival {
    /// `None` if no frame was in flight; see [`Lanes::expect_arrival`].
    pub(crate) frame: Option<FrameId>,
    /// Whether no frame is left on the lane.
    pub(crate) is_last: bool,
}

impl Lanes {
    pub(crate) fn new(queue: EventQueue, sources: EventSources, partitions: usize) -> Self {
        let lanes = sources.lanes();
        Self {
            queue,
            sources,
            ports: Vec::with_capacity(lanes),
            dropped: vec![0; lanes],
            rates: Vec::with_capacity(lanes),
            rings: Vec::with_capacity(lanes),
            pool: RingPool::default(),
            control_rings: Vec::new(),
            control_pool: RingPool::default(),
            frames: FrameStore::default(),
            headers: Headers::default(),
            kept_copies: 0,
            controls: 0,
            lazy_arrivals: 0,
            impairments: (0..lanes).map(|_| None).collect(),
            failures: None,
            failed: Vec::new(),
            kept: KeptFrames::default(),
            failed_frames: Vec::new(),
            draws: 0,
            sent_bytes: Vec::new(),
            feedback: None,
            outbox: (0..partitions).map(|_| Outbox::default()).collect(),
            notices: Vec::new(),
            recorder: Recorder::default(),
        }
    }

    /// Adds a lane with a plain port.
    pub(crate) fn add(&mut self, lane: &Lane, to_partition: Option<u16>) {
        const PS_BITS: u64 = 8 * 1_000_000_000_000;
        let bits_per_s = lane.rate.bits_per_s();
        let whole =
            PS_BITS.is_multiple_of(bits_per_s).then(|| u32::try_from(PS_BITS / bits_per_s).ok()).flatten();
        let mut flags = WireFlags::default();
        if to_partition.is_some() {
            flags.set(WireFlags::REMOTE);
        }
        self.rings.push(LaneRing::new(lane.to, lane.ingress));
        self.rates.push(lane.rate);
        self.ports.push(Port {
            busy_until: Time::ZERO,
            delay: lane.delay,
            clean: 0,
            ps_per_byte: whole.unwrap_or(0),
            to_partition: to_partition.unwrap_or(0),
            intake: Intake::Immediate,
            flags,
        });
    }

    pub(crate) fn impair(&mut self, lane: LaneId, impairments: Impairments) {
        let flags = &mut self.ports[lane.index()].flags;
        flags.set(WireFlags::IMPAIRED);
        if impairments.counts_bits() {
            flags.set(WireFlags::BIT_ERRORS);
        }
        self.impairments[lane.index()] = Some(Box::new(impairments));
    }

    pub(crate) fn record(&mut self, lane: LaneId) {
        self.ports[lane.index()].flags.set(WireFlags::RECORDED);
    }

    /// Enables telemetry of the switch port that sends over a lane.
    pub(crate) fn enable_telemetry(&mut self, lane: LaneId) {
        let port = &mut self.ports[lane.index()];
        port.flags.set(WireFlags::TELEMETRY);
        // A port that fixes departures immediately does not look at its queue.
        if port.intake == Intake::Immediate {
            port.intake = Intake::Admit;
        }
        self.sent_bytes.resize(self.ports.len(), 0);
    }

    /// Returns whether switches send telemetry.
    #[inline]
    pub(crate) fn has_telemetry(&self) -> bool {
        !self.sent_bytes.is_empty()
    }

    /// Adds the queue that a frame finds at a switch port to the frame's feedback.
    #[inline]
    pub(crate) fn record_queue(&mut self, lane: LaneId, id: FrameId, queue: Span) {
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

    /// Returns the ring of an event source, if it is a lane.
    #[inline]
    pub(crate) fn ring(&self, source: EventSource) -> Option<&LaneRing> {
        self.rings.get(source.0 as usize)
    }

    /// Prefetches what is needed to send over a lane: first its port and ring, then (`is_next`) the place of the next
    /// frame.
    #[inline]
    pub(crate) fn prefetch_port(&self, lane: LaneId, is_next: bool) {
        let ring = &self.rings[lane.index()];
        if is_next {
            ring.prefetch_end(&self.pool);
        } else {
            prefetch(&self.ports[lane.index()]);
            prefetch(ring);
            self.queue.prefetch(EventSource(lane.0));
        }
    }

    /// Prefetches the frame that arrives next on a ring.
    #[inline]
    pub(crate) fn prefetch_first(&self, ring: &LaneRing) {
        ring.prefetch(&self.pool, &self.frames, &self.headers);
    }

    /// Returns the receiving node of a lane, and its ingress port.
    #[inline]
    pub(crate) fn receiver(&self, lane: LaneId) -> (NodeId, u16) {
        let ring = &self.rings[lane.index()];
        (ring.to, ring.ingress)
    }

    /// Removes the frame that has just arrived over `lane`.
    #[inline]
    pub(crate) fn take_arrival(&mut self, lane: LaneId) -> Arrival {
        let ring = &mut self.rings[lane.index()];
        if ring.is_empty() {
            return Arrival { frame: None, is_last: true };
        }
        let (arrived, next) = ring.pop(&self.pool);
        ring.frames += 1;
        ring.bytes += u64::from(self.frames.get(arrived).len);
        if let Some(at) = next {
            ring.prefetch_two(&self.pool, &self.frames, &self.headers);
            self.queue.arm(EventSource(lane.0), at);
        }
        Arrival { frame: Some(arrived), is_last: next.is_none() }
    }

    /// Returns whether no frame is in flight on a lane.
    pub(crate) fn is_idle(&self, lane: LaneId) -> bool {
        self.rings[lane.index()].is_empty()
    }

    /// Schedules an arrival event for a frame that will have left at `end`.
    pub(crate) fn expect_arrival(&mut self, now: Time, lane: LaneId, end: Time) {
        let at = end + self.ports[lane.index()].delay;
        self.queue.arm_by(EventSource(lane.0), at.max(now));
    }

    /// Returns when the wire of a lane becomes free, as far as departures are fixed.
    #[inline]
    pub(crate) fn busy_until(&self, lane: LaneId) -> Time {
        self.ports[lane.index()].busy_until
    }

    #[inline]
    pub(crate) fn is_free(&self, now: Time, lane: LaneId) -> bool {
        self.busy_until(lane) <= now
    }

    #[inline]
    pub(crate) fn frame_mut(&mut self, id: FrameId) -> &mut Frame {
        self.frames.get_mut(id)
    }

    /// Removes a frame at its destination.
    #[inline]
    pub(crate) fn consume(&mut self, id: FrameId) -> Frame {
        self.frames.remove(id)
    }

    /// Sends a frame that a host has just made.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, lane: LaneId, frame: Frame) {
        let id = self.frames.insert(frame);
        self.transmit(now, lane, id);
    }

    #[inline]
    pub(crate) fn attach_header(&mut self, id: FrameId, header: Header) {
        let frame = self.frames.get_mut(id);
        frame.len += header.added_len() as u16;
        frame.has_header = true;
        self.headers.insert(id, header);
    }

    #[inline]
    pub(crate) fn detach_header(&mut self, id: FrameId) -> Header {
        let header = self.headers.remove(id);
        let frame = self.frames.get_mut(id);
        frame.has_header = false;
        frame.len -= header.added_len() as u16;
        header
    }

    /// Removes a control frame of a link, with its header.
    pub(crate) fn discard_link_frame(&mut self, id: FrameId) {
        self.headers.detach(id);
        self.detach_header(id);
        self.frames.remove(id);
    }

    #[inline]
    pub(crate) fn keep_copy(&mut self, id: FrameId) -> FrameId {
        self.kept_copies += 1;
        self.frames.duplicate(id)
    }

    #[inline]
    pub(crate) fn release_copy(&mut self, id: FrameId) -> Frame {
        self.kept_copies -= 1;
        self.frames.remove(id)
    }

    /// Fixes the departure of a frame at a known start time. `cost`: its length and transmission time.
    #[inline]
    pub(crate) fn depart(&mut self, start: Time, lane: LaneId, frame: FrameId, (len, cost): (u16, Span)) {
        let port = &mut self.ports[lane.index()];
        let done = start + cost;
        port.busy_until = done;
        let at = done + port.delay;
        if port.certainly_passes(len) {
            self.carry(lane, at, frame);
        } else {
            self.carry_flagged(start, lane, at, frame);
        }
    }

    /// Fixes the departure of a frame, behind all frames whose departure is fixed.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, lane: LaneId, frame: FrameId) {
        let len = self.frames.get(frame).len;
        let port = &mut self.ports[lane.index()];
        let start = port.busy_until.max(now);
        let done = start + port.serialize(len, &self.rates, lane);
        port.busy_until = done;
        let at = done + port.delay;
        if port.certainly_passes(len) {
            self.carry(lane, at, frame);
        } else {
            self.carry_flagged(start, lane, at, frame);
        }
    }

    /// Sends a dummy or an ACK of a protected link. It enters the store only where someone looks at it. Returns when it
    /// has left.
    #[inline]
    pub(crate) fn transmit_control(&mut self, now: Time, lane: LaneId, header: PackedHeader) -> Time {
        let start = self.busy_until(lane).max(now);
        if let Some(mut exchange) = self.control_exchange(lane)
            && exchange.send(start, header)
        {
            return exchange.busy_until();
        }
        let port = &mut self.ports[lane.index()];
        let done = start + port.serialize(MIN_FRAME_BYTES as u16, &self.rates, lane);
        port.busy_until = done;
        let at = done + port.delay;
        let frame = self.store_control(header);
        self.carry_flagged(start, lane, at, frame);
        done
    }

    /// Moves a dummy or an ACK to the store.
    pub(crate) fn store_control(&mut self, header: PackedHeader) -> FrameId {
        let frame = self.frames.insert(Frame { has_header: true, ..Frame::link_frame() });
        self.headers.insert_packed(frame, header);
        frame
    }

    #[inline]
    fn carry(&mut self, lane: LaneId, at: Time, frame: FrameId) {
        let ring = &mut self.rings[lane.index()];
        if ring.is_lazy {
            self.carry_stored(lane, at, frame);
        } else if let Some(at) = ring.push(&mut self.pool, at, frame) {
            // An arrival event may already be scheduled.
            self.queue.rearm(EventSource(lane.0), at);
        }
    }

    /// Carries a frame over a lane that is impaired or recorded, sends telemetry, or ends in another
    /// partition.
    fn carry_flagged(&mut self, start: Time, lane: LaneId, at: Time, id: FrameId) {
        let port = &mut self.ports[lane.index()];
        if port.is_remote() && port.certainly_crosses(self.frames.get(id).len) {
            self.hand_over(lane, at, id);
            return;
        }
        if port.flags.has(WireFlags::TELEMETRY) {
            let sent = &mut self.sent_bytes[lane.index()];
            *sent += u64::from(self.frames.get(id).len) + GAP_BYTES;
            if let Some(feedback) = self.frames.feedback_mut(id) {
                feedback.on_departure(start, Bytes::new(*sent));
            }
        }
        let mut lost = self.loss(start, lane, at, id);
        if matches!(lost, Some(LossCause::Failure { .. })) && self.keep_failed(start, lane, at, id) {
            lost = Some(LossCause::Kept);
        }
        let (port, frame) = (&self.ports[lane.index()], self.frames.get(id));
        if port.flags.has(WireFlags::RECORDED) {
            let header = frame.has_header.then(|| self.headers.get(id));
            let done = Time::from_ps(at.as_ps() - port.delay.as_ps());
            let sent = SentFrame { frame, header: header.as_ref(), done };
            self.recorder.on_transmit(start, lane, at, sent, lost);
        }
        if let Some(cause) = lost {
            self.frames.get_mut(id).body = Body::Lost(cause);
        }
        if port.is_remote() {
            self.hand_over(lane, at, id);
        } else {
            self.carry(lane, at, id);
        }
    }

    /// Returns why the link loses a frame that arrives at `at`, if it does.
    #[inline]
    fn loss(&mut self, start: Time, lane: LaneId, at: Time, id: FrameId) -> Option<LossCause> {
        let flags = self.ports[lane.index()].flags;
        if flags.has(WireFlags::FAILS)
            && let Some(cause) = self.failure(start, lane, at, id)
        {
            return Some(cause);
        }
        let is_corrupt = flags.has(WireFlags::IMPAIRED) && self.fate(start, lane, id) == Fate::Corrupt;
        is_corrupt.then_some(LossCause::Corruption)
    }

    /// Returns the fate of the next frame of an impaired lane.
    #[inline]
    fn fate(&mut self, start: Time, lane: LaneId, id: FrameId) -> Fate {
        let port = &mut self.ports[lane.index()];
        let trials =
            if port.flags.has(WireFlags::BIT_ERRORS) { u64::from(self.frames.get(id).len) * 8 } else { 1 };
        if port.clean >= trials {
            port.clean -= trials;
            return Fate::Pass;
        }
        self.draw_fate(start, lane, id)
    }

    #[inline(never)]
    fn draw_fate(&mut self, start: Time, lane: LaneId, id: FrameId) -> Fate {
        self.draws += 1;
        let Some(impairments) = &mut self.impairments[lane.index()] else { return Fate::Pass };
        let frame = self.frames.get(id);
        let mut facts = frame.facts();
        if frame.has_header {
            self.headers.get(id).add_facts(&mut facts);
        }
        let clean = &mut self.ports[lane.index()].clean;
        impairments.return_clean(std::mem::take(clean));
        let fate = impairments.fate(start, &facts);
        *clean = impairments.lend_clean();
        fate
    }

    /// Drops a frame from a queue to resolve a deadlock.
    pub(crate) fn drop_for_remedy(&mut self, now: Time, lane: LaneId, id: FrameId) {
        if self.ports[lane.index()].flags.has(WireFlags::RECORDED) {
            self.recorder.on_drop(now, lane, self.frames.get(id));
        }
        self.frames.remove(id);
    }

    /// Drops a frame because the buffer before a lane is full.
    pub(crate) fn drop_frame(&mut self, now: Time, lane: LaneId, id: FrameId) {
        self.dropped[lane.index()] += 1;
        self.drop_for_remedy(now, lane, id);
    }

    pub(crate) fn rate(&self, lane: LaneId) -> Rate {
        self.rates[lane.index()]
    }

    /// Returns the transmission time of a frame on a lane, with preamble and gap.
    #[inline]
    pub(crate) fn frame_time(&self, lane: LaneId, len: u16) -> Span {
        self.ports[lane.index()].serialize(len, &self.rates, lane)
    }

    /// Returns the transmission time of `bytes` on a lane.
    #[inline]
    pub(crate) fn wire_time(&self, lane: LaneId, bytes: u64) -> Span {
        self.ports[lane.index()].wire_time(bytes, self.rates[lane.index()])
    }

    /// Returns the remaining time of the transmission in progress.
    #[inline]
    pub(crate) fn transmit_left(&self, now: Time, lane: LaneId) -> Span {
        self.busy_until(lane).since(now)
    }

    /// Returns the counters of a lane, without those of its port.
    pub(crate) fn counters(&self, lane: LaneId) -> LaneCounters {
        let ring = &self.rings[lane.index()];
        LaneCounters {
            tx_frames: ring.frames,
            tx_bytes: ring.bytes,
            corrupted: ring.corrupted,
            failed: self.failed.get(lane.index()).copied().unwrap_or(0),
            dropped: self.dropped[lane.index()],
            ..LaneCounters::default()
        }
    }

    /// Discards a corrupted frame at the receiver. Returns its link header, and the number of frames that the
    /// lane has carried.
    #[cold]
    pub(crate) fn discard_corrupted(&mut self, lane: LaneId, id: FrameId) -> (Option<Header>, u64) {
        let ring = &mut self.rings[lane.index()];
        ring.corrupted += 1;
        let header = self.frames.get(id).has_header.then(|| self.headers.remove(id));
        self.headers.detach(id);
        self.frames.remove(id);
        (header, self.rings[lane.index()].frames)
    }

    /// Returns the number of frames in flight: on lanes, in queues, or in outboxes.
    pub(crate) fn in_flight(&self) -> u64 {
        let leaving: usize = self.outbox.iter().map(Outbox::len).sum();
        (self.frames.len() + leaving) as u64 + self.controls - self.kept_copies
    }

    pub(crate) fn bytes_in(&self, lane: LaneId, span: Span) -> Bytes {
        self.rates[lane.index()].bytes_in(span)
    }
}
