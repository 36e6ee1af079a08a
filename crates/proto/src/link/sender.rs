//! The sender: numbers leaving frames, keeps copies until they are acknowledged, and retransmits on request.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use wiremend_units::{Bytes, Rate, Span, Time};

use super::fingerprint::Fingerprint;
use super::outbox::Outbox;
use super::protection_level::{LossMonitor, ProtectionLevel};
use super::response_time::ResponseTime;
use super::ring::Ring;
use super::timing::{PROBES_MAX, Timing};
use super::{Ack, Config, DataHeader, LinkHeader, Missing, QueueHead, Seq};

#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Sender<F, const BITS: u32> {
    /// All positions before are settled at the receiver.
    acked: u64,
    next: u64,
    window: u64,
    /// When a pause ends by itself; `Time::MAX` without pause.
    paused_until: Time,
    probe: Probe,
    dummies_owed: u8,
    dummies_max: u8,
    epoch: u8,
    slots: Ring<Slot<F>>,
    kept_bytes: u64,
    room_bytes: u64,
    /// Copies before this position are released if the receiver has reported their arrival.
    released_upto: u64,
    /// The frame that was polled and not yet confirmed by [`Sender::on_sent`].
    in_transmission: Option<QueueHead>,
    /// For the frame released last, if it was retransmitted: time of the last copy and number of requests.
    last_response: Option<(Time, u8)>,
    /// Positions with copies due. Entries may have been released since.
    retransmit_queue: VecDeque<u64>,
    monitor: LossMonitor,
    timing: Timing,
    /// Those of missed frames are valid.
    requests: Ring<Request>,
    /// When the share for retransmissions has paid for all requested copies.
    copies_paid_at: Time,
    share: Rate,
    /// Time from the last copy of a frame to its acknowledgement.
    response_time: ResponseTime,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<F> {
    /// The host's copy, if it made one.
    frame: Option<F>,
    len: u32,
    /// Whether the frame occupies the buffer.
    is_kept: bool,
    ordered: bool,
    /// The receiver has requested it; see [`Request`].
    missed: bool,
}

/// The copies of a frame that the receiver has requested. Most frames have none.
#[derive(Clone, Copy, Default, Debug)]
struct Request {
    copies_due: u8,
    /// Requests that led to copies.
    rounds: u8,
    resent_at: Time,
}

// Not derived: a derive would require `F: Default`.
impl<F> Default for Slot<F> {
    fn default() -> Self {
        Self { frame: None, len: 0, is_kept: false, ordered: false, missed: false }
    }
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    /// When to send a probe; `Time::MAX` while all is settled.
    at: Time,
    count: u8,
    due: bool,
    since: Time,
}

/// Slots in one cache line, if handles have four bytes.
const SLOTS_PER_LINE: u64 = 4;

impl Probe {
    const NONE: Self = Self { at: Time::MAX, count: 0, due: false, since: Time::ZERO };
}

impl<F: Copy, const BITS: u32> Sender<F, BITS> {
    /// Nearly every frame needs the fields up to here.
    pub(super) const HOT_BYTES: usize = std::mem::offset_of!(Self, timing) + Timing::HOT_BYTES;

    pub(super) fn new(config: &Config) -> Self {
        Self {
            timing: Timing::new(config, Span::ZERO),
            room_bytes: config.tx_bytes_max.get(),
            dummies_max: config.dummies,
            share: config.resend_rate(),
            epoch: 0,
            acked: 0,
            next: 0,
            released_upto: 0,
            window: 0,
            slots: Ring::default(),
            requests: Ring::default(),
            kept_bytes: 0,
            retransmit_queue: VecDeque::new(),
            copies_paid_at: Time::ZERO,
            dummies_owed: 0,
            probe: Probe::NONE,
            paused_until: Time::MAX,
            response_time: ResponseTime::default(),
            last_response: None,
            in_transmission: None,
            monitor: LossMonitor::new(config),
        }
    }

    /// `measured`: round trip of the handshake.
    pub(super) fn start(&mut self, epoch: u32, timing: Timing, measured: Option<Span>) {
        debug_assert!(self.is_drained(), "kept copies are released before a start");
        (self.acked, self.next, self.released_upto) = (0, 0, 0);
        self.epoch = epoch_bits(epoch);
        self.window = timing.window.min(u64::from(Seq::<BITS>::WINDOW_MAX));
        self.copies_paid_at = Time::ZERO;
        self.dummies_owed = 0;
        self.timing = timing;
        self.response_time = ResponseTime::default();
        if let Some(measured) = measured {
            self.response_time.add(measured);
        }
        self.monitor.start();
    }

    /// Releases all copies: the other end is gone or has given up the rest.
    pub(super) fn release_all(&mut self, out: &mut Outbox<F>) {
        out.counters.abandoned += self.next - self.acked;
        self.release_before(self.next, out);
        self.retransmit_queue.clear();
        self.probe = Probe::NONE;
        self.paused_until = Time::MAX;
        self.dummies_owed = 0;
        self.in_transmission = None;
        self.last_response = None;
    }

    pub(super) fn epoch(&self) -> u8 {
        self.epoch
    }

    pub(super) fn next_number(&self) -> u32 {
        Seq::<BITS>::from_position(self.next).get()
    }

    pub(super) fn protection_level(&self) -> ProtectionLevel {
        self.monitor.protection_level()
    }

    pub(super) fn loss(&self) -> Option<super::LossRate> {
        self.monitor.loss()
    }

    pub(super) fn copies(&self) -> u8 {
        self.monitor.copies()
    }

    pub(super) fn set_target(&mut self, target: super::LossRate, copies: super::CopyCount) {
        self.monitor.set_target(target, copies);
    }

    /// Maximum wait for ACKs before protection ends without them.
    pub(super) fn drain_max(&self) -> Span {
        self.timing.drain_max
    }

    pub(super) fn is_drained(&self) -> bool {
        self.acked == self.next
    }

    /// Positions that were sent and are not acknowledged.
    #[inline]
    pub(super) fn unacked(&self) -> Range<u64> {
        self.acked..self.next
    }

    /// Whether a normal frame may leave.
    pub(super) fn is_open(&self, now: Time) -> bool {
        self.next - self.acked < self.window && (self.paused_until == Time::MAX || self.paused_until <= now)
    }

    /// Returns the header of the normal frame that leaves.
    #[expect(clippy::inline_always, reason = "the header is packed at once instead of going through memory")]
    #[inline(always)]
    pub(super) fn next_header(&mut self, head: QueueHead, ack: Option<Ack>) -> DataHeader {
        assert!(self.in_transmission.is_none(), "a polled frame is reported as sent before the next poll");
        let ordered = head.ordered && self.monitor.protection_level() == ProtectionLevel::Ordered;
        self.in_transmission = Some(QueueHead { ordered, ..head });
        DataHeader { epoch: self.epoch, seq: self.next_number(), ordered, retransmitted: false, ack }
    }

    /// The polled frame has left; `copy` is the host's. True: the protection level has changed.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, copy: Option<F>, out: &mut Outbox<F>) -> bool {
        let Some(head) = self.in_transmission.take() else {
            out.release(copy);
            return false;
        };
        let len = head.len.get();
        if self.is_drained() {
            self.probe = Probe { at: now + self.timing.probe, ..Probe::NONE };
        }
        self.slots.make_room(self.acked, self.next, self.next + 1);
        let room = self.kept_bytes + len <= self.room_bytes;
        self.slots[self.next] = Slot {
            frame: if room { copy } else { None },
            len: len as u32,
            is_kept: room,
            ordered: head.ordered,
            missed: false,
        };
        self.next += 1;
        self.dummies_owed = self.dummies_max;
        out.counters.protected += 1;
        if room {
            self.kept_bytes += len;
            out.counters.tx_bytes = self.kept_bytes;
            out.counters.tx_bytes_max = out.counters.tx_bytes_max.max(self.kept_bytes);
        } else {
            // The frame leaves without a copy instead of waiting: the operator chose the buffer size, and
            // delay would be worse.
            out.counters.unbuffered += 1;
            out.release(copy);
        }
        self.monitor.on_sent()
    }

    /// Returns a copy that is due. Copies of several frames alternate, so that a burst does not hit all
    /// copies of one.
    pub(super) fn poll_retransmission(
        &mut self,
        now: Time,
        ack: impl FnOnce() -> Option<Ack>,
        out: &mut Outbox<F>,
    ) -> Option<(LinkHeader, F)> {
        while let Some(position) = self.retransmit_queue.pop_front() {
            if position < self.acked {
                continue;
            }
            let (slot, request) = (&self.slots[position], &mut self.requests[position]);
            let Some(frame) = slot.frame.filter(|_| request.copies_due > 0) else { continue };
            request.copies_due -= 1;
            request.resent_at = now;
            if request.copies_due > 0 {
                self.retransmit_queue.push_back(position);
            }
            out.counters.resent += 1;
            let seq = Seq::<BITS>::from_position(position).get();
            let signal = LinkHeader::Data {
                epoch: self.epoch,
                seq,
                ordered: slot.ordered,
                retransmitted: true,
                ack: ack(),
            };
            return Some((signal, frame));
        }
        None
    }

    /// Whether copies may be due; released ones count.
    #[inline]
    pub(super) fn is_retransmission_due(&self) -> bool {
        !self.retransmit_queue.is_empty()
    }

    /// Sends a probe to a receiver from which nothing is awaited.
    pub(super) fn probe_idle(&mut self, now: Time) {
        if self.is_drained() && self.probe.at == Time::MAX {
            self.probe = Probe { at: now + self.timing.probe, due: true, ..Probe::NONE };
        }
    }

    /// Whether a probe must leave before all other frames.
    pub(super) fn probe_due(&self) -> bool {
        self.probe.due
    }

    /// Whether an idle wire must carry a dummy.
    pub(super) fn dummy_owed(&self) -> bool {
        self.dummies_owed > 0
    }

    /// Counts a dummy that leaves. Returns its epoch and the next number.
    #[inline]
    pub(super) fn next_dummy(&mut self, out: &mut Outbox<F>) -> (u8, u32) {
        self.dummies_owed = self.dummies_owed.saturating_sub(1);
        self.probe.due = false;
        out.counters.dummies += 1;
        (self.epoch, self.next_number())
    }

    /// As [`Sender::next_dummy`], for what is a dummy or an ACK frame.
    #[inline]
    pub(super) fn next_control(&mut self, is_dummy: bool, out: &mut Outbox<F>) -> (u8, u32) {
        self.dummies_owed -= u8::from(is_dummy);
        self.probe.due &= !is_dummy;
        out.counters.dummies += u64::from(is_dummy);
        (self.epoch, self.next_number())
    }

    /// Returns the header of an unprotected frame. It carries the next number as a dummy does, so one dummy
    /// fewer is owed. The last dummy remains, because only a dummy is acknowledged.
    pub(super) fn unprotected_header(&mut self, ack: Option<Ack>) -> LinkHeader {
        if self.dummies_owed > 1 {
            self.dummies_owed -= 1;
        }
        LinkHeader::Unprotected { epoch: self.epoch, next: self.next_number(), ack }
    }

    /// The receiver has settled all positions before `ack.next`. An old ACK has no effect.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: Ack, out: &mut Outbox<F>) -> bool {
        let position = Seq::<BITS>::new(ack.next).position_near(self.acked);
        let Some(position) = position.filter(|position| (self.acked..=self.next).contains(position)) else {
            out.counters.ignored += 1;
            return false;
        };
        if position != self.acked {
            self.release_before(position, out);
        }
        self.measure_response(now);
        self.paused_until = if ack.pause { now + self.timing.pause_max } else { Time::MAX };
        let at = if self.is_drained() { Time::MAX } else { now + self.timing.probe };
        self.probe = Probe { at, ..Probe::NONE };
        true
    }

    /// Handles a notification. True: the protection level has changed.
    pub(super) fn on_missing(&mut self, now: Time, missing: &Missing, out: &mut Outbox<F>) -> bool {
        if !self.on_ack(now, missing.ack, out) {
            return false;
        }
        let mut stepped = false;
        let count = usize::from(missing.hole_count).min(Missing::HOLES_MAX);
        let reported = Seq::<BITS>::new(missing.upto).position_near(self.acked);
        let Some(reported) = reported.filter(|reported| *reported >= self.acked) else {
            out.counters.ignored += 1;
            return false;
        };
        // Forged frames may have told the receiver of numbers that were never sent.
        let upto = reported.min(self.next);
        let excess = reported - upto;
        let mut had_from = None;
        for hole in &missing.holes[..count] {
            let Some(first) = self.unacked_position(hole.first) else { break };
            let end = first + u64::from(hole.len);
            let end = if excess > 0 { end.min(upto) } else { end };
            if end > upto || had_from.is_some_and(|from| first < from) {
                break;
            }
            if let Some(from) = had_from {
                self.release_between(from, first, out);
            }
            for position in first..end {
                stepped |= self.request(now, position, out);
            }
            had_from = Some(end);
        }
        if let Some(from) = had_from {
            self.release_between(from, upto, out);
            self.released_upto = self.released_upto.max(upto);
            self.measure_response(now);
        }
        stepped
    }

    /// Sends a probe if the receiver is silent. False: the receiver counts as gone.
    pub(super) fn on_timeout(&mut self, now: Time) -> bool {
        if self.paused_until <= now {
            self.paused_until = Time::MAX;
        }
        if now < self.probe.at {
            return true;
        }
        let since = if self.probe.count == 0 { now } else { self.probe.since };
        let over = self.timing.silence_max.map_or(Time::MAX, |max| since + max);
        if self.probe.count == PROBES_MAX || over <= now {
            return false;
        }
        let count = self.probe.count + 1;
        let at = (now + self.timing.probe * (1 << count)).min(over);
        self.probe = Probe { at, count, due: true, since };
        true
    }

    /// Slots that the next ACK releases and the next frame takes.
    pub(super) fn next_slots(&self) -> [Option<&Slot<F>>; 7] {
        let released = |line: u64| self.acked + line * SLOTS_PER_LINE;
        [released(0), released(1), released(2), released(3), released(4), released(5), self.next]
            .map(|position| self.slots.get(position))
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Time {
        self.probe.at.min(self.paused_until)
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Fingerprint<H>)
    where
        F: Hash,
    {
        print.add((self.epoch, self.acked, self.next, self.released_upto, self.dummies_owed));
        print.add_limit(self.copies_paid_at);
        print.add((self.probe.count, self.probe.due));
        print.add_time(self.probe.at);
        if self.timing.silence_max.is_some() {
            print.add_time(self.probe.since);
        }
        print.add_time(self.paused_until);
        for position in self.acked..self.next {
            let slot = &self.slots[position];
            let request = if slot.missed { self.requests[position] } else { Request::default() };
            print.add((slot.frame, slot.is_kept, slot.len, request.copies_due, slot.ordered));
            print.add_limit(request.resent_at + self.timing.resend_gap(&self.response_time));
            if self.timing.is_adaptive() && request.resent_at > Time::ZERO {
                print.add_time(request.resent_at);
                print.add(request.rounds.min(2));
            }
        }
        if self.timing.is_adaptive() {
            self.response_time.fingerprint(print);
        }
        for position in self.retransmit_queue.iter().filter(|position| **position >= self.acked) {
            print.add(position);
        }
    }

    fn unacked_position(&self, seq: u32) -> Option<u64> {
        let position = Seq::<BITS>::new(seq).position_near(self.acked)?;
        (self.acked..=self.next).contains(&position).then_some(position)
    }

    /// Queues copies of a frame unless some are queued or in flight. True: the protection level has changed.
    fn request(&mut self, now: Time, position: u64, out: &mut Outbox<F>) -> bool {
        let gap = self.timing.resend_gap(&self.response_time);
        let slot = &mut self.slots[position];
        debug_assert!(slot.frame.is_some() || !slot.is_kept, "the host was wrong about a frame that arrives");
        let first_time = !std::mem::replace(&mut slot.missed, true);
        if first_time {
            self.requests.make_room(self.acked, self.next, self.next);
            self.requests[position] = Request::default();
        }
        let request = &mut self.requests[position];
        let resent = request.resent_at > Time::ZERO;
        let waits = request.copies_due > 0 || resent && now < request.resent_at + gap;
        if !waits {
            // Copies may run ahead of their share by a burst. A copy costs its transmission time at the
            // share's rate.
            let cost = self.share.serialize(Bytes::new(u64::from(slot.len)));
            let ahead = self.copies_paid_at.max(now).since(now);
            let left = self.timing.resend_burst.as_ps().saturating_sub(ahead.as_ps());
            let affordable = if slot.is_kept { left / cost.as_ps().max(1) } else { 0 };
            let copies = u64::from(self.monitor.copies()).min(affordable);
            if copies == 0 {
                out.counters.refused += 1;
                if slot.is_kept {
                    self.monitor.on_refused();
                }
            } else {
                self.copies_paid_at = self.copies_paid_at.max(now) + cost * copies;
                request.copies_due = copies as u8;
                request.rounds = request.rounds.saturating_add(1);
                self.retransmit_queue.push_back(position);
            }
        }
        first_time && self.monitor.on_missed()
    }

    /// Measures the response time if the released frame was retransmitted.
    #[inline]
    fn measure_response(&mut self, now: Time) {
        match self.last_response.take() {
            Some((since, 1)) => self.response_time.add(now.since(since)),
            Some(_) => self.response_time.add_unknown(),
            None => {}
        }
    }

    fn release_before(&mut self, end: u64, out: &mut Outbox<F>) {
        for position in self.acked..end {
            self.release(position, out);
        }
        self.acked = end;
        self.released_upto = self.released_upto.max(end);
        out.counters.tx_bytes = self.kept_bytes;
    }

    /// Releases copies between two holes that were not released before.
    fn release_between(&mut self, from: u64, end: u64, out: &mut Outbox<F>) {
        for position in from.max(self.released_upto)..end {
            self.release(position, out);
        }
        out.counters.tx_bytes = self.kept_bytes;
    }

    #[inline]
    fn release(&mut self, position: u64, out: &mut Outbox<F>) {
        let slot = &mut self.slots[position];
        if std::mem::take(&mut slot.is_kept) {
            self.kept_bytes -= u64::from(slot.len);
            let (frame, missed) = (slot.frame.take(), slot.missed);
            if missed {
                self.end_request(position);
            }
            out.release(frame);
        }
    }

    // Not inlined, so that the release of other frames does not touch the requests.
    #[cold]
    #[inline(never)]
    fn end_request(&mut self, position: u64) {
        let request = &mut self.requests[position];
        request.copies_due = 0;
        if request.resent_at > Time::ZERO {
            self.last_response = Some((request.resent_at, request.rounds));
        }
    }
}

pub(super) fn epoch_bits(epoch: u32) -> u8 {
    epoch as u8 & 0xf
}
