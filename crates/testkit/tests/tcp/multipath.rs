//! Several subflows for one stream.

use proptest::prelude::*;
use wiremend_proto::engine::{Requester as _, Status};
use wiremend_proto::tcp::Config;
use wiremend_proto::tcp::cc::{Algorithm, Control};
use wiremend_testkit::Luck;
use wiremend_units::{Span, Time};

use crate::bundle::{Bundle, Path};
use crate::{common, config, swarm};

const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_ms(ms);

/// 8 Gb/s and 10 µs, with room for 100 segments.
fn path() -> Path {
    Path { queue: Span::from_us(100), ..Path::new(Span::from_us(10), Span::from_us(1)) }
}

fn transfer(paths: Vec<Path>, bytes: u32) -> Bundle {
    let mut bundle = Bundle::new(config(Algorithm::Lia), paths);
    bundle.post(bytes);
    assert!(bundle.run());
    assert_eq!((bundle.messages.as_slice(), bundle.completions.len()), (&[bytes][..], 1));
    bundle
}

/// RFC 6356 §2, goal 1: no worse than one path; here about twice as good.
#[test]
fn two_paths_carry_twice_as_much() {
    let time = |paths| transfer(paths, 20_000_000).now.as_ns() as f64;
    let (one, two) = (time(vec![path()]), time(vec![path(), path()]));
    assert!((1.7..2.05).contains(&(one / two)), "{one} and {two}");
}

/// RFC 6356 §2, goal 3: a path that loses much gets little, and the other is used all the same.
#[test]
fn traffic_moves_off_a_path_that_loses() {
    let bad = Path { luck: Luck { loss_ppm: 30_000, ..Luck::default() }, ..path() };
    let bundle = transfer(vec![bad, path()], 20_000_000);
    let shares = [0, 1].map(|subflow| bundle.bytes_of(subflow) as f64 / 20e6);
    assert!(shares[0] < 0.35 && shares[1] > 0.65, "{shares:?}");
    assert!(bundle.now < Time::ZERO + Span::from_us(30_000), "20 ms over one clean path: {}", bundle.now);
}

/// The nearest subflow is used until its window is full.
#[test]
fn the_nearest_with_room_comes_first() {
    let paths = vec![Path::new(Span::from_us(200), Span::from_us(1)), path()];
    let mut bundle = Bundle::new(config(Algorithm::Lia), paths);
    for _ in 0..20 {
        // The first one is sent over whichever, since nobody knows better.
        bundle.post(4_000);
        assert!(bundle.run());
    }
    let first = bundle.sent.iter().rposition(|of| of.subflow == 0);
    assert!(first.is_some_and(|place| place < 20), "{first:?}");
    bundle.post(200_000);
    assert!(bundle.run());
    assert!(bundle.sent[80..].iter().any(|of| of.subflow == 0), "the other helps when it is full");
}

/// RFC 8684 §3.3.6: what is under way on a path that is dead goes again over another, once the timer has expired; the subflow itself goes on trying.
#[test]
fn what_a_dead_path_has_goes_over_another() {
    let bundle = transfer(vec![path().cut(Time::ZERO + Span::from_us(200), Time::MAX), path()], 5_000_000);
    let done = bundle.sent.iter().rfind(|of| of.subflow == 1).unwrap().at;
    assert!(done < MS(16), "a timeout of 5 ms and 5 MB over one path: {done}");
    assert!(bundle.sender.seen().reinjected > 0);
    let dead = bundle.sender.subflows().next().unwrap();
    assert!(dead.is_error() && !bundle.sender.is_error(), "given up in the end");
    let new = bundle.sent.iter().filter(|of| of.subflow == 0 && !of.again && of.at > MS(6));
    assert_eq!(new.count(), 0, "nothing new");
}

/// A path that comes back is used again.
#[test]
fn a_path_that_comes_back_is_used_again() {
    let bundle = transfer(vec![path().cut(Time::ZERO + Span::from_us(200), MS(8)), path()], 40_000_000);
    let late = bundle.sent.iter().filter(|of| of.subflow == 0 && !of.again && of.at > MS(12)).count();
    assert!(late > 1_000, "{late}");
}

/// A loss that the subflow repairs by itself costs nothing elsewhere.
#[test]
fn losses_are_repaired_where_they_happen() {
    let lossy = Path { luck: Luck { loss_ppm: 1_000, ..Luck::default() }, ..path() };
    let bundle = transfer(vec![lossy.clone(), lossy], 3_000_000);
    assert_eq!((bundle.sender.seen().reinjected, bundle.sender.counters().timeouts), (0, 0));
    assert!(bundle.sender.counters().retransmitted_packets > 0);
}

/// Whatever number of segments a subflow has had, the end of a message is heard of at once, though receivers may keep acknowledgements back.
#[test]
fn the_end_of_a_message_is_acknowledged_at_once() {
    // The far path has an odd number of segments under way, of which the last arrives behind the one that says where the message ends.
    let config = Config {
        delayed_ack: Span::from_ms(40),
        quick_acks: 0,
        first_window: 3,
        tail_probe: false,
        ..config(Algorithm::Lia)
    };
    for segments in 1..60 {
        let far = Path::new(Span::from_us(100), Span::from_us(1));
        let mut bundle = Bundle::new(config.clone(), vec![path(), far]);
        bundle.post(segments * 1_000);
        assert!(bundle.run_until(Time::ZERO + Span::from_ms(1)));
        assert_eq!(bundle.completions.len(), 1, "{segments} segments");
    }
}

/// RFC 8684 §3.1, §3.2: others join when the first subflow is open.
#[test]
fn subflows_join_the_first() {
    let mut bundle =
        Bundle::new(Config { handshake: true, ..config(Algorithm::Lia) }, vec![path(), path(), path()]);
    bundle.post(2_000_000);
    assert!(bundle.run());
    let asked = |subflow| bundle.sent.iter().find(|of| of.syn && of.subflow == subflow).unwrap().at;
    assert_eq!(asked(0), Time::ZERO);
    let round_trip = asked(1).since(Time::ZERO);
    assert!((20..21).contains(&(round_trip.as_ns() / 1_000)), "{round_trip}");
    assert_eq!(asked(2), asked(1));
    assert!((0..3).all(|subflow| bundle.bytes_of(subflow) > 100_000));
}

/// RFC 8684 §3.3.4: the receive window is one for all subflows.
#[test]
fn the_receive_window_is_one_of_the_data() {
    let config = Config { receive_window: 15_000, ..config(Algorithm::Lia) };
    let mut bundle = Bundle::new(config, vec![path(), path()]);
    bundle.post(1_000_000);
    assert!(bundle.run());
    assert_eq!(bundle.most_open, 15_000);
}

/// Without any path the connection ends, with a reason.
#[test]
fn without_a_path_the_end_has_a_reason() {
    let dead = || path().cut(Time::ZERO + Span::from_us(50), Time::MAX);
    let config = Config { retries: 3, ..config(Algorithm::Lia) };
    let mut bundle = Bundle::new(config, vec![dead(), dead()]);
    bundle.post(1_000_000);
    assert!(bundle.run());
    assert_eq!(bundle.completions[0].status, Status::RetryExceeded);
    assert!(bundle.sender.is_error() && bundle.sender.is_idle());
}

/// RFC 6356 §3: of equal subflows each has half of the aggressiveness.
#[test]
fn subflows_know_of_each_other() {
    let bundle = transfer(vec![path(), path()], 2_000_000);
    for subflow in bundle.sender.subflows() {
        let Control::Lia(lia) = subflow.control() else { unreachable!() };
        let alpha = lia.coupling().unwrap().alpha as f64 / 65_536.0;
        assert!((0.4..0.7).contains(&alpha), "{alpha}");
    }
}

#[derive(Clone, Debug)]
struct Story {
    config: Config,
    paths: Vec<Path>,
    seed: u64,
    messages: Vec<(u32, u64)>,
}

fn paths() -> impl Strategy<Value = Path> {
    let rate = || prop_oneof![2 => Just(0_u32), 1 => 0_u32..20_000, 1 => 0_u32..200_000];
    let luck = (rate(), rate(), rate()).prop_map(|(loss_ppm, duplicate_ppm, reorder_ppm)| Luck {
        loss_ppm,
        duplicate_ppm,
        reorder_ppm,
    });
    // From when on nothing comes through, and for how long.
    let cut = prop_oneof![
        3 => Just((u64::MAX, 0)),
        1 => (0_u64..2_000, 1_u64..100_000),
        1 => (0_u64..2_000, Just(u64::MAX)),
    ];
    let queue_us = prop::sample::select(vec![5_u64, 50, 1_000_000]);
    (luck, cut, queue_us, 1_u64..300, 1_u64..20).prop_map(|(luck, cut, queue_us, delay_us, spacing)| {
        let at = |us: u64| if us == u64::MAX { Time::MAX } else { Time::ZERO + Span::from_us(us) };
        let path = Path::new(Span::from_us(delay_us), Span::from_ns(spacing * 100));
        Path { luck, queue: Span::from_us(queue_us), ..path }.cut(at(cut.0), at(cut.0.saturating_add(cut.1)))
    })
}

fn stories() -> impl Strategy<Value = Story> {
    let len = prop_oneof![Just(0), 1_u32..600, prop::sample::select(vec![1_000, 2_000]), 1_u32..60_000];
    let pause_us = prop_oneof![4 => Just(0_u64), 1 => 0_u64..40_000];
    let messages = prop::collection::vec((len, pause_us), 1..8);
    let paths = prop::collection::vec(paths(), 1..=4);
    (swarm::configs(), paths, 0..u64::MAX / 2, messages).prop_map(|(config, paths, seed, messages)| Story {
        config,
        paths,
        seed,
        messages,
    })
}

fn play(story: &Story) -> (Bundle, bool) {
    let mut bundle = Bundle::new(story.config.clone(), story.paths.clone()).seed(story.seed);
    for (len, pause_us) in &story.messages {
        bundle.post(*len);
        let until = bundle.now + Span::from_us(*pause_us);
        if !bundle.run_until(until) {
            return (bundle, false);
        }
    }
    let idle = bundle.run();
    (bundle, idle)
}

fn judge(story: &Story, bundle: &Bundle, idle: bool) -> Result<(), String> {
    if !idle || !bundle.sender.is_idle() {
        return Err(format!("hangs at {}", bundle.now));
    }
    let expected: Vec<_> = story.messages.iter().map(|(len, _)| *len).collect();
    let failed = bundle.completions.iter().find(|completion| completion.status != Status::Success);
    if failed.is_some_and(|failed| failed.status != Status::RetryExceeded) {
        return Err(format!("nothing but lack of answers can fail here: {failed:?}"));
    }
    let ids: Vec<_> = bundle.completions.iter().map(|completion| completion.id).collect();
    if ids != (1..=story.messages.len() as u64).collect::<Vec<_>>() {
        return Err(format!("completions {ids:?}"));
    }
    if !expected.starts_with(&bundle.messages) || failed.is_none() && bundle.messages != expected {
        return Err(format!("messages {:?} instead of {expected:?}", bundle.messages));
    }
    let bytes: u64 = expected.iter().map(|len| u64::from(*len).max(1)).sum();
    if failed.is_none() && bundle.receiver.received() != bytes {
        return Err(format!("{} bytes", bundle.receiver.received()));
    }
    if bundle.most_open > u64::from(story.config.receive_window) {
        return Err(format!("{} bytes open", bundle.most_open));
    }
    // The connection lives as long as one path does. With a handshake it lives by the first, until others have joined.
    let safe = |path: &Path| {
        path.cut.start == Time::MAX && path.luck.loss_ppm < 20_000 && path.queue > Span::from_us(100)
    };
    if failed.is_some() && story.paths.iter().all(safe) {
        return Err("given up without a reason".to_owned());
    }
    if bundle.now > Time::ZERO + Span::from_ms(900_000) {
        return Err(format!("took until {}", bundle.now));
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::stories(1500, 8684))]

    #[test]
    fn every_byte_arrives_once_and_in_order_over_any_of_the_paths(story in stories()) {
        let (bundle, idle) = play(&story);
        prop_assert_eq!(judge(&story, &bundle, idle), Ok(()));
    }
}
