//! Signals that nobody should send.

use wiremend_proto::link::{
    Ack, Config, Disposal, Endpoint, Hello, HelloKind, Hole, Missing, Signal, Transmit, Waiting,
};
use wiremend_testkit::Dice;
use wiremend_units::{Bytes, Span, Time};

use super::config;

const WAITING: Waiting = Waiting { len: Bytes::new(1000), ordered: true };

/// An end that has sent `frames`, and what it does when the other is a test.
fn active(frames: u32) -> Endpoint<u32, 8> {
    let mut end = Endpoint::new(Config { rtt: Some(Span::from_us(2)), ..config() });
    end.activate(Time::ZERO, 1);
    let Some(Transmit::Own(Signal::Hello(open))) = end.poll_transmit(Time::ZERO, None) else {
        panic!("it opens")
    };
    end.on_signal(Time::from_ns(1), &Signal::Hello(Hello { kind: HelloKind::Accept, ..open }), None);
    for no in 0..frames {
        let Some(Transmit::Fresh(_)) = end.poll_transmit(Time::from_ns(2), Some(WAITING)) else {
            panic!("it sends")
        };
        end.on_sent(Time::from_ns(2), no);
    }
    end
}

fn copies(end: &mut Endpoint<u32, 8>, now: Time) -> usize {
    std::iter::from_fn(|| end.poll_transmit(now, None))
        .filter(|transmit| matches!(transmit, Transmit::Again(..)))
        .count()
}

fn missing(next: u32, upto: u32, hole: Hole) -> Signal {
    let mut holes = [Hole::default(); Missing::HOLES_MAX];
    holes[0] = hole;
    Signal::Missing(Missing { ack: Ack { epoch: 1, next, pause: false }, upto, holes, hole_count: 1 })
}

/// The prototype takes the last ACK for the truth.
#[test]
fn an_old_ack_moves_nothing_back() {
    let mut end = active(10);
    let ack = |next| Signal::Ack(Ack { epoch: 1, next, pause: false });
    end.on_signal(Time::from_ns(10), &ack(8), None);
    assert_eq!(std::iter::from_fn(|| end.poll()).count(), 8);
    end.on_signal(Time::from_ns(11), &ack(3), None);
    assert_eq!((end.poll(), end.counters().ignored), (None, 1));
    end.on_signal(Time::from_ns(12), &ack(10), None);
    assert_eq!(std::iter::from_fn(|| end.poll()).count(), 2);
}

#[test]
fn an_ack_of_what_was_never_sent_is_ignored() {
    let mut end = active(10);
    end.on_signal(Time::from_ns(10), &Signal::Ack(Ack { epoch: 1, next: 11, pause: true }), None);
    end.on_signal(Time::from_ns(10), &Signal::Ack(Ack { epoch: 2, next: 5, pause: true }), None);
    assert_eq!((end.poll(), end.counters().ignored), (None, 2));
    assert!(matches!(end.poll_transmit(Time::from_ns(10), Some(WAITING)), Some(Transmit::Fresh(_))));
}

/// A request that comes again and again is met once in a round trip.
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
fn holes_that_cannot_be_are_ignored() {
    for hole in [Hole { first: 200, len: 1 }, Hole { first: 5, len: 60 }, Hole { first: 10, len: 1 }] {
        let mut end = active(10);
        end.on_signal(Time::from_ns(10), &missing(0, 10, hole), None);
        assert_eq!(copies(&mut end, Time::from_ns(10)), 0, "{hole:?}");
        assert_eq!(end.poll(), None);
    }
}

#[test]
fn a_signal_without_its_frame_and_a_frame_without_its_signal_are_ignored() {
    let mut end = active(1);
    let data = Signal::Data { epoch: 1, seq: 0, ordered: true, again: false, ack: None };
    end.on_signal(Time::from_ns(10), &data, None);
    let ack = Signal::Ack(Ack { epoch: 1, next: 1, pause: false });
    end.on_signal(Time::from_ns(10), &ack, Some((9, Bytes::new(100))));
    assert_eq!((end.poll(), end.poll()), (Some(Disposal::Discard(9)), None));
}

/// A sender is never further ahead than half the numbers, whatever dummies say. Places are kept in memory: what is missing must not grow with lies.
#[test]
fn dummies_do_not_run_ahead() {
    let mut end = Endpoint::<u32, 8>::new(config());
    let open = Hello { kind: HelloKind::Open, epoch: 1, stamp_ns: 0, rtt_ns: 2000 };
    end.on_signal(Time::from_ns(1), &Signal::Hello(open), None);
    for step in 1..1000 {
        let dummy = Signal::Dummy { epoch: 1, next: step * 100 % 256, ack: None };
        end.on_signal(Time::from_ns(2), &dummy, None);
    }
    assert!(end.counters().missed < 128, "{} places are missing", end.counters().missed);
    assert!(end.counters().ignored > 0);
}

/// Nothing that comes makes an end panic, lose a handle, or wait for ever.
#[test]
fn noise_is_survived() {
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let mut end = active(dice.below(20) as u32);
        let (mut now, mut given, mut sent) = (Time::from_ns(100), 0_u32, end.counters().protected);
        for _ in 0..400 {
            now += Span::from_ns(dice.below(400));
            let signal = noise(&mut dice);
            let frame = matches!(signal, Signal::Data { .. }).then(|| {
                given += 1;
                (given, Bytes::new(100 + dice.below(1000)))
            });
            end.on_signal(now, &signal, frame);
            if let Some(Transmit::Fresh(_)) = end.poll_transmit(now, Some(WAITING)) {
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
            assert!(rounds < 10_000, "seed {seed} never comes to rest");
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

fn noise(dice: &mut Dice) -> Signal {
    let mut number = || dice.below(256) as u32;
    let (a, b, c) = (number(), number(), number());
    let epoch = dice.pick(&[1, 1, 1, 2, 9]);
    let ack = Ack { epoch, next: a, pause: dice.below(4) == 0 };
    let maybe = (dice.below(2) == 0).then_some(ack);
    match dice.below(8) {
        0..=2 => {
            let (ordered, again) = (dice.below(2) == 0, dice.below(3) == 0);
            Signal::Data { epoch, seq: b, ordered, again, ack: maybe }
        }
        3 => Signal::Dummy { epoch, next: b, ack: maybe },
        4 => Signal::Ack(ack),
        5 | 6 => {
            let hole = |dice: &mut Dice| Hole { first: dice.below(256) as u32, len: dice.below(300) as u16 };
            let holes = std::array::from_fn(|_| hole(dice));
            Signal::Missing(Missing { ack, upto: c, holes, hole_count: dice.below(9) as u8 })
        }
        _ => {
            use HelloKind::{Accept, Close, Closed, Open, Unknown};
            let kind = dice.pick(&[Open, Accept, Close, Closed, Unknown]);
            let rtt_ns = dice.pick(&[0, 1, 2000, u32::MAX]);
            Signal::Hello(Hello { kind, epoch: u32::from(epoch), stamp_ns: dice.throw() as u32, rtt_ns })
        }
    }
}
