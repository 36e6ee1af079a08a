//! Priority flow control: thresholds, pauses and resumes.

use proptest::prelude::*;
use wiremend_proto::pfc::{Admission, Alpha, Buffer, Config, PauseTimes, PortConfig};
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::Quanta;

const CLASS: u8 = 3;

/// Two ports with 10 kB of headroom and 1 kB of reserve each; 16 kB are shared, and α is 1/2.
fn config() -> Config {
    let port = PortConfig { headroom: Bytes::new(10_000), rate: Rate::gbps(100), reaction: Span::ZERO };
    Config {
        buffer: Bytes::new(38_000),
        alpha: Alpha::from_parts(Alpha::PARTS / 2).unwrap(),
        reserve: Bytes::new(1_000),
        resume_offset: Bytes::new(2_000),
        lossless: 1 << CLASS,
        quanta: Quanta(1_000),
        copies: 1,
        frame_max: Bytes::new(1_000),
        ports: vec![port; 2],
    }
}

fn buffer() -> Buffer {
    Buffer::new(config()).unwrap()
}

fn fill(buffer: &mut Buffer, port: u16, frames: usize) -> Vec<Admission> {
    (0..frames).map(|_| buffer.admit(port, CLASS, 1_000)).collect()
}

fn drain(buffer: &mut Buffer, port: u16, frames: usize) {
    (0..frames).for_each(|_| buffer.release(port, CLASS, 1_000));
}

fn pause_times(quanta: u16) -> PauseTimes {
    let mut classes = [None; 8];
    classes[usize::from(CLASS)] = Some(Quanta(quanta));
    classes
}

const fn at(ns: u64) -> Time {
    Time::from_ns(ns)
}

/// One queue q above its reserve: q ≤ (16 kB − (q − frame)) / 2 for the last frame below the threshold, so
/// five after the reserve.
#[test]
fn threshold_falls_as_the_buffer_fills() {
    let mut buffer = buffer();
    assert_eq!(buffer.threshold(), Bytes::new(8_000));
    let admissions = fill(&mut buffer, 0, 6);
    assert_eq!(admissions, [Admission::BelowThreshold; 6]);
    assert_eq!(buffer.threshold(), Bytes::new(5_500));
    assert_eq!(buffer.poll(), None);
    assert_eq!(fill(&mut buffer, 0, 1), [Admission::Headroom]);
    // The other port has its reserve, and a threshold that the first has lowered.
    assert_eq!(fill(&mut buffer, 1, 6)[4..], [Admission::BelowThreshold, Admission::Headroom]);
    assert_eq!(buffer.counters().held_bytes, 13_000);
}

#[test]
fn neighbour_is_paused_once_above_the_threshold() {
    let mut buffer = buffer();
    fill(&mut buffer, 0, 9);
    assert_eq!((buffer.poll(), buffer.poll()), (Some(0), None));
    assert!(buffer.is_due(0) && !buffer.is_due(1));
    assert_eq!(buffer.poll_transmit(at(5), 0), Some(pause_times(1_000)));
    assert_eq!(buffer.poll_transmit(at(6), 0), None, "one PFC frame");
    fill(&mut buffer, 0, 5);
    assert_eq!(buffer.poll(), None);
    assert_eq!((buffer.counters().pauses, buffer.counters().headroom_bytes_max), (1, 8_000));
}

#[test]
fn frames_beyond_headroom_are_dropped_and_counted() {
    let mut buffer = buffer();
    let admissions = fill(&mut buffer, 0, 17);
    assert_eq!(admissions[6..16], [Admission::Headroom; 10]);
    assert_eq!(admissions[16], Admission::Dropped);
    assert_eq!((buffer.counters().lossless_dropped, buffer.counters().held_bytes), (1, 16_000));
}

/// A port without headroom pauses its neighbour after a drop.
#[test]
fn drop_pauses_the_neighbour_too() {
    let port = PortConfig { headroom: Bytes::ZERO, rate: Rate::gbps(100), reaction: Span::ZERO };
    let mut buffer = Buffer::new(Config { ports: vec![port], ..config() }).unwrap();
    assert_eq!(fill(&mut buffer, 0, 40).last(), Some(&Admission::Dropped));
    assert_eq!(buffer.poll_transmit(at(0), 0), Some(pause_times(1_000)));
}

/// Headroom must be empty and the bytes 2 kB below the threshold: at 5 kB with the reserve, 4 kB against (16
/// − 4) / 2.
#[test]
fn neighbour_resumes_below_the_threshold() {
    let mut buffer = buffer();
    fill(&mut buffer, 0, 10);
    buffer.poll();
    buffer.poll_transmit(at(0), 0);
    drain(&mut buffer, 0, 4);
    assert_eq!(buffer.poll(), None, "5 kB are shared, and the threshold is 5.5 kB");
    drain(&mut buffer, 0, 1);
    assert_eq!(buffer.poll(), Some(0));
    assert_eq!(buffer.poll_transmit(at(9), 0), Some(pause_times(0)));
    assert_eq!((buffer.counters().resumes, buffer.next_timeout()), (1, None));
}

/// A neighbour whose last frame has left resumes when another port frees shared bytes.
#[test]
fn bytes_freed_by_other_ports_resume_a_neighbour() {
    let config = Config { resume_offset: Bytes::new(6_000), ..config() };
    let mut buffer = Buffer::new(config).unwrap();
    fill(&mut buffer, 1, 7);
    fill(&mut buffer, 0, 7);
    while let Some(port) = buffer.poll() {
        buffer.poll_transmit(at(0), port);
    }
    drain(&mut buffer, 0, 7);
    assert_eq!(buffer.poll(), None, "the threshold is below 6 kB");
    drain(&mut buffer, 1, 3);
    assert_eq!(buffer.poll(), Some(0));
    assert_eq!(buffer.poll_transmit(at(1), 0), Some(pause_times(0)));
}

/// 1000 quanta are 5.12 µs at 100 Gbit/s.
#[test]
fn pause_is_refreshed_after_half_its_time() {
    let mut buffer = buffer();
    fill(&mut buffer, 0, 9);
    buffer.poll();
    buffer.poll_transmit(at(100), 0);
    assert_eq!(buffer.next_timeout(), Some(at(2_660)));
    buffer.on_timeout(at(2_659));
    assert_eq!(buffer.poll(), None);
    buffer.on_timeout(at(2_660));
    assert_eq!((buffer.poll(), buffer.next_timeout()), (Some(0), None));
    // The wire was busy.
    assert_eq!(buffer.poll_transmit(at(2_700), 0), Some(pause_times(1_000)));
    assert_eq!(buffer.next_timeout(), Some(at(5_260)));
    assert_eq!((buffer.counters().pauses, buffer.counters().refreshes, buffer.counters().frames), (1, 1, 2));
}

#[test]
fn class_that_was_not_paused_gets_no_resume() {
    let mut buffer = buffer();
    fill(&mut buffer, 0, 8);
    assert_eq!(buffer.poll(), Some(0));
    drain(&mut buffer, 0, 8);
    assert!(buffer.is_due(0));
    assert_eq!(buffer.poll_transmit(at(0), 0), None);
    assert_eq!((buffer.counters().frames, buffer.is_due(0)), (0, false));
}

/// Copies carry the state at their departure, and resumes that may have been lost.
#[test]
fn each_change_is_sent_as_often_as_configured() {
    let mut buffer = Buffer::new(Config { copies: 3, ..config() }).unwrap();
    let poll = |buffer: &mut Buffer, ns: u64| buffer.poll_transmit(at(ns), 0);
    fill(&mut buffer, 0, 9);
    for ns in 0..3 {
        assert_eq!(poll(&mut buffer, ns), Some(pause_times(1_000)));
    }
    assert_eq!((poll(&mut buffer, 3), buffer.next_timeout()), (None, Some(at(2_560))));
    // A pause and resume before all copies of a resume have left: the neighbour never gets the second pause.
    drain(&mut buffer, 0, 9);
    assert_eq!(poll(&mut buffer, 4), Some(pause_times(0)));
    fill(&mut buffer, 0, 9);
    drain(&mut buffer, 0, 9);
    for ns in 5..8 {
        assert_eq!(poll(&mut buffer, ns), Some(pause_times(0)));
    }
    assert_eq!(poll(&mut buffer, 8), None);
    let counters = buffer.counters();
    assert_eq!((counters.pauses, counters.resumes, counters.refreshes, counters.frames), (1, 1, 0, 7));
}

#[test]
fn pfc_frame_carries_the_state_of_all_classes() {
    let mut buffer =
        Buffer::new(Config { lossless: 0b1010, buffer: Bytes::new(60_000), ..config() }).unwrap();
    while buffer.admit(0, 1, 1_000) == Admission::BelowThreshold {}
    buffer.poll_transmit(at(0), 0);
    while buffer.admit(0, 3, 1_000) == Admission::BelowThreshold {}
    let times = buffer.poll_transmit(at(1), 0).unwrap();
    assert_eq!([1, 2, 3].map(|class: usize| times[class]), [Some(Quanta(1_000)), None, Some(Quanta(1_000))]);
}

#[test]
fn lossy_classes_are_dropped_above_the_threshold() {
    let mut buffer = buffer();
    let admissions: Vec<_> = (0..7).map(|_| buffer.admit(0, 0, 1_000)).collect();
    assert_eq!(admissions[..5], [Admission::BelowThreshold; 5]);
    assert_eq!(admissions[6], Admission::Dropped);
    assert_eq!((buffer.counters().lossy_dropped, buffer.counters().lossless_dropped), (2, 0));
    assert_eq!(buffer.poll(), None, "no pause for lossy classes");
}

proptest! {
    /// Random arrivals and departures: bytes are conserved, all bounds hold, and an empty buffer pauses no
    /// neighbour.
    #[test]
    fn buffer_conserves_bytes(steps in prop::collection::vec((0..2_u16, 0..8_u8, 64..1_500_u16, any::<bool>()), 1..300)) {
        let mut buffer = Buffer::new(Config { lossless: 0b1001, buffer: Bytes::new(70_000), ..config() }).unwrap();
        let mut inside = Vec::new();
        for (number, (port, class, len, comes)) in steps.into_iter().enumerate() {
            if comes || inside.is_empty() {
                if buffer.admit(port, class, len) != Admission::Dropped {
                    inside.push((port, class, len));
                }
            } else {
                let (port, class, len) = inside.remove(usize::from(len) % inside.len());
                buffer.release(port, class, len);
            }
            let sum: u64 = inside.iter().map(|(_, _, len)| u64::from(*len)).sum();
            prop_assert_eq!(buffer.counters().held_bytes, sum);
            prop_assert!(sum <= 70_000 && buffer.counters().headroom_bytes_max <= 10_000);
            while let Some(port) = buffer.poll() {
                buffer.poll_transmit(at(number as u64), port);
            }
        }
        for (port, class, len) in inside {
            buffer.release(port, class, len);
        }
        while let Some(port) = buffer.poll() {
            buffer.poll_transmit(at(1_000), port);
        }
        let counters = buffer.counters();
        prop_assert_eq!(counters.held_bytes, 0);
        prop_assert_eq!(counters.pauses, counters.resumes);
        prop_assert_eq!(buffer.next_timeout(), None);
        prop_assert_eq!(buffer.threshold(), Bytes::new((70_000 - 4 * 11_000) / 2));
    }
}
