//! The receiving half: finds what is missing, asks for it, and hands on each frame once and in order.
//!
//! Three places say where it stands. Everything before `next` is settled: handed on, or given up. Everything
//! before `seen` was sent. Between them lie [`Holes`], and frames that are held because they must not overtake what
//! is missing; what is neither was handed on at once. When `next` is not `seen`, it is the first hole.

use std::hash::{Hash, Hasher};

use wiremend_units::{Span, Time};

use super::fingerprint::Print;
use super::holes::{Holes, Patience};
use super::notice::{self, Notice};
use super::outbox::Outbox;
use super::ring::Ring;
use super::sender::epoch_bits;
use super::timing::Timing;
use super::trip::Trip;
use super::{Ack, Config, Disposal, Missing, Seq, Signal};

/// What has arrived, and what has not.
#[derive(Clone, Debug)]
pub(super) struct Receiver<F, const BITS: u32> {
    timing: Timing,
    room_bytes: u64,
    backpressure: bool,
    control_copies: u8,
    /// Of the start it knows of; dormant without one.
    epoch: Option<u32>,
    next: u64,
    seen: u64,
    holes: Holes,
    held: Ring<Option<Held<F>>>,
    held_count: u32,
    held_bytes: u64,
    notice: Notice,
    /// When holes that the sender was told of are looked at again; never without holes.
    renotify_at: Time,
    /// From a gap that was seen to the frame that filled it.
    trip: Trip,
    /// What the sender was last told `next` is.
    told: u64,
    /// What has arrived since.
    news_bytes: u64,
    acks_owed: u8,
    pause: Pause,
}

#[derive(Clone, Copy, Debug)]
struct Held<F> {
    frame: F,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    asked: bool,
    /// Times that this is still to be said at once.
    copies: u8,
    /// When a pause that lasts is said again; never without one.
    again_at: Time,
}

impl Pause {
    const NONE: Self = Self { asked: false, copies: 0, again_at: Time::MAX };
}

/// ACKs owed to dummies at once: more would say nothing more.
const ACKS_OWED_MAX: u8 = 4;

impl<F: Copy, const BITS: u32> Receiver<F, BITS> {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            timing: Timing::of(config, Span::ZERO),
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
            notice: Notice::default(),
            renotify_at: Time::MAX,
            trip: Trip::default(),
            told: 0,
            news_bytes: 0,
            acks_owed: 0,
            pause: Pause::NONE,
        }
    }

    pub(super) fn epoch(&self) -> Option<u32> {
        self.epoch
    }

    /// Whether headers of this epoch are understood.
    pub(super) fn knows(&self, epoch: u8) -> bool {
        self.epoch.is_some_and(|known| epoch_bits(known) == epoch)
    }

    /// Numbers begin anew.
    pub(super) fn start(&mut self, epoch: u32, timing: Timing) {
        debug_assert!(self.epoch.is_none(), "what is held is handed on first");
        self.timing = timing;
        self.trip = Trip::default();
        self.epoch = Some(epoch);
        (self.next, self.seen, self.told, self.news_bytes) = (0, 0, 0, 0);
    }

    /// Hands on what is held, in order; what is missing is lost.
    pub(super) fn flush(&mut self, now: Time, out: &mut Outbox<F>) {
        if !self.holes.is_empty() {
            out.counters.lost += self.holes.place_count();
            self.holes.clear();
            self.advance(now, out);
        }
    }

    /// Knows of no start any more.
    pub(super) fn stop(&mut self, now: Time, out: &mut Outbox<F>) {
        self.flush(now, out);
        self.epoch = None;
        self.notice = Notice::default();
        self.renotify_at = Time::MAX;
        self.acks_owed = 0;
        self.pause = Pause::NONE;
    }

    /// The numbered frame has arrived.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        now: Time,
        seq: u32,
        ordered: bool,
        frame: F,
        len: u64,
        out: &mut Outbox<F>,
    ) {
        let Some(place) = Seq::<BITS>::new(seq).place_near(self.next).filter(|place| *place >= self.next)
        else {
            out.counters.duplicates += 1;
            out.push(Disposal::Discard(frame));
            return;
        };
        self.news_bytes += len;
        if place == self.next && place == self.seen {
            // As almost always: nothing is missing.
            self.next += 1;
            self.seen += 1;
            out.push(Disposal::Deliver(frame));
            return;
        }
        self.on_data_around_holes(now, place, ordered, Held { frame, len: len as u32 }, out);
    }

    fn on_data_around_holes(
        &mut self,
        now: Time,
        place: u64,
        ordered: bool,
        held: Held<F>,
        out: &mut Outbox<F>,
    ) {
        let is_new = place >= self.seen;
        if is_new {
            self.miss(now, place, out);
            // It is missing itself until it has found its place.
            self.holes.open(place, place + 1, now);
            self.seen = place + 1;
        } else if !self.holes.contains(place) {
            out.counters.duplicates += 1;
            out.push(Disposal::Discard(held.frame));
            return;
        }
        let waits = ordered && place != self.next;
        if waits && self.held_bytes + u64::from(held.len) > self.room_bytes {
            // It stays missing, and is asked for again when the holes are looked at again: there may be room by then.
            out.counters.overflowed += 1;
            out.counters.missed += u64::from(is_new);
            self.renotify_at = self.renotify_at.min(now + self.timing.renotify(&self.trip));
            out.push(Disposal::Discard(held.frame));
            return;
        }
        let filled = self.holes.fill(place);
        if let Some((since, retold)) = filled.filter(|_| !is_new) {
            out.counters.recovered += 1;
            let took = now.since(since);
            out.delays.add(took);
            if retold {
                self.trip.add_unknown();
            } else {
                self.trip.add(took);
            }
        }
        if waits {
            self.hold(now, place, held, out);
        } else {
            out.push(Disposal::Deliver(held.frame));
            self.advance(now, out);
        }
    }

    /// All before `next` has been sent: what has not arrived is missing. The sender wants to know what has.
    pub(super) fn on_dummy(&mut self, now: Time, next: u32, out: &mut Outbox<F>) {
        if self.on_shown(now, next, out) {
            self.acks_owed = (self.acks_owed + 1).min(ACKS_OWED_MAX);
        }
    }

    /// All before `next` has been sent: what has not arrived is missing. False: that cannot be.
    pub(super) fn on_shown(&mut self, now: Time, next: u32, out: &mut Outbox<F>) -> bool {
        // A sender is no further ahead of what is settled than this: beyond it, one lie after another would open holes without end.
        let last = self.next + u64::from(Seq::<BITS>::WINDOW_MAX);
        let place = Seq::<BITS>::new(next).place_near(self.seen).filter(|place| *place <= last);
        let Some(place) = place else {
            out.counters.ignored += 1;
            return false;
        };
        if place > self.seen {
            self.miss(now, place, out);
            self.seen = place;
        }
        true
    }

    /// A notification, or a change of pause: what goes before everything else.
    pub(super) fn poll_urgent(&mut self, now: Time, out: &mut Outbox<F>) -> Option<Signal> {
        let ack = self.ack()?;
        if let Some((missing, is_new)) = self.notice.poll::<BITS>(now, &mut self.holes, self.seen, ack) {
            self.on_told();
            out.counters.notifications += 1;
            out.counters.renotifications += u64::from(!is_new);
            return Some(Signal::Missing(missing));
        }
        if self.pause.copies == 0 {
            return None;
        }
        self.on_told();
        out.counters.acks += 1;
        Some(Signal::Ack(ack))
    }

    /// An ACK for the back of a frame that leaves anyway, if there is something to say.
    #[inline]
    pub(super) fn poll_back(&mut self) -> Option<Ack> {
        if self.told == self.next && self.acks_owed == 0 {
            return None;
        }
        let ack = self.ack();
        self.on_told();
        ack
    }

    /// Whether an ACK cannot wait for the back of a frame that carries one.
    #[inline]
    pub(super) fn is_ack_due(&self) -> bool {
        self.acks_owed > 0 || self.news_bytes >= self.timing.ack_bytes
    }

    /// Whether an ACK on the back of a frame would keep from the sender what has arrived behind a hole.
    #[inline]
    pub(super) fn is_survey_due(&self) -> bool {
        self.news_bytes >= self.timing.ack_bytes && !self.holes.is_empty()
    }

    /// A frame that says what has arrived. With holes it says all of it, so that the sender's buffer need not keep what came
    /// behind them.
    pub(super) fn poll_due(&mut self, now: Time, out: &mut Outbox<F>) -> Option<Signal> {
        let ack = self.ack().filter(|_| self.is_ack_due())?;
        self.on_told();
        out.counters.acks += 1;
        let state = notice::state::<BITS>(now, &mut self.holes, self.next, self.seen, ack);
        Some(state.map_or(Signal::Ack(ack), |(missing, _)| Signal::Missing(missing)))
    }

    pub(super) fn on_timeout(&mut self, now: Time, out: &mut Outbox<F>) {
        let lost = self.holes.give_up(now, self.timing.give_up);
        if lost > 0 {
            out.counters.lost += lost;
            self.advance(now, out);
        }
        if self.renotify_at <= now {
            let patience = self.patience();
            if let Some(first) = self.holes.retell(now, patience) {
                self.notice.begin(first, self.control_copies, false);
            }
            self.renotify_at = self.holes.next_due(patience).unwrap_or(Time::MAX);
        }
        if self.pause.again_at <= now {
            self.say_pause(now, true);
        }
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Time {
        let give_up =
            self.holes.oldest().map_or(Time::MAX, |since| since.saturating_add(self.timing.give_up));
        give_up.min(self.renotify_at).min(self.pause.again_at)
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Print<H>)
    where
        F: Hash,
    {
        print.add((self.epoch, self.next, self.seen, self.told, self.news_bytes, self.acks_owed));
        print.add((self.pause.asked, self.pause.copies));
        print.add_time(self.pause.again_at);
        print.add_time(self.renotify_at);
        self.holes.fingerprint(print, self.timing.is_adaptive());
        if self.timing.is_adaptive() {
            self.trip.fingerprint(print);
        }
        self.notice.fingerprint(print);
        for place in (self.next..self.seen).filter(|_| self.held_count > 0) {
            print.add(self.held[place].map(|held| held.frame));
        }
    }

    /// Whether a notification, or a change of pause, is to go before everything else.
    #[inline]
    pub(super) fn is_urgent(&self) -> bool {
        self.notice.is_due() || self.pause.copies > 0
    }

    fn patience(&self) -> Patience {
        Patience { first: self.timing.renotify(&self.trip), most: self.timing.renotify_max() }
    }

    fn ack(&self) -> Option<Ack> {
        let next = Seq::<BITS>::of(self.next).get();
        self.epoch.map(|epoch| Ack { epoch: epoch_bits(epoch), next, pause: self.pause.asked })
    }

    /// The sender is told where this end stands.
    fn on_told(&mut self) {
        self.told = self.next;
        self.news_bytes = 0;
        self.acks_owed = self.acks_owed.saturating_sub(1);
        self.pause.copies = self.pause.copies.saturating_sub(1);
    }

    /// What was not seen before `end` is missing.
    fn miss(&mut self, now: Time, end: u64, out: &mut Outbox<F>) {
        if end == self.seen {
            return;
        }
        out.counters.missed += end - self.seen;
        self.holes.open(self.seen, end, now);
        self.renotify_at = self.renotify_at.min(now + self.timing.renotify(&self.trip));
        if let Some(first) = self.holes.first_of_last(Missing::HOLES_MAX) {
            self.notice.begin(first, self.control_copies, true);
        }
    }

    fn hold(&mut self, now: Time, place: u64, held: Held<F>, out: &mut Outbox<F>) {
        self.held.make_room(self.next, self.seen, self.seen);
        self.held[place] = Some(held);
        self.held_count += 1;
        self.held_bytes += u64::from(held.len);
        out.counters.rx_bytes = self.held_bytes;
        out.counters.rx_bytes_max = out.counters.rx_bytes_max.max(self.held_bytes);
        if self.backpressure && !self.pause.asked && self.held_bytes >= self.timing.pause_at {
            out.counters.pauses += 1;
            self.say_pause(now, true);
        }
    }

    /// Goes on to the first hole, and hands on what was held before it.
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
            // No dummy follows the last copy, so nobody would ask.
            self.acks_owed = self.acks_owed.max(1);
        }
        if self.pause.asked && self.held_bytes <= self.timing.resume_at {
            self.say_pause(now, false);
        }
    }

    fn say_pause(&mut self, now: Time, asked: bool) {
        let again_at = if asked { now + self.timing.pause_max / 2 } else { Time::MAX };
        self.pause = Pause { asked, copies: self.control_copies, again_at };
    }
}
