//! The scheduled side of a port: frames wait in classes, and a departure is settled when transmission starts.
//!
//! Which class goes next is for [`Schedule`] to say, which of them must wait for [`Pauses`]. With one class, no
//! limit and no pause it behaves exactly as a port without it, which a test of whole runs checks. To keep that so
//! at equal instants, room in the buffer is judged by time and not by which event came first: a frame takes room
//! from its arrival until its last bit has left, that instant excluded.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

use super::waiting::{ClassQueue, Waiting};
use super::{Hold, Pauses, Schedule};
use crate::frame::FrameId;

pub(crate) const CLASSES: usize = 8;

/// What every frame touches stands first, in one line of the cache.
#[repr(C, align(64))]
pub(crate) struct Egress {
    /// The classes with frames that wait, a bit each.
    occupied: u8,
    /// The classes that may be held, a bit each; the others are not.
    held: u8,
    /// The classes that take no turns, a bit each.
    strict: u8,
    /// Settle departures at once where that cannot be told from waiting: one class, first in, first out.
    immediate: bool,
    /// There is a limit to what may wait and leave.
    bounded: bool,
    /// The class that has memory of its own; [`CLASSES`] if none has.
    apart: u8,
    queues: [ClassQueue; CLASSES],
    /// Bytes of that class that wait, and how many may.
    apart_bytes: u64,
    apart_bytes_max: u64,
    /// Meaningless without a limit, like what follows it.
    buffer_bytes_max: u64,
    queued_bytes: u64,
    leaving_bytes: u64,
    schedule: Schedule,
    pauses: Pauses,
    /// Frames whose last bit has not left, oldest first: when it leaves, and bytes. Kept only with a limit.
    leaving: VecDeque<(Time, u32)>,
}

const _: () = assert!(std::mem::offset_of!(Egress, queues) + size_of::<ClassQueue>() <= 64);

/// What became of a frame offered to a port.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// There is no room.
    Dropped,
    /// It can leave now, or its departure can be settled now.
    Passed,
    /// It waits.
    Queued,
}

impl Egress {
    /// First in, first out, with room for `buffer_bytes_max`; never paused.
    pub(crate) fn fifo(buffer_bytes_max: u64) -> Self {
        Self::with(true, Schedule::all_strict(), Some(buffer_bytes_max))
    }

    /// Classes that take turns as `schedule` says.
    pub(crate) fn scheduled(schedule: Schedule, buffer_bytes_max: Option<u64>) -> Self {
        Self::with(false, schedule, buffer_bytes_max)
    }

    fn with(immediate: bool, schedule: Schedule, buffer_bytes_max: Option<u64>) -> Self {
        Self {
            occupied: 0,
            held: 0,
            strict: schedule.strict(),
            immediate,
            bounded: buffer_bytes_max.is_some(),
            apart: CLASSES as u8,
            queues: std::array::from_fn(|_| ClassQueue::new()),
            apart_bytes: 0,
            apart_bytes_max: 0,
            buffer_bytes_max: buffer_bytes_max.unwrap_or(u64::MAX),
            queued_bytes: 0,
            leaving_bytes: 0,
            schedule,
            pauses: Pauses::new(),
            leaving: VecDeque::new(),
        }
    }

    /// Gives a class memory of its own: what waits in it takes no room from others.
    pub(crate) fn set_apart(mut self, class: u8, bytes_max: u64) -> Self {
        (self.apart, self.apart_bytes_max) = (class, bytes_max);
        self
    }

    /// Takes a frame; `busy_until` is when the wire falls free.
    pub(crate) fn offer(&mut self, now: Time, waiting: Waiting, class: u8, busy_until: Time) -> Taken {
        if !self.has_room(now, class, waiting.len) {
            return Taken::Dropped;
        }
        if self.immediate || self.is_free(now, class, busy_until) {
            self.note_leaving(busy_until.max(now) + waiting.cost, class, waiting.len);
            return Taken::Passed;
        }
        self.queue(waiting, class);
        Taken::Queued
    }

    /// Whether departures are settled at once, so that nothing ever waits.
    pub(crate) fn is_immediate(&self) -> bool {
        self.immediate
    }

    /// Whether a frame of that class could leave at once; `busy_until` is when the wire falls free.
    #[inline]
    pub(crate) fn is_free(&self, now: Time, class: u8, busy_until: Time) -> bool {
        self.occupied == 0 && busy_until <= now && !(self.held != 0 && self.pauses.is_paused(class, now))
    }

    /// Something waits.
    #[inline]
    pub(crate) fn is_occupied(&self) -> bool {
        self.occupied != 0
    }

    /// When the next frame will have left, if the wire is free from `free_at` on and nothing else comes.
    pub(crate) fn next_end(&self, free_at: Time) -> Option<Time> {
        let start = self.next_start(free_at)?;
        let class = self.schedule.clone().next(self.ready(start), |class| self.queues[class].need())?;
        self.queues[class].front().map(|waiting| start + waiting.cost)
    }

    /// Nothing waits, and no class is held now or as far as is known.
    #[inline]
    pub(crate) fn is_quiet(&mut self, now: Time) -> bool {
        if self.occupied | self.held != 0 {
            self.forget_holds(now);
        }
        self.occupied | self.held == 0
    }

    /// Takes a frame that waits in any case.
    #[inline]
    pub(crate) fn admit(&mut self, now: Time, waiting: Waiting, class: u8) -> Taken {
        if !self.has_room(now, class, waiting.len) {
            return Taken::Dropped;
        }
        self.queue(waiting, class);
        Taken::Queued
    }

    /// Class and length of the frame that [`Egress::next`] would give.
    pub(crate) fn peek(&self, now: Time) -> Option<(u8, u16)> {
        let class = self.schedule.clone().next(self.ready(now), |class| self.queues[class].need())?;
        self.queues[class].front().map(|waiting| (class as u8, waiting.len))
    }

    /// The frame whose transmission starts now, if some class may send.
    #[inline]
    pub(crate) fn next(&mut self, now: Time) -> Option<FrameId> {
        self.pop(now).map(|(_, waiting)| waiting.frame)
    }

    /// The same with its class and what else is known of it here.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<(u8, Waiting)> {
        let only = self.occupied.trailing_zeros() as usize;
        let class = if self.held == 0 && self.occupied.is_power_of_two() && self.strict >> only & 1 != 0 {
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
        self.note_leaving(now + waiting.cost, class as u8, waiting.len);
        Some((class as u8, waiting))
    }

    /// The frames that wait in a class, the next one first.
    pub(crate) fn waiting_in(&self, class: u8) -> impl Iterator<Item = &Waiting> {
        self.queues[usize::from(class)].iter()
    }

    /// Gives up the first frame of a class, whether or not the class may send.
    pub(crate) fn drop_first(&mut self, class: u8) -> Option<Waiting> {
        let queue = &mut self.queues[usize::from(class)];
        let waiting = queue.pop()?;
        if queue.is_empty() {
            self.occupied &= !(1 << class);
            self.schedule.on_empty(usize::from(class));
        }
        self.take_out(class, waiting.len);
        Some(waiting)
    }

    /// When the next frame may start, if the wire is free from `free_at` on; `None` if nothing waits, or all that does
    /// waits to be told.
    #[inline]
    pub(crate) fn next_start(&self, free_at: Time) -> Option<Time> {
        if self.held & self.occupied == 0 {
            return (self.occupied != 0).then_some(free_at);
        }
        self.waiting().map(|class| self.pauses.opens(class, free_at)).min().filter(|start| *start < Time::MAX)
    }

    /// Holds a class, or lets it go; see [`Pauses::pause`]. What it does to [`Egress::next_start`] is the caller's to
    /// see to.
    pub(crate) fn pause(&mut self, class: u8, hold: Hold) {
        assert!(!self.immediate, "departures that are settled ahead cannot be held");
        self.pauses.pause(class, hold);
        self.held |= 1 << class;
    }

    /// The time that all that waits will take.
    pub(crate) fn backlog(&self) -> Span {
        self.queues.iter().fold(Span::ZERO, |sum, queue| sum + queue.backlog)
    }

    /// The time that what waits of a class will take.
    #[inline]
    pub(crate) fn backlog_of(&self, class: u8) -> Span {
        self.queues[usize::from(class)].backlog
    }

    #[inline]
    fn queue(&mut self, waiting: Waiting, class: u8) {
        if class == self.apart {
            self.apart_bytes += u64::from(waiting.len);
        } else if self.bounded {
            self.queued_bytes += u64::from(waiting.len);
        }
        self.occupied |= 1 << class;
        self.queues[usize::from(class)].push(waiting);
    }

    #[inline]
    fn take_out(&mut self, class: u8, len: u16) {
        if class == self.apart {
            self.apart_bytes -= u64::from(len);
        } else if self.bounded {
            self.queued_bytes -= u64::from(len);
        }
    }

    /// The classes that may send now, a bit each.
    fn ready(&self, now: Time) -> u8 {
        if self.held & self.occupied == 0 {
            return self.occupied;
        }
        let open = |class: &u8| !self.pauses.is_paused(*class, now);
        self.waiting().filter(open).fold(0, |ready, class| ready | 1 << class)
    }

    /// What is over is asked for no more.
    fn forget_holds(&mut self, now: Time) {
        let mut left = self.held;
        while left != 0 {
            let class = left.trailing_zeros() as u8;
            left &= left - 1;
            if !self.pauses.lasts(class, now) {
                self.held &= !(1 << class);
            }
        }
    }

    /// The classes with frames that wait.
    fn waiting(&self) -> impl Iterator<Item = u8> + use<> {
        let mut left = self.occupied;
        std::iter::from_fn(move || {
            let class = left.trailing_zeros() as u8;
            left &= left.wrapping_sub(1);
            (usize::from(class) < CLASSES).then_some(class)
        })
    }

    /// Whether a frame of that class finds room.
    pub(crate) fn has_room(&mut self, now: Time, class: u8, len: u16) -> bool {
        if class == self.apart {
            return self.apart_bytes + u64::from(len) <= self.apart_bytes_max;
        }
        if !self.bounded {
            return true;
        }
        while let Some((_, bytes)) = self.leaving.pop_front_if(|(done, _)| *done <= now) {
            self.leaving_bytes -= u64::from(bytes);
        }
        self.leaving_bytes + self.queued_bytes + u64::from(len) <= self.buffer_bytes_max
    }

    fn note_leaving(&mut self, done: Time, class: u8, len: u16) {
        if self.bounded && class != self.apart {
            self.leaving.push_back((done, u32::from(len)));
            self.leaving_bytes += u64::from(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{Frame, GAP_BYTES, Store};

    /// A port on a wire that takes a nanosecond a byte, with a record of what left.
    struct Line {
        egress: Egress,
        frames: Store,
        free_at: Time,
        offered: Vec<Offered>,
        /// Which of those offered left, and when.
        sent: Vec<(Time, usize)>,
    }

    #[derive(Clone, Copy)]
    struct Offered {
        at: Time,
        class: u8,
        cost: Span,
    }

    impl Line {
        fn new(schedule: Schedule) -> Self {
            let (egress, frames) = (Egress::scheduled(schedule, None), Store::default());
            Self { egress, frames, free_at: Time::ZERO, offered: Vec::new(), sent: Vec::new() }
        }

        fn offer(&mut self, now: Time, class: u8, len: u16) {
            let cost = Span::from_ns(u64::from(len) + GAP_BYTES);
            let frame = Frame { serial: self.offered.len() as u32, ..Frame::blank() }.with_class(class);
            let waiting = Waiting { frame: self.frames.insert(frame), len, ingress: 0, cost };
            self.offered.push(Offered { at: now, class, cost });
            match self.egress.offer(now, waiting, class, self.free_at) {
                Taken::Passed => self.send(now, waiting.frame),
                Taken::Queued => {}
                Taken::Dropped => panic!("there is no limit"),
            }
        }

        /// Sends what may start before `end`, at the times that the port itself names.
        fn run(&mut self, now: Time, end: Time) {
            while let Some(start) = self.egress.next_start(self.free_at.max(now))
                && start < end
            {
                let frame = self.egress.next(start).expect("a port that comes back has something to send");
                self.send(start, frame);
            }
        }

        fn send(&mut self, start: Time, frame: FrameId) {
            assert!(start >= self.free_at, "one frame at a time");
            let number = self.frames.remove(frame).serial as usize;
            self.free_at = start + self.offered[number].cost;
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
        let mut line = Line::new(Schedule::weighted(&[(2, 1), (5, 1)]));
        for class in [0, 2, 5, 7, 2, 5, 7] {
            line.offer(at(0), class, 2028);
        }
        line.run(at(0), Time::MAX);
        // The first found the port idle.
        assert_eq!(line.classes(), [0, 7, 7, 5, 2, 5, 2]);
    }

    #[test]
    fn a_paused_class_lets_others_pass_and_keeps_its_order() {
        let mut line = Line::new(Schedule::all_strict());
        line.egress.pause(3, Hold { from: at(1), until: at(5000) });
        line.run(at(0), at(10));
        for class in [3, 3, 0, 3, 1] {
            line.offer(at(10), class, 980);
        }
        line.run(at(10), Time::MAX);
        assert_eq!(line.classes(), [1, 0, 3, 3, 3]);
        assert_eq!(line.sent, [(at(10), 4), (at(1010), 2), (at(5000), 0), (at(6000), 1), (at(7000), 3)]);
    }

    #[test]
    fn a_class_is_held_from_the_first_instant_to_before_the_last() {
        for (offered, starts) in [(99, 99), (100, 200), (150, 200), (199, 200), (200, 200), (201, 201)] {
            let mut line = Line::new(Schedule::all_strict());
            line.egress.pause(0, Hold { from: at(100), until: at(200) });
            line.offer(at(offered), 0, 64);
            line.run(at(offered), Time::MAX);
            assert_eq!(line.sent, [(at(starts), 0)], "offered at {offered}");
        }
    }

    #[test]
    fn a_departure_at_the_instant_of_a_pause_goes_whichever_is_first() {
        for pause_first in [false, true] {
            let mut line = Line::new(Schedule::all_strict());
            line.offer(at(0), 0, 980);
            line.offer(at(0), 0, 980);
            let hold = Hold { from: at(1000) + Hold::NOTICE, until: at(9000) };
            if pause_first {
                line.egress.pause(0, hold);
            }
            line.run(at(0), at(1001));
            if !pause_first {
                line.egress.pause(0, hold);
            }
            assert_eq!(line.sent, [(at(0), 0), (at(1000), 1)], "{pause_first}");
        }
    }

    #[test]
    fn what_waits_without_end_is_let_go() {
        let mut line = Line::new(Schedule::all_strict());
        line.egress.pause(4, Hold { from: at(0), until: Time::MAX });
        line.offer(at(5), 4, 980);
        assert_eq!(line.egress.next_start(at(5)), None, "there is nothing to come back for");
        line.egress.pause(4, Hold { from: at(70) + Hold::NOTICE, until: at(70) });
        assert_eq!(line.egress.next_start(at(70)), Some(at(70)));
    }

    #[test]
    fn a_paused_frame_takes_room() {
        let mut egress = Egress::scheduled(Schedule::all_strict(), Some(1000));
        let mut frames = Store::default();
        egress.pause(1, Hold { from: at(0), until: at(100) });
        let frame = frames.insert(Frame::blank());
        let waiting = Waiting { frame, len: 600, ingress: 0, cost: Span::from_ns(620) };
        assert_eq!(egress.offer(at(0), waiting, 1, at(0)), Taken::Queued);
        assert_eq!(egress.offer(at(50), waiting, 0, at(0)), Taken::Dropped);
        assert_eq!(egress.next(at(99)), None);
        assert_eq!(egress.next(at(100)), Some(waiting.frame));
        assert_eq!(egress.offer(at(719), waiting, 0, at(720)), Taken::Dropped);
        assert_eq!(egress.offer(at(720), waiting, 0, at(720)), Taken::Passed);
    }

    /// What happens at a port, and how long after what happened before.
    #[derive(Clone, Copy, Debug)]
    enum Act {
        Offer { class: u8, len: u16 },
        Hold { class: u8, ns: u64 },
        LetGo { class: u8 },
    }

    fn acts() -> impl Strategy<Value = Vec<(u64, bool, Act)>> {
        let class = 0..CLASSES as u8;
        let act = prop_oneof![
            4 => (class.clone(), 64..9217_u16).prop_map(|(class, len)| Act::Offer { class, len }),
            1 => (class.clone(), 1..30_000_u64).prop_map(|(class, ns)| Act::Hold { class, ns }),
            1 => class.prop_map(|class| Act::LetGo { class }),
        ];
        let gap = prop_oneof![Just(0), 0..100_u64, 0..20_000_u64];
        prop::collection::vec((gap, any::<bool>(), act), 1..120)
    }

    /// Every hold that a class was given: when it was told, and until when it was to last.
    type Told = Vec<(Time, u8, Time)>;

    /// Whether a class had to wait at an instant, from the record alone: the last word before the instant counts, or a
    /// word of that very instant if it lets go.
    fn was_held(told: &Told, class: u8, instant: Time) -> bool {
        let mut words = told
            .iter()
            .filter(|(now, of, until)| *of == class && (*now < instant || (*now == instant && until == now)));
        words.next_back().is_some_and(|(_, _, until)| instant < *until)
    }

    fn assert_never_idle_in_vain(line: &Line, told: &Told) {
        let mut free_at = Time::ZERO;
        let mut has_left = vec![false; line.offered.len()];
        for (start, number) in &line.sent {
            for (other, offered) in line.offered.iter().enumerate().filter(|(other, _)| !has_left[*other]) {
                let since = free_at.max(offered.at);
                let ends = told.iter().flat_map(|(now, _, until)| [*now, *until]);
                let idle = ends.chain([since]).filter(|instant| (since..*start).contains(instant));
                for instant in idle {
                    assert!(
                        was_held(told, offered.class, instant),
                        "frame {other} of class {} waits at {instant} for nothing; {number} starts at {start}",
                        offered.class
                    );
                }
            }
            assert!(!was_held(told, line.offered[*number].class, *start), "{number} starts though held");
            has_left[*number] = true;
            free_at = *start + line.offered[*number].cost;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// A port is never idle while a class that may send waits, and sends all frames of a class in their order.
        #[test]
        fn nothing_waits_in_vain_or_is_lost(
            acts in acts(),
            weights in prop::collection::btree_map(0..CLASSES as u8, 1..1001_u32, 0..5),
        ) {
            let mut line = Line::new(Schedule::weighted(&weights.into_iter().collect::<Vec<_>>()));
            let (mut now, mut told) = (Time::ZERO, Told::new());
            for (gap, departs_first, act) in acts {
                let next = now + Span::from_ns(gap);
                line.run(now, if departs_first { next + Span::from_ps(1) } else { next });
                now = next;
                match act {
                    Act::Offer { class, len } => line.offer(now, class, len),
                    Act::Hold { class, ns } => {
                        let until = now + Span::from_ns(ns);
                        line.egress.pause(class, Hold { from: now + Hold::NOTICE, until });
                        told.push((now, class, until));
                    }
                    Act::LetGo { class } => {
                        line.egress.pause(class, Hold { from: now + Hold::NOTICE, until: now });
                        told.push((now, class, now));
                    }
                }
            }
            line.run(now, Time::MAX);
            prop_assert_eq!(line.sent.len(), line.offered.len(), "all leave once");
            for class in 0..CLASSES as u8 {
                let of_class = line.sent.iter().map(|(_, number)| *number);
                let of_class = of_class.filter(|number| line.offered[*number].class == class);
                prop_assert!(of_class.is_sorted(), "class {} keeps its order", class);
            }
            assert_never_idle_in_vain(&line, &told);
            prop_assert_eq!(line.egress.backlog(), Span::ZERO);
        }
    }
}
