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

/// The fields that every frame touches come first, in one cache line.
#[repr(C, align(64))]
pub(crate) struct Egress {
    /// Classes with queued frames, one bit each.
    occupied: u8,
    /// Classes that may be paused, one bit each; the others are not paused.
    maybe_paused: u8,
    /// Classes with strict priority, one bit each.
    strict: u8,
    /// Whether departures are fixed immediately: one class, first in, first out.
    immediate: bool,
    /// Whether the buffer is limited.
    bounded: bool,
    /// The class with separate memory; [`CLASSES`] if there is none.
    separate_class: u8,
    queues: [ClassQueue; CLASSES],
    /// Queued bytes of that class, and their limit.
    separate_bytes: u64,
    separate_bytes_max: u64,
    /// The buffer limit. This and the next two fields are unused without a limit.
    buffer_bytes_max: u64,
    queued_bytes: u64,
    leaving_bytes: u64,
    schedule: Schedule,
    pauses: ClassPauses,
    /// Frames whose last bit has not left, oldest first: departure time and bytes. Kept only with a limit.
    leaving: VecDeque<(Time, u32)>,
}

const _: () = assert!(std::mem::offset_of!(Egress, queues) + size_of::<ClassQueue>() <= 64);

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
            strict: schedule.strict(),
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
        if !self.has_room(now, class, waiting.len) {
            return OfferOutcome::Dropped;
        }
        if self.immediate || self.is_free(now, class, busy_until) {
            self.record_departure(busy_until.max(now) + waiting.wire_time, class, waiting.len);
            return OfferOutcome::Passed;
        }
        self.queue(waiting, class);
        OfferOutcome::Queued
    }

    /// Returns whether departures are fixed immediately, so that no frame is ever queued.
    pub(crate) fn is_immediate(&self) -> bool {
        self.immediate
    }

    /// Returns whether a frame of `class` could leave immediately; `busy_until` is when the wire becomes
    /// free.
    #[inline]
    pub(crate) fn is_free(&self, now: Time, class: u8, busy_until: Time) -> bool {
        self.occupied == 0
            && busy_until <= now
            && !(self.maybe_paused != 0 && self.pauses.is_paused(class, now))
    }

    /// Returns whether a frame is queued.
    #[inline]
    pub(crate) fn is_occupied(&self) -> bool {
        self.occupied != 0
    }

    /// Prefetches the fields that every frame touches.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self);
    }

    /// Prefetches the next frames of class 0, and where the next one is queued.
    #[inline]
    pub(crate) fn prefetch_queue(&self) {
        self.queues[0].prefetch();
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
        if !self.has_room(now, class, waiting.len) {
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
            return self.queues[class].front().map(|waiting| (class as u8, waiting.len));
        }
        self.peek_scheduled(now)
    }

    #[inline(never)]
    fn peek_scheduled(&self, now: Time) -> Option<(u8, u16)> {
        let class = self.schedule.clone().next(self.ready(now), |class| self.queues[class].need())?;
        self.queues[class].front().map(|waiting| (class as u8, waiting.len))
    }

    /// Removes the frame whose transmission starts now, if some class may send. Returns its class and queue entry.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<(u8, QueuedFrame)> {
        let class = if let Some(only) = self.only_class() {
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
            if self.strict >> class & 1 == 0 {
                self.schedule.on_empty(class);
            }
        }
        self.take_out(class as u8, waiting.len);
        self.record_departure(now + waiting.wire_time, class as u8, waiting.len);
        Some((class as u8, waiting))
    }

    /// Returns the only class with queued frames if nothing else decides what is next.
    #[inline]
    fn only_class(&self) -> Option<usize> {
        let only = self.occupied.trailing_zeros() as usize;
        (self.maybe_paused == 0 && self.occupied.is_power_of_two() && self.strict >> only & 1 != 0)
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
        self.take_out(class, waiting.len);
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
        if class == self.separate_class {
            self.separate_bytes += u64::from(waiting.len);
        } else if self.bounded {
            self.queued_bytes += u64::from(waiting.len);
        }
        self.occupied |= 1 << class;
        self.queues[usize::from(class)].push(waiting);
    }

    #[inline]
    fn take_out(&mut self, class: u8, len: u16) {
        if class == self.separate_class {
            self.separate_bytes -= u64::from(len);
        } else if self.bounded {
            self.queued_bytes -= u64::from(len);
        }
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
        if class == self.separate_class {
            return self.separate_bytes + u64::from(len) <= self.separate_bytes_max;
        }
        if !self.bounded {
            return true;
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{Frame, FrameId, FrameStore, GAP_BYTES};

    /// A port on a wire with one nanosecond per byte, and a record of departures.
    struct TestPort {
        egress: Egress,
        frames: FrameStore,
        free_at: Time,
        offered: Vec<Offered>,
        /// Start time and number of each frame that left.
        sent: Vec<(Time, usize)>,
    }

    #[derive(Clone, Copy)]
    struct Offered {
        at: Time,
        class: u8,
        wire_time: Span,
    }

    impl TestPort {
        fn new(schedule: Schedule) -> Self {
            let (egress, frames) = (Egress::scheduled(schedule, None), FrameStore::default());
            Self { egress, frames, free_at: Time::ZERO, offered: Vec::new(), sent: Vec::new() }
        }

        fn offer(&mut self, now: Time, class: u8, len: u16) {
            let wire_time = Span::from_ns(u64::from(len) + GAP_BYTES);
            let frame = Frame { serial: self.offered.len() as u32, ..Frame::blank() }.with_class(class);
            let waiting = QueuedFrame { frame: self.frames.insert(frame), len, ingress: 0, wire_time };
            self.offered.push(Offered { at: now, class, wire_time });
            match self.egress.offer(now, waiting, class, self.free_at) {
                OfferOutcome::Passed => self.send(now, waiting.frame),
                OfferOutcome::Queued => {}
                OfferOutcome::Dropped => panic!("the buffer is unlimited"),
            }
        }

        /// Sends the frames that may start before `end`, at the times that the port returns.
        fn run(&mut self, now: Time, end: Time) {
            while let Some(start) = self.egress.next_start(self.free_at.max(now))
                && start < end
            {
                let (_, waiting) = self.egress.pop(start).expect("a scheduled start has a frame");
                self.send(start, waiting.frame);
            }
        }

        fn send(&mut self, start: Time, frame: FrameId) {
            assert!(start >= self.free_at, "one frame at a time");
            let number = self.frames.remove(frame).serial as usize;
            self.free_at = start + self.offered[number].wire_time;
            self.sent.push((start, number));
        }

        fn classes(&self) -> Vec<u8> {
            self.sent.iter().map(|(_, number)| self.offered[*number].class).collect()
        }
    }

    const fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn strict_classes_go_before_weighted_ones() {
        let mut port = TestPort::new(Schedule::weighted(&[(2, 1), (5, 1)]));
        for class in [0, 2, 5, 7, 2, 5, 7] {
            port.offer(at(0), class, 2028);
        }
        port.run(at(0), Time::MAX);
        // The first frame found the port idle.
        assert_eq!(port.classes(), [0, 7, 7, 5, 2, 5, 2]);
    }

    #[test]
    fn a_paused_class_does_not_block_others_and_keeps_its_order() {
        let mut port = TestPort::new(Schedule::all_strict());
        port.egress.pause(3, PauseWindow { from: at(1), until: at(5000) });
        port.run(at(0), at(10));
        for class in [3, 3, 0, 3, 1] {
            port.offer(at(10), class, 980);
        }
        port.run(at(10), Time::MAX);
        assert_eq!(port.classes(), [1, 0, 3, 3, 3]);
        assert_eq!(port.sent, [(at(10), 4), (at(1010), 2), (at(5000), 0), (at(6000), 1), (at(7000), 3)]);
    }

    #[test]
    fn a_pause_includes_its_first_instant_and_not_its_last() {
        for (offered, starts) in [(99, 99), (100, 200), (150, 200), (199, 200), (200, 200), (201, 201)] {
            let mut port = TestPort::new(Schedule::all_strict());
            port.egress.pause(0, PauseWindow { from: at(100), until: at(200) });
            port.offer(at(offered), 0, 64);
            port.run(at(offered), Time::MAX);
            assert_eq!(port.sent, [(at(starts), 0)], "offered at {offered}");
        }
    }

    #[test]
    fn a_departure_at_the_instant_of_a_pause_happens_in_either_order() {
        for pause_first in [false, true] {
            let mut port = TestPort::new(Schedule::all_strict());
            port.offer(at(0), 0, 980);
            port.offer(at(0), 0, 980);
            let window = PauseWindow { from: at(1000) + PauseWindow::MIN_LEAD, until: at(9000) };
            if pause_first {
                port.egress.pause(0, window);
            }
            port.run(at(0), at(1001));
            if !pause_first {
                port.egress.pause(0, window);
            }
            assert_eq!(port.sent, [(at(0), 0), (at(1000), 1)], "{pause_first}");
        }
    }

    #[test]
    fn an_endless_pause_can_be_resumed() {
        let mut port = TestPort::new(Schedule::all_strict());
        port.egress.pause(4, PauseWindow { from: at(0), until: Time::MAX });
        port.offer(at(5), 4, 980);
        assert_eq!(port.egress.next_start(at(5)), None, "no start is scheduled");
        port.egress.pause(4, PauseWindow { from: at(70) + PauseWindow::MIN_LEAD, until: at(70) });
        assert_eq!(port.egress.next_start(at(70)), Some(at(70)));
    }

    #[test]
    fn a_paused_frame_occupies_the_buffer() {
        let mut egress = Egress::scheduled(Schedule::all_strict(), Some(1000));
        let mut frames = FrameStore::default();
        egress.pause(1, PauseWindow { from: at(0), until: at(100) });
        let frame = frames.insert(Frame::blank());
        let waiting = QueuedFrame { frame, len: 600, ingress: 0, wire_time: Span::from_ns(620) };
        assert_eq!(egress.offer(at(0), waiting, 1, at(0)), OfferOutcome::Queued);
        assert_eq!(egress.offer(at(50), waiting, 0, at(0)), OfferOutcome::Dropped);
        assert!(egress.pop(at(99)).is_none());
        assert_eq!(egress.pop(at(100)).map(|(_, next)| next.frame), Some(waiting.frame));
        assert_eq!(egress.offer(at(719), waiting, 0, at(720)), OfferOutcome::Dropped);
        assert_eq!(egress.offer(at(720), waiting, 0, at(720)), OfferOutcome::Passed);
    }

    /// An operation on a port, after a gap.
    #[derive(Clone, Copy, Debug)]
    enum Operation {
        Offer { class: u8, len: u16 },
        Pause { class: u8, ns: u64 },
        Resume { class: u8 },
    }

    fn operations() -> impl Strategy<Value = Vec<(u64, bool, Operation)>> {
        let class = 0..CLASSES as u8;
        let operation = prop_oneof![
            4 => (class.clone(), 64..9217_u16).prop_map(|(class, len)| Operation::Offer { class, len }),
            1 => (class.clone(), 1..30_000_u64).prop_map(|(class, ns)| Operation::Pause { class, ns }),
            1 => class.prop_map(|class| Operation::Resume { class }),
        ];
        let gap = prop_oneof![Just(0), 0..100_u64, 0..20_000_u64];
        prop::collection::vec((gap, any::<bool>(), operation), 1..120)
    }

    /// Every pause: when the port got it, its class, and when it ends.
    type Pauses = Vec<(Time, u8, Time)>;

    /// Returns whether a class was paused at an instant, from the record alone. The last pause before the
    /// instant counts; at the same instant only a resume counts.
    fn was_paused(pauses: &Pauses, class: u8, instant: Time) -> bool {
        let mut relevant = pauses
            .iter()
            .filter(|(now, of, until)| *of == class && (*now < instant || (*now == instant && until == now)));
        relevant.next_back().is_some_and(|(_, _, until)| instant < *until)
    }

    fn assert_never_idle_without_reason(port: &TestPort, pauses: &Pauses) {
        let mut free_at = Time::ZERO;
        let mut has_left = vec![false; port.offered.len()];
        for (start, number) in &port.sent {
            for (other, offered) in port.offered.iter().enumerate().filter(|(other, _)| !has_left[*other]) {
                let since = free_at.max(offered.at);
                let ends = pauses.iter().flat_map(|(now, _, until)| [*now, *until]);
                let idle = ends.chain([since]).filter(|instant| (since..*start).contains(instant));
                for instant in idle {
                    assert!(
                        was_paused(pauses, offered.class, instant),
                        "frame {other} of class {} waits at {instant} without reason; {number} starts at {start}",
                        offered.class
                    );
                }
            }
            assert!(
                !was_paused(pauses, port.offered[*number].class, *start),
                "{number} starts during a pause"
            );
            has_left[*number] = true;
            free_at = *start + port.offered[*number].wire_time;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// A port is never idle while a class that may send has frames, and it sends the frames of a class in
        /// order.
        #[test]
        fn no_frame_waits_without_reason_or_is_lost(
            operations in operations(),
            weights in prop::collection::btree_map(0..CLASSES as u8, 1..1001_u32, 0..5),
        ) {
            let mut port = TestPort::new(Schedule::weighted(&weights.into_iter().collect::<Vec<_>>()));
            let (mut now, mut pauses) = (Time::ZERO, Pauses::new());
            for (gap, departs_first, operation) in operations {
                let next = now + Span::from_ns(gap);
                port.run(now, if departs_first { next + Span::from_ps(1) } else { next });
                now = next;
                match operation {
                    Operation::Offer { class, len } => port.offer(now, class, len),
                    Operation::Pause { class, ns } => {
                        let until = now + Span::from_ns(ns);
                        port.egress.pause(class, PauseWindow { from: now + PauseWindow::MIN_LEAD, until });
                        pauses.push((now, class, until));
                    }
                    Operation::Resume { class } => {
                        port.egress.pause(class, PauseWindow { from: now + PauseWindow::MIN_LEAD, until: now });
                        pauses.push((now, class, now));
                    }
                }
            }
            port.run(now, Time::MAX);
            prop_assert_eq!(port.sent.len(), port.offered.len(), "every frame leaves once");
            for class in 0..CLASSES as u8 {
                let of_class = port.sent.iter().map(|(_, number)| *number);
                let of_class = of_class.filter(|number| port.offered[*number].class == class);
                prop_assert!(of_class.is_sorted(), "class {} keeps its order", class);
            }
            assert_never_idle_without_reason(&port, &pauses);
            prop_assert_eq!(port.egress.backlog(), Span::ZERO);
        }
    }
}
