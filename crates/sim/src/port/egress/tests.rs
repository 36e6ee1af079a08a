//! Tests of the queues of a port.

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
        let waiting = QueuedFrame::new(self.frames.insert(frame), len, 0, wire_time);
        self.offered.push(Offered { at: now, class, wire_time });
        match self.egress.offer(now, waiting, class, self.free_at) {
            OfferOutcome::Passed => self.send(now, waiting.frame()),
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
            self.send(start, waiting.frame());
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
    let waiting = QueuedFrame::new(frame, 600, 0, Span::from_ns(620));
    assert_eq!(egress.offer(at(0), waiting, 1, at(0)), OfferOutcome::Queued);
    assert_eq!(egress.offer(at(50), waiting, 0, at(0)), OfferOutcome::Dropped);
    assert!(egress.pop(at(99)).is_none());
    assert_eq!(egress.pop(at(100)).map(|(_, next)| next.frame()), Some(waiting.frame()));
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
        assert!(!was_paused(pauses, port.offered[*number].class, *start), "{number} starts during a pause");
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
