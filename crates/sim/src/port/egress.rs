//! The egress queues of a scheduled port: frames wait in classes, and a departure is fixed when transmission
//! starts.
//!
//! [`Schedule`] picks the next class and [`ClassPauses`] knows the paused ones. With one class, no limit and
//! no pause this behaves exactly like a plain port, which a test of whole runs checks. To keep that true at
//! equal times, buffer occupancy depends on time and not on the order of events: a frame occupies the buffer
//! from its arrival until its last bit has left, that instant excluded.

mod repeat_state;

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

use super::class_queue::{ClassQueue, QueuedFrame};
use super::{CLASSES, ClassPauses, PauseWindow, Schedule};
use crate::memory::prefetch;

/// A frame touches the lines of the schedule, if several classes wait, of the next fields, and of its class.
#[repr(C, align(64))]
pub(crate) struct Egress {
    schedule: Schedule,
    /// Classes with queued frames, one bit each.
    occupied: u8,
    /// Classes that may be paused, one bit each; the others are not paused.
    maybe_paused: u8,
    /// Whether departures are fixed immediately: one class, first in, first out.
    immediate: bool,
    /// Whether the buffer is limited.
    bounded: bool,
    /// The class with separate memory; [`CLASSES`] if there is none.
    separate_class: u8,
    /// Queued bytes of that class, and their limit.
    separate_bytes: u64,
    separate_bytes_max: u64,
    /// The buffer limit. This and the last of the next two fields are unused without a limit.
    buffer_bytes_max: u64,
    queued_bytes: u64,
    leaving_bytes: u64,
    queues: [ClassQueue; CLASSES],
    pauses: ClassPauses,
    /// Frames whose last bit has not left, oldest first: departure time and bytes. Kept only with a limit.
    leaving: VecDeque<(Time, u32)>,
}

const _: () = assert!(std::mem::offset_of!(Egress, queues) == 128);

/// Result of offering a frame to a port.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum OfferOutcome {
    /// The buffer is full.
    Dropped,
    /// The frame leaves now, or its departure can be fixed now.
    Passed,
    Queued,
}

impl Egress {
    /// Returns a FIFO with a buffer of `buffer_bytes_max`; it cannot be paused.
    pub(crate) fn fifo(buffer_bytes_max: u64) -> Self {
        Self::with(true, Schedule::all_strict(), Some(buffer_bytes_max))
    }

    /// Returns queues that `schedule` serves.
    pub(crate) fn scheduled(schedule: Schedule, buffer_bytes_max: Option<u64>) -> Self {
        Self::with(false, schedule, buffer_bytes_max)
    }

    fn with(immediate: bool, schedule: Schedule, buffer_bytes_max: Option<u64>) -> Self {
        Self {
            occupied: 0,
            maybe_paused: 0,
            immediate,
            bounded: buffer_bytes_max.is_some(),
            separate_class: CLASSES as u8,
            queues: std::array::from_fn(|_| ClassQueue::new()),
            separate_bytes: 0,
            separate_bytes_max: 0,
            buffer_bytes_max: buffer_bytes_max.unwrap_or(u64::MAX),
            queued_bytes: 0,
            leaving_bytes: 0,
            schedule,
            pauses: ClassPauses::new(),
            leaving: VecDeque::new(),
        }
    }

    /// Gives a class separate memory: its queued frames use no room of other classes.
    pub(crate) fn with_separate_class(mut self, class: u8, bytes_max: u64) -> Self {
        (self.separate_class, self.separate_bytes_max) = (class, bytes_max);
        self
    }

    /// Offers a frame; `busy_until` is when the wire becomes free.
    pub(crate) fn offer(
        &mut self,
        now: Time,
        waiting: QueuedFrame,
        class: u8,
        busy_until: Time,
    ) -> OfferOutcome {
        if !self.has_room(now, class, waiting.len()) {
            return OfferOutcome::Dropped;
        }
        if self.immediate || self.is_free(now, class, busy_until) {
            self.record_departure(busy_until.max(now) + waiting.wire_time, class, waiting.len());
            return OfferOutcome::Passed;
        }
        self.queue(waiting, class);
        OfferOutcome::Queued
    }

    /// Returns whether departures are fixed immediately, so that no frame is ever queued.
    pub(crate) fn is_immediate(&self) -> bool {
        self.immediate
    }

    /// Returns whether a frame of any length and class has room when none is queued.
    pub(crate) fn admits_all_when_idle(&self) -> bool {
        let has_limit = usize::from(self.separate_class) < CLASSES;
        !self.bounded && (!has_limit || self.separate_bytes_max >= u64::from(u16::MAX))
    }

    /// Returns whether a frame of `class` could leave immediately; `busy_until` is when the wire becomes
    /// free.
    #[inline]
    pub(crate) fn is_free(&self, now: Time, class: u8, busy_until: Time) -> bool {
        self.occupied == 0
            && busy_until <= now
            && !(self.maybe_paused != 0 && self.pauses.is_paused(class, now))
    }

    /// Returns whether a frame that leaves now needs no queue: it has room, no class is paused or has frames, and its
    /// class has no share.
    #[inline]
    pub(crate) fn may_bypass(&mut self, now: Time, class: u8, len: u16) -> bool {
        self.occupied | self.maybe_paused == 0
            && self.schedule.strict() >> class & 1 != 0
            && self.has_room(now, class, len)
    }

    /// Records a frame that leaves now without having been queued.
    #[inline]
    pub(crate) fn bypass(&mut self, now: Time, waiting: QueuedFrame, class: u8) {
        self.record_departure(now + waiting.wire_time, class, waiting.len());
    }

    /// Returns whether a frame is queued.
    #[inline]
    pub(crate) fn is_occupied(&self) -> bool {
        self.occupied != 0
    }

    /// Prefetches the fields that frames touch.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.schedule);
        prefetch(&self.occupied);
        prefetch(&self.queues[0]);
    }

    /// Prefetches the next frames of the lowest class, where the next one is queued, and the queue of the class with
    /// separate memory.
    #[inline]
    pub(crate) fn prefetch_queue(&self) {
        self.queues[0].prefetch();
        if let Some(queue) = self.queues.get(usize::from(self.separate_class)) {
            prefetch(queue);
        }
    }

    /// Returns when the next frame will have left, if the wire is free from `free_at` on and no other frame
    /// arrives.
    pub(crate) fn next_end(&self, free_at: Time) -> Option<Time> {
        let start = self.next_start(free_at)?;
        let class = self.schedule.clone().next(self.ready(start), |class| self.queues[class].need())?;
        self.queues[class].front().map(|waiting| start + waiting.wire_time)
    }

    /// Returns whether no frame is queued, and no class is paused now or later as far as is known.
    #[inline]
    pub(crate) fn is_idle(&mut self, now: Time) -> bool {
        if self.occupied | self.maybe_paused != 0 {
            self.clear_expired_pauses(now);
        }
        self.occupied | self.maybe_paused == 0
    }

    /// Queues a frame in any case.
    #[inline]
    pub(crate) fn admit(&mut self, now: Time, waiting: QueuedFrame, class: u8) -> OfferOutcome {
        if !self.has_room(now, class, waiting.len()) {
            return OfferOutcome::Dropped;
        }
        self.queue(waiting, class);
        OfferOutcome::Queued
    }

    /// Returns class and length of the frame that [`Egress::pop`] would return.
    #[inline]
    pub(crate) fn peek(&self, now: Time) -> Option<(u8, u16)> {
        if self.occupied == 0 {
            return None;
        }
        if let Some(class) = self.only_class() {
            return self.queues[class].front().map(|waiting| (class as u8, waiting.len()));
        }
        self.peek_scheduled(now)
    }

    #[inline(never)]
    fn peek_scheduled(&self, now: Time) -> Option<(u8, u16)> {
        let class = self.schedule.clone().next(self.ready(now), |class| self.queues[class].need())?;
        self.queues[class].front().map(|waiting| (class as u8, waiting.len()))
    }

    /// Removes the frame whose transmission starts now, if some class may send. Returns its class and queue entry.
    #[expect(clippy::inline_always, reason = "the entry stays in registers")]
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: Time) -> Option<(u8, QueuedFrame)> {
        let class = if self.maybe_paused == 0 && self.occupied.is_power_of_two() {
            let only = self.occupied.trailing_zeros() as usize;
            self.schedule.take_only(only, self.queues[only].need());
            only
        } else {
            let ready = self.ready(now);
            let queues = &self.queues;
            self.schedule.next(ready, |class| queues[class].need())?
        };
        let queue = &mut self.queues[class];
        let waiting = queue.pop()?;
        if queue.is_empty() {
            self.occupied &= !(1 << class);
            if self.schedule.strict() >> class & 1 == 0 {
                self.schedule.on_empty(class);
            }
        }
        self.take_out(class as u8, waiting.len());
        self.record_departure(now + waiting.wire_time, class as u8, waiting.len());
        Some((class as u8, waiting))
    }

    /// Returns the only class with queued frames if nothing else decides what is next.
    #[inline]
    fn only_class(&self) -> Option<usize> {
        let only = self.occupied.trailing_zeros() as usize;
        (self.maybe_paused == 0 && self.occupied.is_power_of_two() && self.schedule.strict() >> only & 1 != 0)
            .then_some(only)
    }

    /// Returns the queued frames of a class, the next one first.
    pub(crate) fn waiting_in(&self, class: u8) -> impl Iterator<Item = &QueuedFrame> {
        self.queues[usize::from(class)].iter()
    }

    /// Removes the first frame of a class, even if the class is paused.
    pub(crate) fn drop_first(&mut self, class: u8) -> Option<QueuedFrame> {
        let queue = &mut self.queues[usize::from(class)];
        let waiting = queue.pop()?;
        if queue.is_empty() {
            self.occupied &= !(1 << class);
            self.schedule.on_empty(usize::from(class));
        }
        self.take_out(class, waiting.len());
        Some(waiting)
    }

    /// Returns whether a class may be paused, now or later.
    #[inline]
    pub(crate) fn may_be_paused(&self) -> bool {
        self.maybe_paused != 0
    }

    /// Returns when the next frame may start, if the wire is free from `free_at` on. `None` if no frame is
    /// queued, or all classes with frames are paused without end.
    #[inline]
    pub(crate) fn next_start(&self, free_at: Time) -> Option<Time> {
        if self.maybe_paused & self.occupied == 0 {
            return (self.occupied != 0).then_some(free_at);
        }
        self.waiting()
            .map(|class| self.pauses.earliest_start(class, free_at))
            .min()
            .filter(|start| *start < Time::MAX)
    }

    /// Pauses or resumes a class; see [`ClassPauses::pause`]. The caller must reschedule
    /// [`Egress::next_start`].
    pub(crate) fn pause(&mut self, class: u8, window: PauseWindow) {
        assert!(!self.immediate, "a port with fixed departures cannot be paused");
        self.pauses.pause(class, window);
        self.maybe_paused |= 1 << class;
    }

    /// Returns the transmission time of all queued frames.
    pub(crate) fn backlog(&self) -> Span {
        self.queues.iter().fold(Span::ZERO, |sum, queue| sum + queue.backlog)
    }

    /// Returns the transmission time of the queued frames of a class.
    #[inline]
    pub(crate) fn backlog_of(&self, class: u8) -> Span {
        self.queues[usize::from(class)].backlog
    }

    #[inline]
    fn queue(&mut self, waiting: QueuedFrame, class: u8) {
        let (separate, queued) = self.parts(class, waiting.len());
        self.separate_bytes += separate;
        self.queued_bytes += queued;
        self.occupied |= 1 << class;
        self.queues[usize::from(class)].push(waiting);
    }

    #[inline]
    fn take_out(&mut self, class: u8, len: u16) {
        let (separate, queued) = self.parts(class, len);
        self.separate_bytes -= separate;
        self.queued_bytes -= queued;
    }

    /// Returns the bytes of a frame in separate memory, and in the buffer. Without branches: classes alternate.
    #[inline]
    fn parts(&self, class: u8, len: u16) -> (u64, u64) {
        let separate = u64::from(class == self.separate_class).wrapping_neg() & u64::from(len);
        (separate, u64::from(len) - separate)
    }

    /// Returns the classes that may send now, one bit each.
    fn ready(&self, now: Time) -> u8 {
        if self.maybe_paused & self.occupied == 0 {
            return self.occupied;
        }
        let open = |class: &u8| !self.pauses.is_paused(*class, now);
        self.waiting().filter(open).fold(0, |ready, class| ready | 1 << class)
    }

    /// Clears the bits of classes whose pause is over.
    fn clear_expired_pauses(&mut self, now: Time) {
        let mut left = self.maybe_paused;
        while left != 0 {
            let class = left.trailing_zeros() as u8;
            left &= left - 1;
            if !self.pauses.ends_after(class, now) {
                self.maybe_paused &= !(1 << class);
            }
        }
    }

    /// Returns the classes with queued frames.
    fn waiting(&self) -> impl Iterator<Item = u8> + use<> {
        let mut left = self.occupied;
        std::iter::from_fn(move || {
            let class = left.trailing_zeros() as u8;
            left &= left.wrapping_sub(1);
            (usize::from(class) < CLASSES).then_some(class)
        })
    }

    /// Returns whether the buffer has room for a frame of `class`.
    pub(crate) fn has_room(&mut self, now: Time, class: u8, len: u16) -> bool {
        let is_separate = class == self.separate_class;
        if is_separate || !self.bounded {
            return !is_separate || self.separate_bytes + u64::from(len) <= self.separate_bytes_max;
        }
        self.forget_departed(now);
        self.leaving_bytes + self.queued_bytes + u64::from(len) <= self.buffer_bytes_max
    }

    #[inline]
    fn forget_departed(&mut self, now: Time) {
        while let Some((_, bytes)) = self.leaving.pop_front_if(|(done, _)| *done <= now) {
            self.leaving_bytes -= u64::from(bytes);
        }
    }

    fn record_departure(&mut self, done: Time, class: u8, len: u16) {
        if self.bounded && class != self.separate_class {
            self.leaving.push_back((done, u32::from(len)));
            self.leaving_bytes += u64::from(len);
        }
    }
}

#[cfg(test)]
mod tests;
