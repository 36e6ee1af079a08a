//! The sending half: numbers what leaves, keeps it until the other end has it, and sends it again when asked.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use wiremend_units::{Bytes, Rate, Span, Time};

use super::fingerprint::Print;
use super::outbox::Outbox;
use super::ring::Ring;
use super::stance::{Stance, Watch};
use super::timing::{PROBES_MAX, Timing};
use super::trip::Trip;
use super::{Ack, Config, Disposal, Missing, Seq, Signal, Waiting};

/// What is sent and not settled yet.
#[derive(Clone, Debug)]
pub(super) struct Sender<F, const BITS: u32> {
    timing: Timing,
    room_bytes: u64,
    dummies_max: u8,
    /// What copies may take: their share of the link's rate.
    share: Rate,
    epoch: u8,
    /// Everything before is settled at the receiver.
    acked: u64,
    /// The place of the next frame.
    next: u64,
    /// Of the places before, those that the receiver had are released.
    surveyed: u64,
    window: u64,
    slots: Ring<Slot<F>>,
    kept_bytes: u64,
    /// Places of which copies are due. A copy that was released meanwhile is passed over.
    again: VecDeque<u64>,
    /// When the share of the link for copies has paid for all that were asked for.
    paid_at: Time,
    dummies_owed: u8,
    probe: Probe,
    /// When a pause ends by itself; never: there is none.
    paused_until: Time,
    /// From the last copy of a frame to the word that it is there.
    trip: Trip,
    /// Of the frame that was last released, if copies of it left: when the last did, and in how many rounds.
    answered: Option<(Time, u8)>,
    /// The frame that was polled and not confirmed by [`Sender::on_sent`].
    leaving: Option<Waiting>,
    watch: Watch,
}

#[derive(Clone, Copy, Debug)]
struct Slot<F> {
    frame: Option<F>,
    len: u32,
    copies_due: u8,
    ordered: bool,
    /// The receiver has asked for it.
    missed: bool,
    /// Times that copies were sent because the receiver asked.
    rounds: u8,
    /// When its last copy left, if one did.
    resent_at: Time,
}

// Not derived: that would ask the same of `F`.
impl<F> Default for Slot<F> {
    fn default() -> Self {
        Self {
            frame: None,
            len: 0,
            copies_due: 0,
            ordered: false,
            missed: false,
            rounds: 0,
            resent_at: Time::ZERO,
        }
    }
}

/// Asks a receiver that says nothing.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// When to ask; never while all is settled.
    at: Time,
    count: u8,
    due: bool,
    /// When the first was sent.
    since: Time,
}

impl Probe {
    const NONE: Self = Self { at: Time::MAX, count: 0, due: false, since: Time::ZERO };
}

impl<F: Copy, const BITS: u32> Sender<F, BITS> {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            timing: Timing::of(config, Span::ZERO),
            room_bytes: config.tx_bytes_max.get(),
            dummies_max: config.dummies,
            share: config.resend_rate(),
            epoch: 0,
            acked: 0,
            next: 0,
            surveyed: 0,
            window: 0,
            slots: Ring::default(),
            kept_bytes: 0,
            again: VecDeque::new(),
            paid_at: Time::ZERO,
            dummies_owed: 0,
            probe: Probe::NONE,
            paused_until: Time::MAX,
            trip: Trip::default(),
            answered: None,
            leaving: None,
            watch: Watch::new(config),
        }
    }

    /// Numbers begin anew. Nothing is kept.
    pub(super) fn start(&mut self, epoch: u32, timing: Timing) {
        debug_assert!(self.is_drained(), "what was kept is released first");
        (self.acked, self.next, self.surveyed) = (0, 0, 0);
        self.epoch = epoch_bits(epoch);
        self.window = timing.window.min(u64::from(Seq::<BITS>::WINDOW_MAX));
        self.paid_at = Time::ZERO;
        self.dummies_owed = 0;
        self.timing = timing;
        self.trip = Trip::default();
        self.watch.start();
    }

    /// Releases everything: the other end is gone, or has given up what is left.
    pub(super) fn release_all(&mut self, out: &mut Outbox<F>) {
        out.counters.abandoned += self.next - self.acked;
        self.release_before(self.next, out);
        self.again.clear();
        self.probe = Probe::NONE;
        self.paused_until = Time::MAX;
        self.dummies_owed = 0;
        self.leaving = None;
        self.answered = None;
    }

    pub(super) fn epoch(&self) -> u8 {
        self.epoch
    }

    /// The number of the next frame.
    pub(super) fn next_number(&self) -> u32 {
        Seq::<BITS>::of(self.next).get()
    }

    pub(super) fn stance(&self) -> Stance {
        self.watch.stance()
    }

    pub(super) fn loss(&self) -> Option<super::LossRate> {
        self.watch.loss()
    }

    pub(super) fn copies(&self) -> u8 {
        self.watch.copies()
    }

    pub(super) fn aim(&mut self, target: super::LossRate, copies: super::CopyCount) {
        self.watch.aim(target, copies);
    }

    /// The longest wait for ACKs before protection ends without them.
    pub(super) fn drain_max(&self) -> Span {
        self.timing.drain_max
    }

    pub(super) fn is_drained(&self) -> bool {
        self.acked == self.next
    }

    /// Whether a normal frame may leave now.
    pub(super) fn is_open(&self, now: Time) -> bool {
        self.next - self.acked < self.window && (self.paused_until == Time::MAX || self.paused_until <= now)
    }

    /// The header of the normal frame that leaves now.
    #[inline]
    pub(super) fn fresh(&mut self, waiting: Waiting, ack: Option<Ack>) -> Signal {
        assert!(self.leaving.is_none(), "a frame that was polled is reported as sent before the next");
        let ordered = waiting.ordered && self.watch.stance() == Stance::Ordered;
        self.leaving = Some(Waiting { ordered, ..waiting });
        Signal::Data { epoch: self.epoch, seq: self.next_number(), ordered, again: false, ack }
    }

    /// True: the stance has changed.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, kept: F, out: &mut Outbox<F>) -> bool {
        let Some(waiting) = self.leaving.take() else {
            out.push(Disposal::Release(kept));
            return false;
        };
        let len = waiting.len.get();
        if self.is_drained() {
            self.probe = Probe { at: now + self.timing.probe, ..Probe::NONE };
        }
        self.slots.make_room(self.acked, self.next, self.next + 1);
        let room = self.kept_bytes + len <= self.room_bytes;
        self.slots[self.next] = Slot {
            frame: room.then_some(kept),
            len: len as u32,
            copies_due: 0,
            ordered: waiting.ordered,
            missed: false,
            rounds: 0,
            resent_at: Time::ZERO,
        };
        self.next += 1;
        self.dummies_owed = self.dummies_max;
        out.counters.protected += 1;
        if room {
            self.kept_bytes += len;
            out.counters.tx_bytes = self.kept_bytes;
            out.counters.tx_bytes_max = out.counters.tx_bytes_max.max(self.kept_bytes);
        } else {
            // It goes unprotected rather than waiting: the room is the operator's choice, the delay is not.
            out.counters.unkept += 1;
            out.push(Disposal::Release(kept));
        }
        self.watch.on_sent()
    }

    /// A copy that is due. The copies of several frames take turns, so that a burst does not hit all of one.
    pub(super) fn poll_again(
        &mut self,
        now: Time,
        ack: impl FnOnce() -> Option<Ack>,
        out: &mut Outbox<F>,
    ) -> Option<(Signal, F)> {
        while let Some(place) = self.again.pop_front() {
            if place < self.acked {
                continue;
            }
            let slot = &mut self.slots[place];
            let Some(frame) = slot.frame.filter(|_| slot.copies_due > 0) else { continue };
            slot.copies_due -= 1;
            slot.resent_at = now;
            if slot.copies_due > 0 {
                self.again.push_back(place);
            }
            out.counters.resent += 1;
            let seq = Seq::<BITS>::of(place).get();
            let signal =
                Signal::Data { epoch: self.epoch, seq, ordered: slot.ordered, again: true, ack: ack() };
            return Some((signal, frame));
        }
        None
    }

    /// Whether copies are due. Those of frames that were released meanwhile count too.
    #[inline]
    pub(super) fn is_again_due(&self) -> bool {
        !self.again.is_empty()
    }

    /// Whether the receiver is to be asked now, before anything else.
    pub(super) fn probe_due(&self) -> bool {
        self.probe.due
    }

    /// Whether the wire, which is idle, is to show what has been sent.
    pub(super) fn dummy_owed(&self) -> bool {
        self.dummies_owed > 0
    }

    pub(super) fn dummy(&mut self, ack: Option<Ack>, out: &mut Outbox<F>) -> Signal {
        self.dummies_owed = self.dummies_owed.saturating_sub(1);
        self.probe.due = false;
        out.counters.dummies += 1;
        Signal::Dummy { epoch: self.epoch, next: self.next_number(), ack }
    }

    /// The header of a frame that is not protected. It shows what was sent as a dummy does, so one dummy fewer is owed; one is left, since only a
    /// dummy is answered.
    pub(super) fn loose(&mut self, ack: Option<Ack>) -> Signal {
        if self.dummies_owed > 1 {
            self.dummies_owed -= 1;
        }
        Signal::Loose { epoch: self.epoch, next: self.next_number(), ack }
    }

    /// The receiver has everything before `ack.next`. An old one moves nothing back.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: Ack, out: &mut Outbox<F>) -> bool {
        let place = Seq::<BITS>::new(ack.next).place_near(self.acked);
        let Some(place) = place.filter(|place| (self.acked..=self.next).contains(place)) else {
            out.counters.ignored += 1;
            return false;
        };
        self.release_before(place, out);
        self.mind_answer(now);
        self.paused_until = if ack.pause { now + self.timing.pause_max } else { Time::MAX };
        let at = if self.is_drained() { Time::MAX } else { now + self.timing.probe };
        self.probe = Probe { at, ..Probe::NONE };
        true
    }

    /// The receiver misses something. True: the stance has changed.
    pub(super) fn on_missing(&mut self, now: Time, missing: &Missing, out: &mut Outbox<F>) -> bool {
        if !self.on_ack(now, missing.ack, out) {
            return false;
        }
        let mut stepped = false;
        let count = usize::from(missing.hole_count).min(Missing::HOLES_MAX);
        let Some(upto) = self.place_under_way(missing.upto) else {
            out.counters.ignored += 1;
            return false;
        };
        let mut had_from = None;
        for hole in &missing.holes[..count] {
            let Some(first) = self.place_under_way(hole.first) else { break };
            let end = first + u64::from(hole.len);
            if end > upto || had_from.is_some_and(|from| first < from) {
                break;
            }
            if let Some(from) = had_from {
                self.release_between(from, first, out);
            }
            for place in first..end {
                stepped |= self.request(now, place, out);
            }
            had_from = Some(end);
        }
        if let Some(from) = had_from {
            self.release_between(from, upto, out);
            self.surveyed = self.surveyed.max(upto);
            self.mind_answer(now);
        }
        stepped
    }

    /// The receiver was silent for long. False: it is taken for gone.
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

    #[inline]
    pub(super) fn next_timeout(&self) -> Time {
        self.probe.at.min(self.paused_until)
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Print<H>)
    where
        F: Hash,
    {
        print.add((self.epoch, self.acked, self.next, self.surveyed, self.dummies_owed));
        print.add_limit(self.paid_at);
        print.add((self.probe.count, self.probe.due));
        print.add_time(self.probe.at);
        if self.timing.silence_max.is_some() {
            print.add_time(self.probe.since);
        }
        print.add_time(self.paused_until);
        for place in self.acked..self.next {
            let slot = &self.slots[place];
            print.add((slot.frame, slot.len, slot.copies_due, slot.ordered));
            print.add_limit(slot.resent_at + self.timing.resend_gap(&self.trip));
            if self.timing.is_adaptive() && slot.resent_at > Time::ZERO {
                print.add_time(slot.resent_at);
                print.add(slot.rounds.min(2));
            }
        }
        if self.timing.is_adaptive() {
            self.trip.fingerprint(print);
        }
        for place in self.again.iter().filter(|place| **place >= self.acked) {
            print.add(place);
        }
    }

    fn place_under_way(&self, seq: u32) -> Option<u64> {
        let place = Seq::<BITS>::new(seq).place_near(self.acked)?;
        (self.acked..=self.next).contains(&place).then_some(place)
    }

    /// Queues copies of a frame, unless some are queued or on their way. True: the stance has changed.
    fn request(&mut self, now: Time, place: u64, out: &mut Outbox<F>) -> bool {
        let gap = self.timing.resend_gap(&self.trip);
        let slot = &mut self.slots[place];
        let first_time = !std::mem::replace(&mut slot.missed, true);
        let resent = slot.resent_at > Time::ZERO;
        let waits = slot.copies_due > 0 || resent && now < slot.resent_at + gap;
        if !waits {
            // Copies may run ahead of their share by a burst: a copy costs the time in which the share carries it.
            let cost = self.share.serialize(Bytes::new(u64::from(slot.len)));
            let ahead = self.paid_at.max(now).since(now);
            let left = self.timing.resend_burst.as_ps().saturating_sub(ahead.as_ps());
            let affordable = if slot.frame.is_none() { 0 } else { left / cost.as_ps().max(1) };
            let copies = u64::from(self.watch.copies()).min(affordable);
            if copies == 0 {
                out.counters.refused += 1;
                if slot.frame.is_some() {
                    self.watch.on_refused();
                }
            } else {
                self.paid_at = self.paid_at.max(now) + cost * copies;
                slot.copies_due = copies as u8;
                slot.rounds = slot.rounds.saturating_add(1);
                self.again.push_back(place);
            }
        }
        first_time && self.watch.on_missed()
    }

    /// What was released may have been sent again: then it is known how long the word took that it is there.
    #[inline]
    fn mind_answer(&mut self, now: Time) {
        match self.answered.take() {
            Some((since, 1)) => self.trip.add(now.since(since)),
            Some(_) => self.trip.add_unknown(),
            None => {}
        }
    }

    fn release_before(&mut self, end: u64, out: &mut Outbox<F>) {
        for place in self.acked..end {
            self.release(place, out);
        }
        self.acked = end;
        self.surveyed = self.surveyed.max(end);
        out.counters.tx_bytes = self.kept_bytes;
    }

    /// Releases what lies between two holes, as far as that was not done before.
    fn release_between(&mut self, from: u64, end: u64, out: &mut Outbox<F>) {
        for place in from.max(self.surveyed)..end {
            self.release(place, out);
        }
        out.counters.tx_bytes = self.kept_bytes;
    }

    #[inline]
    fn release(&mut self, place: u64, out: &mut Outbox<F>) {
        let slot = &mut self.slots[place];
        if let Some(frame) = slot.frame.take() {
            slot.copies_due = 0;
            self.kept_bytes -= u64::from(slot.len);
            if slot.resent_at > Time::ZERO {
                self.answered = Some((slot.resent_at, slot.rounds));
            }
            out.push(Disposal::Release(frame));
        }
    }
}

/// What a header says of an epoch.
pub(super) fn epoch_bits(epoch: u32) -> u8 {
    epoch as u8 & 0xf
}
