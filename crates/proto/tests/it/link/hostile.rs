//! Invalid and forged signals.

use wiremend_proto::link::{
    Ack, Config, Disposal, Endpoint, Hello, HelloKind, Hole, LinkHeader, Missing, QueueHead, Transmit,
};
use wiremend_testkit::Random;
use wiremend_units::{Bytes, Span, Time};

use super::config;

const HEAD: QueueHead = QueueHead { len: Bytes::new(1000), ordered: true };

/// An active end that has sent `frames` frames; the test plays the other end.
fn active(frames: u32) -> Endpoint<u32, 8> {
    let mut end = Endpoint::new(Config { rtt: Some(Span::from_us(2)), ..config() });
    end.activate(Time::ZERO, 1);
    let Some(Transmit::Control(LinkHeader::Hello(open))) = end.poll_transmit(Time::ZERO, None) else {
        panic!("no open")
    };
    end.on_signal(Time::from_ns(1), &LinkHeader::Hello(Hello { kind: HelloKind::Accept, ..open }), None);
    for no in 0..frames {
        let Some(Transmit::New(_)) = end.poll_transmit(Time::from_ns(2), Some(HEAD)) else {
            panic!("no frame")
        };
        end.on_sent(Time::from_ns(2), no);
    }
    end
}

fn copies(end: &mut Endpoint<u32, 8>, now: Time) -> usize {
    std::iter::from_fn(|| end.poll_transmit(now, None))
        .filter(|transmit| matches!(transmit, Transmit::Retransmission(..)))
        .count()
}

fn missing(next: u32, upto: u32, hole: Hole) -> LinkHeader {
    let mut holes = [Hole::default(); Missing::HOLES_MAX];
    holes[0] = hole;
    LinkHeader::Missing(Missing { ack: Ack { epoch: 1, next, pause: false }, upto, holes, hole_count: 1 })
}

/// The prototype accepts an older ACK.
#[test]
fn old_ack_has_no_effect() {
    let mut end = active(10);
    let ack = |next| LinkHeader::Ack(Ack { epoch: 1, next, pause: false });
    end.on_signal(Time::from_ns(10), &ack(8), None);
    assert_eq!(std::iter::from_fn(|| end.poll()).count(), 8);
    end.on_signal(Time::from_ns(11), &ack(3), None);
    assert_eq!((end.poll(), end.counters().ignored), (None, 1));
    end.on_signal(Time::from_ns(12), &ack(10), None);
    assert_eq!(std::iter::from_fn(|| end.poll()).count(), 2);
}

#[test]
fn ack_of_unsent_frames_is_ignored() {
    let mut end = active(10);
    end.on_signal(Time::from_ns(10), &LinkHeader::Ack(Ack { epoch: 1, next: 11, pause: true }), None);
    end.on_signal(Time::from_ns(10), &LinkHeader::Ack(Ack { epoch: 2, next: 5, pause: true }), None);
    assert_eq!((end.poll(), end.counters().ignored), (None, 2));
    assert!(matches!(end.poll_transmit(Time::from_ns(10), Some(HEAD)), Some(Transmit::New(_))));
}

/// A repeated request is served once per round trip.
#[test]
fn requests_do_not_amplify() {
    let mut end = active(10);
    let request = missing(0, 10, Hole { first: 0, len: 1 });
    let mut count = 0;
    for ns in 10..1000 {
        end.on_signal(Time::from_ns(ns), &request, None);
        count += copies(&mut end, Time::from_ns(ns));
    }
    assert_eq!(count, 2, "two copies");
}

#[test]
fn impossible_holes_are_ignored() {
    for hole in [Hole { first: 200, len: 1 }, Hole { first: 5, len: 60 }, Hole { first: 10, len: 1 }] {
        let mut end = active(10);
        end.on_signal(Time::from_ns(10), &missing(0, 10, hole), None);
        assert_eq!(copies(&mut end, Time::from_ns(10)), 0, "{hole:?}");
        assert_eq!(end.poll(), None);
    }
}

#[test]
fn signal_without_frame_and_frame_without_signal_are_ignored() {
    let mut end = active(1);
    let data = LinkHeader::Data { epoch: 1, seq: 0, ordered: true, retransmitted: false, ack: None };
    end.on_signal(Time::from_ns(10), &data, None);
    let ack = LinkHeader::Ack(Ack { epoch: 1, next: 1, pause: false });
    end.on_signal(Time::from_ns(10), &ack, Some((9, Bytes::new(100))));
    assert_eq!((end.poll(), end.poll()), (Some(Disposal::Discard(9)), None));
}

/// A sender is at most half the numbers ahead. Forged dummies must not make the state of missing positions
/// grow without bound.
#[test]
fn forged_dummies_open_bounded_holes() {
    let mut end = Endpoint::<u32, 8>::new(config());
    let open = Hello { kind: HelloKind::Open, epoch: 1, stamp_ns: 0, rtt_ns: 2000 };
    end.on_signal(Time::from_ns(1), &LinkHeader::Hello(open), None);
    for step in 1..1000 {
        let dummy = LinkHeader::Dummy { epoch: 1, next: step * 100 % 256, ack: None };
        end.on_signal(Time::from_ns(2), &dummy, None);
    }
    assert!(end.counters().missed < 128, "{} positions are missing", end.counters().missed);
    assert!(end.counters().ignored > 0);
}

/// No signal makes an end panic, lose a handle, or wait for ever.
#[test]
fn random_signals_do_no_harm() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let mut end = active(random.below(20) as u32);
        let (mut now, mut given, mut sent) = (Time::from_ns(100), 0_u32, end.counters().protected);
        for _ in 0..400 {
            now += Span::from_ns(random.below(400));
            let signal = random_signal(&mut random);
            let frame = matches!(signal, LinkHeader::Data { .. }).then(|| {
                given += 1;
                (given, Bytes::new(100 + random.below(1000)))
            });
            end.on_signal(now, &signal, frame);
            if let Some(Transmit::New(_)) = end.poll_transmit(now, Some(HEAD)) {
                end.on_sent(now, 0);
                sent += 1;
            }
            if end.next_timeout().is_some_and(|at| at <= now) {
                end.on_timeout(now);
            }
        }
        end.deactivate(now);
        let mut rounds = 0;
        while let Some(at) = end.next_timeout().or_else(|| {
            let silent = end.poll_transmit(now, None).is_none();
            (!silent).then_some(now)
        }) {
            now = now.max(at);
            end.on_timeout(now);
            rounds += 1;
            assert!(rounds < 10_000, "seed {seed} never becomes idle");
        }
        let (mut released, mut passed_on) = (0, 0);
        while let Some(disposal) = end.poll() {
            match disposal {
                Disposal::Release(_) => released += 1,
                Disposal::Deliver(_) | Disposal::Discard(_) => passed_on += 1,
            }
        }
        assert_eq!((released, passed_on), (sent, u64::from(given)), "seed {seed}");
    }
}

fn random_signal(random: &mut Random) -> LinkHeader {
    let mut number = || random.below(256) as u32;
    let (a, b, c) = (number(), number(), number());
    let epoch = random.pick(&[1, 1, 1, 2, 9]);
    let ack = Ack { epoch, next: a, pause: random.below(4) == 0 };
    let maybe = (random.below(2) == 0).then_some(ack);
    match random.below(8) {
        0..=2 => {
            let (ordered, retransmitted) = (random.below(2) == 0, random.below(3) == 0);
            LinkHeader::Data { epoch, seq: b, ordered, retransmitted, ack: maybe }
        }
        3 => LinkHeader::Dummy { epoch, next: b, ack: maybe },
        4 => LinkHeader::Ack(ack),
        5 | 6 => {
            let hole =
                |random: &mut Random| Hole { first: random.below(256) as u32, len: random.below(300) as u16 };
            let holes = std::array::from_fn(|_| hole(random));
            LinkHeader::Missing(Missing { ack, upto: c, holes, hole_count: random.below(9) as u8 })
        }
        _ => {
            use HelloKind::{Accept, Close, Closed, Leave, Open, Unknown};
            let kind = random.pick(&[Open, Accept, Close, Closed, Unknown, Leave]);
            let rtt_ns = random.pick(&[0, 1, 2000, u32::MAX]);
            LinkHeader::Hello(Hello { kind, epoch: u32::from(epoch), stamp_ns: random.draw() as u32, rtt_ns })
        }
    }
}

/// The receiver of `config` has delivered `frames` frames.
fn receiving(config: Config, frames: u32) -> Endpoint<u32> {
    let mut end = Endpoint::new(config);
    let open = Hello { kind: HelloKind::Open, epoch: 1, stamp_ns: 0, rtt_ns: 2000 };
    end.on_signal(Time::ZERO, &LinkHeader::Hello(open), None);
    (0..frames).for_each(|seq| assert_eq!(arrive(&mut end, seq), Some(Disposal::Deliver(seq))));
    end
}

fn arrive(end: &mut Endpoint<u32>, seq: u32) -> Option<Disposal<u32>> {
    let signal = LinkHeader::Data { epoch: 1, seq, ordered: true, retransmitted: false, ack: None };
    end.on_signal(Time::from_ns(1), &signal, Some((seq, Bytes::new(100))));
    end.poll()
}

#[test]
fn number_far_ahead_needs_a_second_frame() {
    let config = Config { unconfirmed_jump_max: Some(32), ..config() };
    let mut end = receiving(config, 10);
    for forged in [43, 1000, 90, 500_000] {
        assert_eq!(arrive(&mut end, forged), Some(Disposal::Discard(forged)));
        end.on_signal(Time::from_ns(1), &LinkHeader::Dummy { epoch: 1, next: forged + 70, ack: None }, None);
    }
    assert_eq!((end.counters().missed, end.counters().ignored), (0, 8));
    assert_eq!(arrive(&mut end, 10), Some(Disposal::Deliver(10)));
    // Forty frames are lost: the second one after the gap shows that.
    assert_eq!(arrive(&mut end, 51), Some(Disposal::Discard(51)));
    assert_eq!(arrive(&mut end, 52), None, "it waits for those before");
    assert_eq!(end.counters().missed, 41);
}

/// Forged frames make a receiver report numbers that were never sent. What was sent is retransmitted.
#[test]
fn holes_beyond_the_last_frame_are_served_up_to_it() {
    let mut end = active(10);
    end.on_signal(Time::from_ns(10), &missing(7, 60, Hole { first: 7, len: 53 }), None);
    assert_eq!(copies(&mut end, Time::from_ns(10)), 6, "two copies of each");
    assert_eq!(end.counters().ignored, 0);
}
