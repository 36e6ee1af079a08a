//! The receiver: finds missing frames, notifies the sender, and delivers each frame once and in order.
//!
//! All positions before `next` are settled: delivered or given up. All before `seen` were sent. Between them
//! are [`Holes`], held frames that must not overtake a missing one, and frames that were delivered on
//! arrival. If `next` differs from
//! `seen`, it is the first hole.

use std::hash::{Hash, Hasher};

use wiremend_units::{Span, Time};

use super::fingerprint::Fingerprint;
use super::hello_time::HelloTime;
use super::holes::{Holes, RenotifyBackoff};
use super::jump_check::JumpCheck;
use super::notification::{self, NotificationSeries};
use super::outbox::Outbox;
use super::response_time::ResponseTime;
use super::ring::Ring;
use super::sender::epoch_bits;
use super::timing::Timing;
use super::{Ack, Config, Disposal, LinkHeader, Missing, Seq};

#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Receiver<F, const BITS: u32> {
    /// Epoch of the sender; dormant without one.
    epoch: Option<u32>,
    next: u64,
    seen: u64,
    /// `next` in the last ACK.
    last_acked: u64,
    /// Bytes that have arrived since.
    unacked_bytes: u64,
    pause: Pause,
    /// When holes are checked for renotification.
    renotify_at: Time,
    acks_owed: u8,
    control_copies: u8,
    backpressure: bool,
    holes: Holes,
    notifications: NotificationSeries,
    timing: Timing,
    room_bytes: u64,
    held: Ring<Option<Held<F>>>,
    held_count: u32,
    held_bytes: u64,
    /// Time from the detection of a gap to the arrival of the missing frame.
    response_time: ResponseTime,
    hello_time: HelloTime,
    jump_check: JumpCheck,
}

#[derive(Clone, Copy, Debug)]
struct Held<F> {
    frame: F,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    asked: bool,
    /// Times that this state is still to be sent at once.
    copies: u8,
    /// When a lasting pause is sent again.
    repeat_at: Time,
}

impl Pause {
    const NONE: Self = Self { asked: false, copies: 0, repeat_at: Time::MAX };
}

/// Maximum of pending ACKs to dummies: more carry no more information.
const ACKS_OWED_MAX: u8 = 4;

impl<F: Copy, const BITS: u32> Receiver<F, BITS> {
    /// Nearly every frame needs the fields up to here.
    pub(super) const HOT_BYTES: usize = std::mem::offset_of!(Self, timing) + Timing::HOT_BYTES;

    pub(super) fn new(config: &Config) -> Self {
        Self {
            timing: Timing::new(config, Span::ZERO),
            room_bytes: config.rx_bytes_max.get(),
            backpressure: config.backpressure,
            control_copies: config.control_copies,
            epoch: None,
            next: 0,
            seen: 0,
            holes: Holes::default(),
            held: Ring::default(),
            held_count: 0,
            held_bytes: 0,
            notifications: NotificationSeries::default(),
            renotify_at: Time::MAX,
            response_time: ResponseTime::default(),
            hello_time: HelloTime::default(),
            jump_check: JumpCheck::new(config),
            last_acked: 0,
            unacked_bytes: 0,
            acks_owed: 0,
            pause: Pause::NONE,
        }
    }

    pub(super) fn epoch(&self) -> Option<u32> {
        self.epoch
    }

    /// Whether headers have the current epoch.
    #[inline]
    pub(super) fn is_epoch(&self, epoch: u8) -> bool {
        self.epoch.is_some_and(|known| epoch_bits(known) == epoch)
    }

    pub(super) fn start(&mut self, epoch: u32, timing: Timing) {
        debug_assert!(self.epoch.is_none(), "held frames are delivered before a start");
        self.timing = timing;
        self.response_time = self.hello_time.take_estimate();
        self.epoch = Some(epoch);
        (self.next, self.seen, self.last_acked, self.unacked_bytes) = (0, 0, 0, 0);
    }

    /// The sender asks for a start, or for an answer that measures the round trip.
    pub(super) fn on_open(&mut self, now: Time) {
        self.hello_time.on_open(now);
    }

    /// The answer to a measurement leaves.
    pub(super) fn on_accept_sent(&mut self, now: Time) {
        self.hello_time.on_accept_sent(now);
    }

    /// Delivers held frames in order. Missing frames are lost.
    pub(super) fn flush(&mut self, now: Time, out: &mut Outbox<F>) {
        if !self.holes.is_empty() {
            out.counters.lost += self.holes.position_count();
            self.holes.clear();
            self.advance(now, out);
        }
    }

    pub(super) fn stop(&mut self, now: Time, out: &mut Outbox<F>) {
        self.flush(now, out);
        self.epoch = None;
        self.notifications = NotificationSeries::default();
        self.renotify_at = Time::MAX;
        self.acks_owed = 0;
        self.pause = Pause::NONE;
    }

    /// Returns the frame if it is delivered at once, before all disposals: usually no frame is missing.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        now: Time,
        seq: u32,
        ordered: bool,
        frame: F,
        len: u64,
        out: &mut Outbox<F>,
    ) -> Option<F> {
        let Some(position) =
            Seq::<BITS>::new(seq).position_near(self.next).filter(|position| *position >= self.next)
        else {
            out.counters.duplicates += 1;
            out.push(Disposal::Discard(frame));
            return None;
        };
        self.unacked_bytes += len;
        if position == self.next && position == self.seen {
            self.next += 1;
            self.seen += 1;
            return Some(frame);
        }
        self.on_data_around_holes(now, position, ordered, Held { frame, len: len as u32 }, out);
        None
    }

    fn on_data_around_holes(
        &mut self,
        now: Time,
        position: u64,
        ordered: bool,
        held: Held<F>,
        out: &mut Outbox<F>,
    ) {
        let is_new = position >= self.seen;
        if is_new {
            if !self.is_believed(position + 1) {
                out.counters.ignored += 1;
                out.push(Disposal::Discard(held.frame));
                return;
            }
            self.mark_missing(now, position, out);
            // The frame counts as missing until it is delivered or held.
            self.holes.open(position, position + 1, now);
            self.seen = position + 1;
        } else if !self.holes.contains(position) {
            out.counters.duplicates += 1;
            out.push(Disposal::Discard(held.frame));
            return;
        }
        let waits = ordered && position != self.next;
        if waits && self.held_bytes + u64::from(held.len) > self.room_bytes {
            // The frame stays missing. A renotification requests it again, when the buffer may have room.
            out.counters.overflowed += 1;
            out.counters.missed += u64::from(is_new);
            self.renotify_at = self.renotify_at.min(now + self.timing.renotify(&self.response_time));
            out.push(Disposal::Discard(held.frame));
            return;
        }
        let filled = self.holes.fill(position);
        if let Some((since, renotified)) = filled.filter(|_| !is_new) {
            out.counters.recovered += 1;
            let took = now.since(since);
            out.delays.add(took);
            if renotified {
                self.response_time.add_unknown();
            } else {
                self.response_time.add(took);
            }
        }
        if waits {
            self.hold(now, position, held, out);
        } else {
            out.push(Disposal::Deliver(held.frame));
            self.advance(now, out);
        }
    }

    /// A dummy shows that all positions before `next` were sent. It must be acknowledged.
    #[inline]
    pub(super) fn on_dummy(&mut self, now: Time, next: u32, out: &mut Outbox<F>) {
        if self.on_sent_upto(now, next, out) {
            self.acks_owed = (self.acks_owed + 1).min(ACKS_OWED_MAX);
        }
    }

    /// Whether a dummy with this epoch and number shows nothing new.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "one branch instead of three")]
    pub(super) fn has_all_before(&self, epoch: u8, next: u32) -> bool {
        self.is_epoch(epoch)
            & (self.seen == self.next)
            & (Seq::<BITS>::new(next) == Seq::from_position(self.seen))
    }

    /// Counts a dummy that shows nothing new.
    #[inline]
    pub(super) fn owe_ack(&mut self, is_dummy: bool) {
        self.acks_owed = (self.acks_owed + u8::from(is_dummy)).min(ACKS_OWED_MAX);
    }

    /// All positions before `next` were sent, so those that have not arrived are missing. False: `next` is
    /// impossible.
    #[inline]
    pub(super) fn on_sent_upto(&mut self, now: Time, next: u32, out: &mut Outbox<F>) -> bool {
        if self.seen == self.next && Seq::<BITS>::new(next) == Seq::from_position(self.seen) {
            // The usual case: no frame is missing.
            return true;
        }
        self.on_sent_around_holes(now, next, out)
    }

    fn on_sent_around_holes(&mut self, now: Time, next: u32, out: &mut Outbox<F>) -> bool {
        // A sender is at most this far ahead. The bound keeps forged numbers from opening holes without end.
        let last = self.next + u64::from(Seq::<BITS>::WINDOW_MAX);
        let position = Seq::<BITS>::new(next).position_near(self.seen).filter(|position| *position <= last);
        let Some(position) = position.filter(|position| self.is_believed(*position)) else {
            out.counters.ignored += 1;
            return false;
        };
        if position > self.seen {
            self.mark_missing(now, position, out);
            self.seen = position;
        }
        true
    }

    /// Whether a frame is believed that claims that all positions before `end` were sent.
    fn is_believed(&mut self, end: u64) -> bool {
        // A sender whose `give_up` is twice as long has twice the window.
        let window = (self.timing.window * 2).min(u64::from(Seq::<BITS>::WINDOW_MAX));
        self.jump_check.is_believed(end, self.seen, self.next + window + 1)
    }

    /// Returns a notification or a change of pause, which precedes all other frames.
    pub(super) fn poll_urgent(&mut self, now: Time, out: &mut Outbox<F>) -> Option<LinkHeader> {
        let ack = self.ack()?;
        if let Some((missing, is_new)) = self.notifications.poll::<BITS>(now, &mut self.holes, self.seen, ack)
        {
            self.on_ack_sent();
            out.counters.notifications += 1;
            out.counters.renotifications += u64::from(!is_new);
            return Some(LinkHeader::Missing(missing));
        }
        if self.pause.copies == 0 {
            return None;
        }
        self.on_ack_sent();
        out.counters.acks += 1;
        Some(LinkHeader::Ack(ack))
    }

    /// Returns an ACK to piggyback, if it has news.
    #[inline]
    pub(super) fn poll_piggyback(&mut self) -> Option<Ack> {
        if self.last_acked == self.next && self.acks_owed == 0 {
            return None;
        }
        let ack = self.ack();
        self.on_ack_sent();
        ack
    }

    /// Whether an ACK must leave without waiting for a frame that carries it.
    #[inline]
    pub(super) fn is_ack_due(&self) -> bool {
        self.acks_owed > 0 || self.unacked_bytes >= self.timing.ack_bytes
    }

    /// Whether a piggybacked ACK would not suffice, because it cannot report arrivals behind a hole.
    #[inline]
    pub(super) fn is_missing_report_due(&self) -> bool {
        self.unacked_bytes >= self.timing.ack_bytes && !self.holes.is_empty()
    }

    /// Whether an ACK frame is due and has nothing to say of holes.
    #[inline]
    pub(super) fn is_plain_ack_due(&self) -> bool {
        self.is_ack_due() && self.holes.is_empty() && self.epoch.is_some()
    }

    /// Returns the ACK of an ACK frame, or of a dummy if it has news.
    #[inline]
    pub(super) fn next_control(&mut self, is_dummy: bool, out: &mut Outbox<F>) -> Option<Ack> {
        out.counters.acks += u64::from(!is_dummy);
        let has_ack = !is_dummy || self.last_acked != self.next || self.acks_owed > 0;
        let ack = self.ack();
        // Without news, all of this stays as it is.
        self.last_acked = self.next;
        self.unacked_bytes = if has_ack { 0 } else { self.unacked_bytes };
        self.acks_owed = self.acks_owed.saturating_sub(1);
        self.pause.copies -= self.pause.copies.min(u8::from(has_ack));
        if has_ack { ack } else { None }
    }

    /// Returns an ACK frame. With holes it reports all arrivals, so that the sender can release what came
    /// behind them.
    pub(super) fn poll_due(&mut self, now: Time, out: &mut Outbox<F>) -> Option<LinkHeader> {
        let ack = self.ack().filter(|_| self.is_ack_due())?;
        self.on_ack_sent();
        out.counters.acks += 1;
        let state = notification::missing_from::<BITS>(now, &mut self.holes, self.next, self.seen, ack);
        Some(state.map_or(LinkHeader::Ack(ack), |(missing, _)| LinkHeader::Missing(missing)))
    }

    pub(super) fn on_timeout(&mut self, now: Time, out: &mut Outbox<F>) {
        let lost = self.holes.give_up(now, self.timing.give_up);
        if lost > 0 {
            out.counters.lost += lost;
            self.advance(now, out);
        }
        if self.renotify_at <= now {
            let backoff = self.backoff();
            if let Some(first) = self.holes.take_overdue(now, backoff) {
                self.notifications.begin(first, self.control_copies, false);
            }
            self.renotify_at = self.holes.next_due(backoff).unwrap_or(Time::MAX);
        }
        if self.pause.repeat_at <= now {
            self.set_pause(now, true);
        }
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Time {
        let give_up =
            self.holes.oldest().map_or(Time::MAX, |since| since.saturating_add(self.timing.give_up));
        give_up.min(self.renotify_at).min(self.pause.repeat_at)
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Fingerprint<H>)
    where
        F: Hash,
    {
        print.add((self.epoch, self.next, self.seen, self.last_acked, self.unacked_bytes, self.acks_owed));
        print.add((self.pause.asked, self.pause.copies));
        print.add_time(self.pause.repeat_at);
        print.add_time(self.renotify_at);
        self.holes.fingerprint(print, self.timing.is_adaptive());
        if self.timing.is_adaptive() {
            self.response_time.fingerprint(print);
            self.hello_time.fingerprint(print);
        }
        self.notifications.fingerprint(print);
        self.jump_check.fingerprint(print);
        for position in (self.next..self.seen).filter(|_| self.held_count > 0) {
            print.add(self.held[position].map(|held| held.frame));
        }
    }

    /// Whether a notification or a change of pause must precede all other frames.
    #[inline]
    pub(super) fn is_urgent(&self) -> bool {
        self.notifications.is_due() || self.pause.copies > 0
    }

    fn backoff(&self) -> RenotifyBackoff {
        RenotifyBackoff { first: self.timing.renotify(&self.response_time), most: self.timing.renotify_max() }
    }

    #[inline]
    fn ack(&self) -> Option<Ack> {
        let next = Seq::<BITS>::from_position(self.next).get();
        self.epoch.map(|epoch| Ack { epoch: epoch_bits(epoch), next, pause: self.pause.asked })
    }

    /// The sender gets the current state.
    #[inline]
    fn on_ack_sent(&mut self) {
        self.last_acked = self.next;
        self.unacked_bytes = 0;
        self.acks_owed = self.acks_owed.saturating_sub(1);
        self.pause.copies = self.pause.copies.saturating_sub(1);
    }

    /// Marks the positions from `seen` to `end - 1` missing.
    fn mark_missing(&mut self, now: Time, end: u64, out: &mut Outbox<F>) {
        if end == self.seen {
            return;
        }
        out.counters.missed += end - self.seen;
        self.holes.open(self.seen, end, now);
        self.renotify_at = self.renotify_at.min(now + self.timing.renotify(&self.response_time));
        if let Some(first) = self.holes.start_of_last(Missing::HOLES_MAX) {
            self.notifications.begin(first, self.control_copies, true);
        }
    }

    fn hold(&mut self, now: Time, position: u64, held: Held<F>, out: &mut Outbox<F>) {
        self.held.make_room(self.next, self.seen, self.seen);
        self.held[position] = Some(held);
        self.held_count += 1;
        self.held_bytes += u64::from(held.len);
        out.counters.rx_bytes = self.held_bytes;
        out.counters.rx_bytes_max = out.counters.rx_bytes_max.max(self.held_bytes);
        if self.backpressure && !self.pause.asked && self.held_bytes >= self.timing.pause_at {
            out.counters.pauses += 1;
            self.set_pause(now, true);
        }
    }

    /// Advances to the first hole and delivers the frames held before it.
    fn advance(&mut self, now: Time, out: &mut Outbox<F>) {
        let end = self.holes.first().unwrap_or(self.seen);
        while self.next < end && self.held_count > 0 {
            if let Some(held) = self.held[self.next].take() {
                self.held_count -= 1;
                self.held_bytes -= u64::from(held.len);
                out.push(Disposal::Deliver(held.frame));
            }
            self.next += 1;
        }
        self.next = end;
        out.counters.rx_bytes = self.held_bytes;
        if self.holes.is_empty() && self.renotify_at != Time::MAX {
            self.renotify_at = Time::MAX;
            // No dummy follows the last copy, so the receiver sends an ACK by itself.
            self.acks_owed = self.acks_owed.max(1);
        }
        if self.pause.asked && self.held_bytes <= self.timing.resume_at {
            self.set_pause(now, false);
        }
    }

    fn set_pause(&mut self, now: Time, asked: bool) {
        let repeat_at = if asked { now + self.timing.pause_max / 2 } else { Time::MAX };
        self.pause = Pause { asked, copies: self.control_copies, repeat_at };
    }
}
