//! Protection begins, ends, and survives restarts of either end.

use wiremend_proto::link::{Config, Disposal, Endpoint, Hello, HelloKind, Signal, Transmit};
use wiremend_testkit::{Departure, Ending, LinkPair, Order, Passing, Side};
use wiremend_units::{Bytes, Rate, Span, Time};

use super::{DELAY, LEN, active_pair, assert_all_in_order, config, is_fresh, sent};

fn hello(passing: &Passing) -> Option<HelloKind> {
    match passing.signal {
        Some(Signal::Hello(hello)) => Some(hello.kind),
        _ => None,
    }
}

#[test]
fn a_dormant_link_costs_nothing() {
    let mut pair = LinkPair::<20>::new(config(), DELAY);
    pair.send(Side::A, 50, LEN, true);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert_eq!(pair.passed().0, 50, "frames and nothing else");
    assert!(pair.frames().iter().all(|frame| frame.departure == Departure::Plain));
    assert_all_in_order(&pair);
}

#[test]
fn an_active_link_falls_silent_when_idle() {
    let pair = active_pair(config());
    assert_eq!(pair.endpoint(Side::A).next_timeout(), None);
    assert_eq!(pair.endpoint(Side::B).next_timeout(), None);
    assert_eq!(pair.passed().0, 4, "two questions and their answers");
}

#[test]
fn a_known_round_trip_is_not_measured() {
    let pair = active_pair(Config { rtt: Some(DELAY * 2), ..config() });
    assert_eq!(pair.passed().0, 2);
}

#[test]
fn traffic_flows_unprotected_until_the_other_end_is_ready() {
    let mut pair = LinkPair::<20>::new(config(), DELAY);
    pair.order(Side::A, Order::Activate);
    pair.send(Side::A, 100, LEN, true);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert_all_in_order(&pair);
    let first = pair.frames().iter().position(|frame| frame.departure == Departure::Numbered);
    assert!(first.is_some_and(|first| first > 20), "four microseconds of frames: {first:?}");
}

#[test]
fn an_end_that_gets_no_answer_stays_out_of_the_way() {
    let mut pair = LinkPair::<20>::new(config(), DELAY);
    pair.order(Side::A, Order::Activate);
    pair.send(Side::A, 100, LEN, true);
    assert_eq!(pair.run(|passing| hello(passing) == Some(HelloKind::Accept)), Ending::Idle);
    assert_all_in_order(&pair);
    assert!(pair.passed().0 < 130, "{:?}", pair.passed());
    // Much later, traffic makes it try again.
    pair.order_after(Span::from_ms(300), Side::A, Order::Send { len: LEN, ordered: true });
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert!(pair.endpoint(Side::A).is_active());
}

#[test]
fn protection_ends_without_losing_or_reordering() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 50, LEN, true);
    pair.order_after(Span::from_ns(1500), Side::A, Order::Deactivate);
    assert_eq!(pair.run(|passing| is_fresh(passing, 7)), Ending::Idle);
    assert_all_in_order(&pair);
    assert!(!pair.endpoint(Side::A).is_active());
    assert!(pair.frames().iter().any(|frame| frame.departure == Departure::Plain));
}

#[test]
fn protection_begins_again_after_its_end() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 10, LEN, true);
    pair.order_after(Span::from_ns(300), Side::A, Order::Deactivate);
    pair.order_after(Span::from_ns(400), Side::A, Order::Activate);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert!(pair.endpoint(Side::A).is_active());
    pair.send(Side::A, 10, LEN, true);
    assert_eq!(pair.run(|passing| is_fresh(passing, 3)), Ending::Idle);
    assert_all_in_order(&pair);
}

/// The prototype takes the difference for a huge hole.
#[test]
fn a_receiver_that_restarts_is_met_with_a_new_epoch() {
    let mut pair = sent(config(), 40, |_| false);
    pair.order(Side::B, Order::Restart);
    pair.send(Side::A, 100, LEN, true);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::A).reopened, 1);
    assert_eq!(pair.counters(Side::B).missed, 0);
    assert!(pair.endpoint(Side::A).is_active());
}

#[test]
fn a_sender_that_restarts_begins_a_new_epoch() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 40, LEN, true);
    pair.order_after(Span::from_ns(2000), Side::A, Order::Restart);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert_all_in_order(&pair);
    assert!(pair.endpoint(Side::A).is_active());
}

/// What is held from before goes before what comes without a number.
#[test]
fn a_sender_that_restarts_overtakes_nothing() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 40, LEN, true);
    pair.order_after(Span::from_ns(1500), Side::A, Order::Restart);
    let lost = |passing: &Passing| is_fresh(passing, 2) || hello(passing) == Some(HelloKind::Open);
    assert_eq!(pair.run(lost), Ending::Idle);
    assert_eq!(pair.delivered(Side::B), (0..2).chain(3..40).collect::<Vec<_>>());
    assert_eq!(pair.counters(Side::B).lost, 1);
}

/// An end that was taken for gone and begins anew counts its epochs up; what it is told later must not fall among them.
#[test]
fn an_epoch_is_never_used_twice() {
    let mut end = Endpoint::<u32>::new(Config { rtt: Some(DELAY * 2), ..config() });
    let now = Time::from_ns(1);
    let opens = |end: &mut Endpoint<u32>| match end.poll_transmit(now, None) {
        Some(Transmit::Own(Signal::Hello(hello))) => hello,
        other => panic!("a hello leaves, not {other:?}"),
    };
    let answer = |end: &mut Endpoint<u32>, kind, hello: Hello| {
        end.on_signal(now, &Signal::Hello(Hello { kind, ..hello }), None);
    };
    end.activate(now, 7);
    let open = opens(&mut end);
    answer(&mut end, HelloKind::Accept, open);
    answer(&mut end, HelloKind::Unknown, open);
    let again = opens(&mut end);
    assert_eq!((open.epoch, again.epoch), (7, 8));
    end.deactivate(now);
    let close = opens(&mut end);
    answer(&mut end, HelloKind::Closed, close);
    end.activate(now, 8);
    assert_eq!(opens(&mut end).epoch, 9);
}

#[test]
fn a_question_that_comes_twice_changes_nothing() {
    let mut end = Endpoint::<u32>::new(config());
    let now = Time::from_ns(1);
    let hello = Hello { kind: HelloKind::Open, epoch: 3, stamp_ns: 0, rtt_ns: 2000 };
    let data = |end: &mut Endpoint<u32>, seq| {
        let signal = Signal::Data { epoch: 3, seq, ordered: true, again: false, ack: None };
        end.on_signal(now, &signal, Some((seq, Bytes::new(100))));
        end.poll()
    };
    end.on_signal(now, &Signal::Hello(hello), None);
    assert_eq!(data(&mut end, 0), Some(Disposal::Deliver(0)));
    end.on_signal(now, &Signal::Hello(hello), None);
    assert_eq!(data(&mut end, 0), Some(Disposal::Discard(0)));
    assert_eq!(data(&mut end, 1), Some(Disposal::Deliver(1)));
}

/// A host that knows how long its peer may be silent has plain frames again by then.
#[test]
fn a_peer_that_is_gone_is_noticed_in_time() {
    let rtt = Span::from_us(500);
    let config = Config {
        give_up: Some(Span::from_ms(20)),
        silence_max: Some(Span::from_ms(80)),
        ..Config::for_link(Rate::gbps(1), Bytes::new(1518), rtt)
    };
    let mut pair: LinkPair = LinkPair::new(config, rtt / 2);
    pair.order(Side::A, Order::Activate);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert!(pair.endpoint(Side::A).is_active());
    let begun = pair.now();
    pair.order(Side::A, Order::Send { len: 1000, ordered: true });
    let mut gone = None;
    while gone.is_none() && pair.step(|_| true).is_none() {
        gone = (!pair.endpoint(Side::A).is_active()).then(|| pair.now().since(begun));
    }
    let gone = gone.expect("silence does not last for ever");
    assert!((Span::from_ms(40)..Span::from_ms(100)).contains(&gone), "{gone}");
}
