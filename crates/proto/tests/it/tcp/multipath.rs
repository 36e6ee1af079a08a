//! Multipath TCP.

use std::ops::Range;

use proptest::prelude::*;
use wiremend_proto::engine::{Requester as _, Status};
use wiremend_proto::tcp::cc::{Algorithm, Control};
use wiremend_proto::tcp::{Config, Segment};
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::A;
use wiremend_testkit::{Multipath, Pair, Path, RandomFaults, RunEnd, SentPacket};
use wiremend_units::{Span, Time};

use super::{config, data, lengths, send, swarm};
use crate::common;

type Bundle = Pair<Multipath>;

/// Path of a subflow, and the time in which it is cut in both directions.
#[derive(Clone, Debug)]
struct Route {
    path: Path,
    cut: Range<Time>,
}

const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_ms(ms);
const NEVER: Range<Time> = Time::MAX..Time::MAX;

/// `spacing`: transmission time of a full segment.
fn path(delay: Span, spacing: Span) -> Path {
    Path { spacing, ..Path::new(delay) }
}

/// 8 Gb/s and 10 µs, with a queue of 100 segments.
fn near() -> Route {
    let path = path(Span::from_us(10), Span::from_us(1));
    Route { path: Path { queue_max: Span::from_us(100), ..path }, cut: NEVER }
}

fn far(us: u64) -> Route {
    Route { path: path(Span::from_us(us), Span::from_us(1)), cut: NEVER }
}

fn losing(loss_ppm: u32) -> Route {
    let near = near();
    Route { path: Path { faults: RandomFaults { loss_ppm, ..RandomFaults::default() }, ..near.path }, ..near }
}

fn cut(from: Time, to: Time) -> Route {
    Route { cut: from..to, ..near() }
}

/// The host has a port for each subflow.
fn connect(config: Config, routes: &[Route]) -> Bundle {
    let (cuts, paths): (Vec<_>, Vec<_>) = routes.iter().map(|route| (route.cut.clone(), route.path)).unzip();
    let rule = move |sent: &SentPacket<Segment>| cuts[usize::from(sent.path)].contains(&sent.at);
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

fn bytes_over(bundle: &Bundle, subflow: u16) -> u64 {
    let own = bundle.sent(Forward).iter().filter(|sent| sent.path == subflow);
    own.map(|sent| u64::from(data(sent).len)).sum()
}

fn in_flight_max(bundle: &Bundle) -> u64 {
    let open = |sent: &SentPacket<Segment>| {
        let end = u64::from(data(sent).dss.unwrap().data) + u64::from(data(sent).len);
        end.saturating_sub(sent.acknowledged)
    };
    bundle.sent(Forward).iter().map(open).max().unwrap_or(0)
}

/// RFC 6356 §2, goal 1: no worse than one path; here about twice as good.
#[test]
fn two_paths_double_the_throughput() {
    let time = |routes: &[Route]| transfer(routes, 20_000_000).now().as_ns() as f64;
    let (one, two) = (time(&[near()]), time(&[near(), near()]));
    assert!((1.7..2.05).contains(&(one / two)), "{one} and {two}");
}

/// RFC 6356 §2, goal 3: a path with many losses gets little traffic.
#[test]
fn traffic_moves_away_from_a_lossy_path() {
    let bundle = transfer(&[losing(30_000), near()], 20_000_000);
    let shares = [0, 1].map(|subflow| bytes_over(&bundle, subflow) as f64 / 20e6);
    assert!(shares[0] < 0.35 && shares[1] > 0.65, "{shares:?}");
    assert!(bundle.now() < Time::ZERO + Span::from_us(30_000), "20 ms over one clean path: {}", bundle.now());
}

/// The subflow with the shortest round trip is used until its window is full.
#[test]
fn shortest_round_trip_with_room_is_preferred() {
    let mut bundle = connect(config(Algorithm::Lia), &[far(200), near()]);
    for _ in 0..20 {
        // The first segment may take either path, because no round trip is known.
        send(&mut bundle, 4_000);
    }
    let first = bundle.sent(Forward).iter().rposition(|sent| sent.path == 0);
    assert!(first.is_some_and(|place| place < 20), "{first:?}");
    send(&mut bundle, 200_000);
    assert!(
        bundle.sent(Forward)[80..].iter().any(|sent| sent.path == 0),
        "the other is used when the window is full"
    );
}

/// RFC 8684 §3.3.6: after a timeout, data in flight on a dead path are sent again over another; the subflow
/// also retries.
#[test]
fn data_on_a_dead_path_are_reinjected() {
    let bundle = transfer(&[cut(Time::ZERO + Span::from_us(200), Time::MAX), near()], 5_000_000);
    let done = bundle.sent(Forward).iter().rfind(|sent| sent.path == 1).unwrap().at;
    assert!(done < MS(16), "a timeout of 5 ms and 5 MB over one path: {done}");
    assert!(bundle.sender().tcp_counters().reinjected > 0);
    let dead = bundle.sender().subflows().next().unwrap();
    assert!(dead.is_error() && !bundle.sender().is_error(), "the dead subflow fails in the end");
    let new = bundle.sent(Forward).iter().filter(|sent| sent.path == 0 && !sent.again && sent.at > MS(6));
    assert_eq!(new.count(), 0, "no new data on the dead path");
}

#[test]
fn restored_path_is_used_again() {
    let bundle = transfer(&[cut(Time::ZERO + Span::from_us(200), MS(8)), near()], 40_000_000);
    let late =
        bundle.sent(Forward).iter().filter(|sent| sent.path == 0 && !sent.again && sent.at > MS(12)).count();
    assert!(late > 1_000, "{late}");
}

/// A subflow repairs its own losses without reinjection.
#[test]
fn losses_are_repaired_on_their_subflow() {
    let bundle = transfer(&[losing(1_000), losing(1_000)], 3_000_000);
    assert_eq!((bundle.sender().tcp_counters().reinjected, bundle.requester(A).timeouts), (0, 0));
    assert!(bundle.requester(A).retransmitted_packets > 0);
}

/// The end of a message is acknowledged at once in spite of delayed ACKs, whatever the number of segments per
/// subflow.
#[test]
fn end_of_message_is_acknowledged_at_once() {
    // The far path has an odd number of segments in flight; its last arrives after the segment with PSH.
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

/// RFC 8684 §3.1, §3.2: other subflows join once the first is open.
#[test]
fn subflows_join_after_the_first() {
    let mut bundle = connect(Config { handshake: true, ..config(Algorithm::Lia) }, &[near(), near(), near()]);
    send(&mut bundle, 2_000_000);
    let asked =
        |subflow| bundle.sent(Forward).iter().find(|sent| data(sent).syn && sent.path == subflow).unwrap().at;
    assert_eq!(asked(0), Time::ZERO);
    let round_trip = asked(1).since(Time::ZERO);
    assert!((20..21).contains(&(round_trip.as_ns() / 1_000)), "{round_trip}");
    assert_eq!(asked(2), asked(1));
    assert!((0..3).all(|subflow| bytes_over(&bundle, subflow) > 100_000));
}

/// RFC 8684 §3.3.4: one receive window for all subflows.
#[test]
fn receive_window_covers_all_subflows() {
    let config = Config { receive_window: 15_000, ..config(Algorithm::Lia) };
    let mut bundle = connect(config, &[near(), near()]);
    send(&mut bundle, 1_000_000);
    assert_eq!(in_flight_max(&bundle), 15_000);
}

/// If all paths are dead, the connection fails with a status.
#[test]
fn connection_without_a_path_fails() {
    let dead = || cut(Time::ZERO + Span::from_us(50), Time::MAX);
    let config = Config { retries: 3, ..config(Algorithm::Lia) };
    let mut bundle = connect(config, &[dead(), dead()]);
    send(&mut bundle, 1_000_000);
    assert_eq!(bundle.completions(A)[0].status, Status::RetryExceeded);
    assert!(bundle.sender().is_error() && bundle.sender().is_idle());
}

/// RFC 6356 §3: two equal subflows have α = 1/2 each.
#[test]
fn equal_subflows_have_half_the_alpha() {
    let bundle = transfer(&[near(), near()], 2_000_000);
    for subflow in bundle.sender().subflows() {
        let Control::Lia(lia) = subflow.control() else { unreachable!() };
        let alpha = lia.coupling().unwrap().alpha as f64 / 65_536.0;
        assert!((0.4..0.7).contains(&alpha), "{alpha}");
    }
}

#[derive(Clone, Debug)]
struct TestCase {
    config: Config,
    routes: Vec<Route>,
    seed: u64,
    messages: Vec<(u32, u64)>,
}

fn routes() -> impl Strategy<Value = Route> {
    let faults = common::random_faults(200_000);
    // Start and duration of an outage, in microseconds.
    let cut = prop_oneof![
        3 => Just((u64::MAX, 0)),
        1 => (0_u64..2_000, 1_u64..100_000),
        1 => (0_u64..2_000, Just(u64::MAX)),
    ];
    let queue_us = prop::sample::select(vec![5_u64, 50, 1_000_000]);
    (faults, cut, queue_us, 1_u64..300, 1_u64..20).prop_map(|(faults, cut, queue_us, delay_us, spacing)| {
        let at = |us: u64| if us == u64::MAX { Time::MAX } else { Time::ZERO + Span::from_us(us) };
        let path = path(Span::from_us(delay_us), Span::from_ns(spacing * 100));
        let path = Path { faults, queue_max: Span::from_us(queue_us), ..path };
        Route { path, cut: at(cut.0)..at(cut.0.saturating_add(cut.1)) }
    })
}

prop_compose! {
    fn test_cases()(
        config in swarm::configs(),
        routes in prop::collection::vec(routes(), 1..=4),
        seed in 0..u64::MAX / 2,
        messages in swarm::messages(),
    ) -> TestCase {
        TestCase { config, routes, seed, messages }
    }
}

fn run(case: &TestCase) -> (Bundle, RunEnd) {
    let mut bundle = connect(case.config.clone(), &case.routes).seed(case.seed);
    let ending = swarm::transfer(&mut bundle, &case.messages);
    (bundle, ending)
}

fn check(case: &TestCase, bundle: &Bundle, ending: RunEnd) -> Result<(), String> {
    let failed = swarm::check_messages(bundle, ending, &case.messages, bundle.receiver().received())?;
    if in_flight_max(bundle) > u64::from(case.config.receive_window) {
        return Err(format!("{} bytes in flight", in_flight_max(bundle)));
    }
    // A connection needs one working path; with a handshake the first path, until others have joined.
    let safe = |route: &Route| {
        let path = route.path;
        route.cut.start == Time::MAX && path.faults.loss_ppm < 20_000 && path.queue_max > Span::from_us(100)
    };
    if failed && case.routes.iter().all(safe) {
        return Err("the connection failed without a dead path".to_owned());
    }
    if bundle.now() > Time::ZERO + Span::from_ms(900_000) {
        return Err(format!("took until {}", bundle.now()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::proptest_config(1500, 8684))]

    #[test]
    fn bytes_arrive_once_and_in_order_over_any_path(case in test_cases()) {
        let (bundle, ending) = run(&case);
        prop_assert_eq!(check(&case, &bundle, ending), Ok(()));
    }
}
