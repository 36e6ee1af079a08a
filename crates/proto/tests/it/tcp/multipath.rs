//! Several subflows for one stream.

use std::ops::Range;

use proptest::prelude::*;
use wiremend_proto::engine::{Requester as _, Status};
use wiremend_proto::tcp::cc::{Algorithm, Control};
use wiremend_proto::tcp::{Config, Segment};
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::A;
use wiremend_testkit::{Ending, Luck, Multipath, Pair, Path, Sighting};
use wiremend_units::{Span, Time};

use super::{config, data, lengths, send, swarm};
use crate::common;

type Bundle = Pair<Multipath>;

/// The wires of a subflow, and when nothing comes through, either way.
#[derive(Clone, Debug)]
struct Route {
    path: Path,
    cut: Range<Time>,
}

const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_ms(ms);
const NEVER: Range<Time> = Time::MAX..Time::MAX;

/// A full segment takes `spacing`.
fn path(delay: Span, spacing: Span) -> Path {
    Path { spacing, ..Path::new(delay) }
}

/// 8 Gb/s and 10 µs, with room for 100 segments.
fn near() -> Route {
    let path = path(Span::from_us(10), Span::from_us(1));
    Route { path: Path { queue_max: Span::from_us(100), ..path }, cut: NEVER }
}

fn far(us: u64) -> Route {
    Route { path: path(Span::from_us(us), Span::from_us(1)), cut: NEVER }
}

fn losing(loss_ppm: u32) -> Route {
    let near = near();
    Route { path: Path { luck: Luck { loss_ppm, ..Luck::default() }, ..near.path }, ..near }
}

fn cut(from: Time, to: Time) -> Route {
    Route { cut: from..to, ..near() }
}

/// The host has a port for each subflow.
fn connect(config: Config, routes: &[Route]) -> Bundle {
    let (cuts, paths): (Vec<_>, Vec<_>) = routes.iter().map(|route| (route.cut.clone(), route.path)).unzip();
    let rule = move |of: &Sighting<Segment>| cuts[usize::from(of.path)].contains(&of.at);
    Pair::new(Multipath { config, subflows: routes.len() as u8 })
        .spacing(Forward, Span::ZERO)
        .spacing(Backward, Span::ZERO)
        .paths(&paths)
        .fate(Forward, rule.clone())
        .fate(Backward, rule)
}

fn transfer(routes: &[Route], bytes: u32) -> Bundle {
    let mut bundle = connect(config(Algorithm::Lia), routes);
    send(&mut bundle, bytes);
    assert_eq!((lengths(&bundle), bundle.completions(A).len()), (vec![bytes], 1));
    bundle
}

/// Bytes that a subflow was given.
fn bytes_of(bundle: &Bundle, subflow: u16) -> u64 {
    let own = bundle.sent(Forward).iter().filter(|of| of.path == subflow);
    own.map(|of| u64::from(data(of).len)).sum()
}

/// The most data that were sent and not acknowledged at a time.
fn most_open(bundle: &Bundle) -> u64 {
    let open = |of: &Sighting<Segment>| {
        let end = u64::from(data(of).signal.unwrap().data) + u64::from(data(of).len);
        end.saturating_sub(of.acknowledged)
    };
    bundle.sent(Forward).iter().map(open).max().unwrap_or(0)
}

/// RFC 6356 §2, goal 1: no worse than one path; here about twice as good.
#[test]
fn two_paths_carry_twice_as_much() {
    let time = |routes: &[Route]| transfer(routes, 20_000_000).now().as_ns() as f64;
    let (one, two) = (time(&[near()]), time(&[near(), near()]));
    assert!((1.7..2.05).contains(&(one / two)), "{one} and {two}");
}

/// RFC 6356 §2, goal 3: a path that loses much gets little, and the other is used all the same.
#[test]
fn traffic_moves_off_a_path_that_loses() {
    let bundle = transfer(&[losing(30_000), near()], 20_000_000);
    let shares = [0, 1].map(|subflow| bytes_of(&bundle, subflow) as f64 / 20e6);
    assert!(shares[0] < 0.35 && shares[1] > 0.65, "{shares:?}");
    assert!(bundle.now() < Time::ZERO + Span::from_us(30_000), "20 ms over one clean path: {}", bundle.now());
}

/// The nearest subflow is used until its window is full.
#[test]
fn the_nearest_with_room_comes_first() {
    let mut bundle = connect(config(Algorithm::Lia), &[far(200), near()]);
    for _ in 0..20 {
        // The first one is sent over whichever, since nobody knows better.
        send(&mut bundle, 4_000);
    }
    let first = bundle.sent(Forward).iter().rposition(|of| of.path == 0);
    assert!(first.is_some_and(|place| place < 20), "{first:?}");
    send(&mut bundle, 200_000);
    assert!(bundle.sent(Forward)[80..].iter().any(|of| of.path == 0), "the other helps when it is full");
}

/// RFC 8684 §3.3.6: what is under way on a path that is dead goes again over another, once the timer has expired; the subflow itself goes on trying.
#[test]
fn what_a_dead_path_has_goes_over_another() {
    let bundle = transfer(&[cut(Time::ZERO + Span::from_us(200), Time::MAX), near()], 5_000_000);
    let done = bundle.sent(Forward).iter().rfind(|of| of.path == 1).unwrap().at;
    assert!(done < MS(16), "a timeout of 5 ms and 5 MB over one path: {done}");
    assert!(bundle.sender().seen().reinjected > 0);
    let dead = bundle.sender().subflows().next().unwrap();
    assert!(dead.is_error() && !bundle.sender().is_error(), "given up in the end");
    let new = bundle.sent(Forward).iter().filter(|of| of.path == 0 && !of.again && of.at > MS(6));
    assert_eq!(new.count(), 0, "nothing new");
}

/// A path that comes back is used again.
#[test]
fn a_path_that_comes_back_is_used_again() {
    let bundle = transfer(&[cut(Time::ZERO + Span::from_us(200), MS(8)), near()], 40_000_000);
    let late = bundle.sent(Forward).iter().filter(|of| of.path == 0 && !of.again && of.at > MS(12)).count();
    assert!(late > 1_000, "{late}");
}

/// A loss that the subflow repairs by itself costs nothing elsewhere.
#[test]
fn losses_are_repaired_where_they_happen() {
    let bundle = transfer(&[losing(1_000), losing(1_000)], 3_000_000);
    assert_eq!((bundle.sender().seen().reinjected, bundle.requester(A).timeouts), (0, 0));
    assert!(bundle.requester(A).retransmitted_packets > 0);
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
        let mut bundle = connect(config.clone(), &[near(), far(100)]);
        bundle.send(A, segments * 1_000);
        bundle.run_for(Span::from_ms(1));
        assert_eq!(bundle.completions(A).len(), 1, "{segments} segments");
    }
}

/// RFC 8684 §3.1, §3.2: others join when the first subflow is open.
#[test]
fn subflows_join_the_first() {
    let mut bundle = connect(Config { handshake: true, ..config(Algorithm::Lia) }, &[near(), near(), near()]);
    send(&mut bundle, 2_000_000);
    let asked =
        |subflow| bundle.sent(Forward).iter().find(|of| data(of).syn && of.path == subflow).unwrap().at;
    assert_eq!(asked(0), Time::ZERO);
    let round_trip = asked(1).since(Time::ZERO);
    assert!((20..21).contains(&(round_trip.as_ns() / 1_000)), "{round_trip}");
    assert_eq!(asked(2), asked(1));
    assert!((0..3).all(|subflow| bytes_of(&bundle, subflow) > 100_000));
}

/// RFC 8684 §3.3.4: the receive window is one for all subflows.
#[test]
fn the_receive_window_is_one_of_the_data() {
    let config = Config { receive_window: 15_000, ..config(Algorithm::Lia) };
    let mut bundle = connect(config, &[near(), near()]);
    send(&mut bundle, 1_000_000);
    assert_eq!(most_open(&bundle), 15_000);
}

/// Without any path the connection ends, with a reason.
#[test]
fn without_a_path_the_end_has_a_reason() {
    let dead = || cut(Time::ZERO + Span::from_us(50), Time::MAX);
    let config = Config { retries: 3, ..config(Algorithm::Lia) };
    let mut bundle = connect(config, &[dead(), dead()]);
    send(&mut bundle, 1_000_000);
    assert_eq!(bundle.completions(A)[0].status, Status::RetryExceeded);
    assert!(bundle.sender().is_error() && bundle.sender().is_idle());
}

/// RFC 6356 §3: of equal subflows each has half of the aggressiveness.
#[test]
fn subflows_know_of_each_other() {
    let bundle = transfer(&[near(), near()], 2_000_000);
    for subflow in bundle.sender().subflows() {
        let Control::Lia(lia) = subflow.control() else { unreachable!() };
        let alpha = lia.coupling().unwrap().alpha as f64 / 65_536.0;
        assert!((0.4..0.7).contains(&alpha), "{alpha}");
    }
}

#[derive(Clone, Debug)]
struct Story {
    config: Config,
    routes: Vec<Route>,
    seed: u64,
    messages: Vec<(u32, u64)>,
}

fn routes() -> impl Strategy<Value = Route> {
    let luck = common::lucks(200_000);
    // From when on nothing comes through, and for how long.
    let cut = prop_oneof![
        3 => Just((u64::MAX, 0)),
        1 => (0_u64..2_000, 1_u64..100_000),
        1 => (0_u64..2_000, Just(u64::MAX)),
    ];
    let queue_us = prop::sample::select(vec![5_u64, 50, 1_000_000]);
    (luck, cut, queue_us, 1_u64..300, 1_u64..20).prop_map(|(luck, cut, queue_us, delay_us, spacing)| {
        let at = |us: u64| if us == u64::MAX { Time::MAX } else { Time::ZERO + Span::from_us(us) };
        let path = path(Span::from_us(delay_us), Span::from_ns(spacing * 100));
        let path = Path { luck, queue_max: Span::from_us(queue_us), ..path };
        Route { path, cut: at(cut.0)..at(cut.0.saturating_add(cut.1)) }
    })
}

prop_compose! {
    fn stories()(
        config in swarm::configs(),
        routes in prop::collection::vec(routes(), 1..=4),
        seed in 0..u64::MAX / 2,
        messages in swarm::messages(),
    ) -> Story {
        Story { config, routes, seed, messages }
    }
}

fn play(story: &Story) -> (Bundle, Ending) {
    let mut bundle = connect(story.config.clone(), &story.routes).seed(story.seed);
    let ending = swarm::transfer(&mut bundle, &story.messages);
    (bundle, ending)
}

fn judge(story: &Story, bundle: &Bundle, ending: Ending) -> Result<(), String> {
    let failed = swarm::judge_messages(bundle, ending, &story.messages, bundle.receiver().received())?;
    if most_open(bundle) > u64::from(story.config.receive_window) {
        return Err(format!("{} bytes open", most_open(bundle)));
    }
    // The connection lives as long as one path does. With a handshake it lives by the first, until others have joined.
    let safe = |route: &Route| {
        let path = route.path;
        route.cut.start == Time::MAX && path.luck.loss_ppm < 20_000 && path.queue_max > Span::from_us(100)
    };
    if failed && story.routes.iter().all(safe) {
        return Err("given up without a reason".to_owned());
    }
    if bundle.now() > Time::ZERO + Span::from_ms(900_000) {
        return Err(format!("took until {}", bundle.now()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::stories(1500, 8684))]

    #[test]
    fn every_byte_arrives_once_and_in_order_over_any_of_the_paths(story in stories()) {
        let (bundle, ending) = play(&story);
        prop_assert_eq!(judge(&story, &bundle, ending), Ok(()));
    }
}
