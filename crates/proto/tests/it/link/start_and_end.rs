//! Start and end of protection, and restarts of either end.

use wiremend_proto::link::{Config, Disposal, Endpoint, Hello, HelloKind, LinkHeader, Transmit};
use wiremend_testkit::{Departure, LinkCommand, LinkPair, RunEnd, Side, WireFrame};
use wiremend_units::{Bytes, Rate, Span, Time};

use super::{DELAY, LEN, active_pair, assert_all_in_order, config, is_new, transfer};

fn hello(sent: &WireFrame) -> Option<HelloKind> {
    match sent.signal {
        Some(LinkHeader::Hello(hello)) => Some(hello.kind),
        _ => None,
    }
}

#[test]
fn dormant_link_adds_no_frames() {
    let mut pair = LinkPair::<20>::new(config(), DELAY);
    pair.send(Side::A, 50, LEN, true);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    assert_eq!(pair.passed().0, 50, "only the queued frames");
    assert!(pair.frames().iter().all(|frame| frame.departure == Departure::Plain));
    assert_all_in_order(&pair);
}

#[test]
fn active_link_is_silent_when_idle() {
    let pair = active_pair(config());
    assert_eq!(pair.endpoint(Side::A).next_timeout(), None);
    assert_eq!(pair.endpoint(Side::B).next_timeout(), None);
    assert_eq!(pair.passed().0, 4, "measurement, open and their replies");
}

#[test]
fn known_round_trip_is_not_measured() {
    let pair = active_pair(Config { rtt: Some(DELAY * 2), ..config() });
    assert_eq!(pair.passed().0, 2);
}

#[test]
fn frames_leave_unprotected_until_the_other_end_is_ready() {
    let mut pair = LinkPair::<20>::new(config(), DELAY);
    pair.apply(Side::A, LinkCommand::Activate);
    pair.send(Side::A, 100, LEN, true);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    assert_all_in_order(&pair);
    let first = pair.frames().iter().position(|frame| frame.departure == Departure::Numbered);
    assert!(first.is_some_and(|first| first > 20), "4 µs of frames: {first:?}");
}

#[test]
fn end_without_reply_forwards_frames_unprotected() {
    let mut pair = LinkPair::<20>::new(config(), DELAY);
    pair.apply(Side::A, LinkCommand::Activate);
    pair.send(Side::A, 100, LEN, true);
    assert_eq!(pair.run(|sent| hello(sent) == Some(HelloKind::Accept)), RunEnd::Idle);
    assert_all_in_order(&pair);
    assert!(pair.passed().0 < 130, "{:?}", pair.passed());
    // Later, traffic starts another attempt.
    pair.apply_after(Span::from_ms(300), Side::A, LinkCommand::Send { len: LEN, ordered: true });
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    assert!(pair.endpoint(Side::A).is_active());
}

#[test]
fn protection_ends_without_loss_or_reordering() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 50, LEN, true);
    pair.apply_after(Span::from_ns(1500), Side::A, LinkCommand::Deactivate);
    assert_eq!(pair.run(|sent| is_new(sent, 7)), RunEnd::Idle);
    assert_all_in_order(&pair);
    assert!(!pair.endpoint(Side::A).is_active());
    assert!(pair.frames().iter().any(|frame| frame.departure == Departure::Plain));
}

#[test]
fn protection_starts_again_after_its_end() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 10, LEN, true);
    pair.apply_after(Span::from_ns(300), Side::A, LinkCommand::Deactivate);
    pair.apply_after(Span::from_ns(400), Side::A, LinkCommand::Activate);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    assert!(pair.endpoint(Side::A).is_active());
    pair.send(Side::A, 10, LEN, true);
    assert_eq!(pair.run(|sent| is_new(sent, 3)), RunEnd::Idle);
    assert_all_in_order(&pair);
}

/// The prototype mistakes the difference for a huge gap.
#[test]
fn restarted_receiver_leads_to_a_new_epoch() {
    let mut pair = transfer(config(), 40, |_| false);
    pair.apply(Side::B, LinkCommand::Restart);
    pair.send(Side::A, 100, LEN, true);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::A).reopened, 1);
    assert_eq!(pair.counters(Side::B).missed, 0);
    assert!(pair.endpoint(Side::A).is_active());
}

#[test]
fn restarted_sender_starts_a_new_epoch() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 40, LEN, true);
    pair.apply_after(Span::from_ns(2000), Side::A, LinkCommand::Restart);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    assert_all_in_order(&pair);
    assert!(pair.endpoint(Side::A).is_active());
}

/// Frames held from the old epoch are delivered before frames without a number.
#[test]
fn restarted_sender_overtakes_no_frames() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 40, LEN, true);
    pair.apply_after(Span::from_ns(1500), Side::A, LinkCommand::Restart);
    let lost = |sent: &WireFrame| is_new(sent, 2) || hello(sent) == Some(HelloKind::Open);
    assert_eq!(pair.run(lost), RunEnd::Idle);
    assert_eq!(pair.delivered(Side::B), (0..2).chain(3..40).collect::<Vec<_>>());
    assert_eq!(pair.counters(Side::B).lost, 1);
}

/// An end increments its epochs when the other end was gone. An epoch requested later must not repeat one of
/// them.
#[test]
fn epochs_are_never_reused() {
    let mut end = Endpoint::<u32>::new(Config { rtt: Some(DELAY * 2), ..config() });
    let now = Time::from_ns(1);
    let opens = |end: &mut Endpoint<u32>| match end.poll_transmit(now, None) {
        Some(Transmit::Control(LinkHeader::Hello(hello))) => hello,
        other => panic!("not a hello: {other:?}"),
    };
    let answer = |end: &mut Endpoint<u32>, kind, hello: Hello| {
        end.on_signal(now, &LinkHeader::Hello(Hello { kind, ..hello }), None);
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

/// An end that stops asks the other to close; the other sends frames again when the host of the first forwards.
#[test]
fn leaving_end_confirms_the_close_when_its_host_forwards() {
    let rtt = DELAY * 2;
    let now = Time::from_ns(1);
    let [mut sender, mut receiver] =
        [0, 1].map(|_| Endpoint::<u32>::new(Config { rtt: Some(rtt), ..config() }));
    for end in [&mut sender, &mut receiver] {
        end.set_host_confirms_close();
    }
    let pass = |from: &mut Endpoint<u32>, to: &mut Endpoint<u32>| {
        let Some(Transmit::Control(signal @ LinkHeader::Hello(hello))) = from.poll_transmit(now, None) else {
            return None;
        };
        to.on_signal(now, &signal, None);
        Some(hello.kind)
    };
    sender.activate(now, 7);
    assert_eq!(pass(&mut sender, &mut receiver), Some(HelloKind::Open));
    assert_eq!(pass(&mut receiver, &mut sender), Some(HelloKind::Accept));
    assert!(sender.is_active() && receiver.is_receiving());

    receiver.leave();
    assert_eq!(pass(&mut receiver, &mut sender), Some(HelloKind::Leave));
    assert_eq!(pass(&mut sender, &mut receiver), Some(HelloKind::Close));
    assert!(!receiver.is_receiving());
    assert_eq!(pass(&mut receiver, &mut sender), None, "the host does not forward yet");
    assert!(!sender.is_plain(), "frames wait");
    assert!(receiver.confirm_closed());
    assert_eq!(pass(&mut receiver, &mut sender), Some(HelloKind::Closed));
    assert!(sender.is_plain());
    sender.activate(now, 8);
    let open = Hello { kind: HelloKind::Open, epoch: 8, stamp_ns: 0, rtt_ns: 2000 };
    receiver.on_signal(now, &LinkHeader::Hello(open), None);
    assert!(!receiver.is_receiving(), "an end that leaves refuses a start");
}

#[test]
fn start_with_an_impossible_round_trip_is_ignored() {
    let mut end = Endpoint::<u32>::new(config());
    let open = Hello { kind: HelloKind::Open, epoch: 3, stamp_ns: 0, rtt_ns: u32::MAX };
    end.on_signal(Time::from_ns(1), &LinkHeader::Hello(open), None);
    assert!(!end.is_receiving() && end.poll_transmit(Time::from_ns(1), None).is_none());
}

#[test]
fn repeated_open_has_no_effect() {
    let mut end = Endpoint::<u32>::new(config());
    let now = Time::from_ns(1);
    let hello = Hello { kind: HelloKind::Open, epoch: 3, stamp_ns: 0, rtt_ns: 2000 };
    let data = |end: &mut Endpoint<u32>, seq| {
        let signal = LinkHeader::Data { epoch: 3, seq, ordered: true, retransmitted: false, ack: None };
        end.on_signal(now, &signal, Some((seq, Bytes::new(100))));
        end.poll()
    };
    end.on_signal(now, &LinkHeader::Hello(hello), None);
    assert_eq!(data(&mut end, 0), Some(Disposal::Deliver(0)));
    end.on_signal(now, &LinkHeader::Hello(hello), None);
    assert_eq!(data(&mut end, 0), Some(Disposal::Discard(0)));
    assert_eq!(data(&mut end, 1), Some(Disposal::Deliver(1)));
}

/// Frames leave without protection once the other end has been silent for `silence_max`.
#[test]
fn silent_peer_counts_as_gone_in_time() {
    let rtt = Span::from_us(500);
    let config = Config {
        give_up: Some(Span::from_ms(20)),
        silence_max: Some(Span::from_ms(80)),
        ..Config::for_link(Rate::gbps(1), Bytes::new(1518), rtt)
    };
    let mut pair: LinkPair = LinkPair::new(config, rtt / 2);
    pair.apply(Side::A, LinkCommand::Activate);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    assert!(pair.endpoint(Side::A).is_active());
    let begun = pair.now();
    pair.apply(Side::A, LinkCommand::Send { len: 1000, ordered: true });
    let mut gone = None;
    while gone.is_none() && pair.step(|_| true).is_none() {
        gone = (!pair.endpoint(Side::A).is_active()).then(|| pair.now().since(begun));
    }
    let gone = gone.expect("silence ends protection");
    assert!((Span::from_ms(40)..Span::from_ms(100)).contains(&gone), "{gone}");
}
