//! The published prototype of `LinkGuardian`: what it does. What it cannot do is told in `link::defects`, beside the protocol that can.

use wiremend_proto::link::paper::{
    Ack, Config, Judgement, Number, Receiver, Sender, Signal, TICK, Tick, Verdict,
};
use wiremend_testkit::{Ending, Kind, Order, Passing, PrototypeConfig, PrototypePair, PrototypeSignal, Side};
use wiremend_units::{Bytes, Span, Time};
use wiremend_wire::Quanta;

const CONFIG: Config = Config::GBPS_100;

/// Holes of one to five, three times around all numbers: every frame once, in order, without a time-out.
#[test]
fn what_is_lost_is_sent_again_and_put_in_order() {
    let mut pair = protected(CONFIG.with_copies(2));
    let mut sent = 0;
    while sent < 3 * 65_536 {
        let (lost, apart) = (1 + sent % 5, 1 + sent % 23);
        let hole = sent..sent + lost;
        send(&mut pair, lost + apart, |of| is_fresh(of) && hole.contains(&of.frame.unwrap()));
        sent += lost + apart;
    }
    assert!(pair.delivered(Side::B).iter().copied().eq(0..sent));
    let (tx, rx) = (pair.counters(Side::A), pair.counters(Side::B));
    assert_eq!((rx.lost, tx.refused, rx.missed), (0, 0, tx.resent));
    assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
}

/// The second copy of what is sent again finds that its number has passed.
#[test]
fn order_removes_duplicates() {
    let mut pair = protected(CONFIG.with_copies(3));
    send(&mut pair, 3, |of| is_fresh(of) && of.frame == Some(0));
    assert_eq!((pair.delivered(Side::B), pair.counters(Side::B).duplicates), (&[0, 1, 2][..], 2));
}

#[test]
fn without_order_nothing_waits() {
    let (mut sender, mut receiver) =
        (Sender::new(CONFIG.non_blocking()), Receiver::new(CONFIG.non_blocking()));
    let headers: [Signal; 4] = std::array::from_fn(|_| sender.on_egress(None));
    for header in [headers[0], headers[2], headers[1].sent_again(), headers[3]] {
        assert_eq!(receiver.on_arrival(&header).verdict, Some(Verdict::Forward));
    }
    assert_eq!(receiver.ack_no(), Number::default());
}

/// LG §3.2: a tail that is lost is found by the first dummy that arrives, and then there is silence.
#[test]
fn dummies_find_a_lost_tail_and_fall_silent() {
    let mut pair = protected(CONFIG);
    let mut dummies = 0;
    send(&mut pair, 5, |of| {
        dummies += u32::from(of.kind() == Kind::Dummy);
        is_fresh(of) && of.frame == Some(4) || of.kind() == Kind::Dummy && dummies == 1
    });
    assert_eq!(pair.delivered(Side::B), [0, 1, 2, 3, 4]);
    assert_eq!(pair.counters(Side::B).notifications, 1);
    assert_eq!((pair.handles(Side::A), pair.counters(Side::A).dummies), ((0, 0), 3));
}

/// A dummy that arrives whole after all else has nothing to say.
#[test]
fn a_dummy_without_a_hole_owes_no_ack() {
    let mut receiver = Receiver::new(CONFIG);
    let arrival = receiver.on_arrival(&Signal::Dummy { number: Number::default(), blocking: true });
    assert_eq!((arrival.notification, arrival.verdict, receiver.acks_owed()), (None, None, 0));
}

/// The last frame before number 0 is of the era before.
#[test]
fn a_dummy_with_number_0_acknowledges_the_other_era() {
    let (mut sender, mut receiver) = (Sender::new(CONFIG), Receiver::new(CONFIG));
    for _ in 0..65_535 {
        receiver.on_arrival(&sender.on_egress(None));
    }
    sender.on_egress(None);
    let dummy = sender.on_egress_dummy().unwrap();
    assert_eq!(dummy, Signal::Dummy { number: Number { seq: 0, era: true }, blocking: true });
    let ack = Ack(Number { seq: 65_535, era: false });
    let notification = Signal::Notification { ack, hole_size: 1, first_lost: 65_535 };
    assert_eq!(receiver.on_arrival(&dummy).notification, Some(notification));
}

/// Each ACK leaves twice; behind a notification none does, for it would be older.
#[test]
fn acks_are_owed_twice_and_not_behind_a_notification() {
    let (mut sender, mut receiver) = (Sender::new(CONFIG), Receiver::new(CONFIG));
    let headers: [Signal; 4] = std::array::from_fn(|_| sender.on_egress(None));
    receiver.on_arrival(&headers[0]);
    let ack = Some(Ack(Number { seq: 0, era: false }));
    assert_eq!([receiver.on_egress(), receiver.on_egress(), receiver.on_egress()], [ack, ack, None]);
    receiver.on_arrival(&headers[1]);
    assert!(receiver.on_arrival(&headers[3]).notification.is_some());
    assert_eq!((receiver.acks_owed(), receiver.on_egress()), (0, None));
}

#[test]
fn copies_go_round_until_they_are_acknowledged() {
    let mut sender = Sender::new(CONFIG);
    let number = sender.next_number();
    sender.on_egress(None);
    assert_eq!(sender.judge_copy(number), Judgement::Again);
    sender.on_signal(&Signal::Piggyback(Ack(number)));
    assert_eq!(sender.judge_copy(number), Judgement::Drop);
}

/// `ackNoTimeout` is 7 µs over 100G; then the rest is handed on.
#[test]
fn what_does_not_come_is_given_up_after_the_timeout() {
    let mut pair = protected(CONFIG);
    send(&mut pair, 4, |of| of.frame == Some(1));
    assert_eq!((pair.delivered(Side::B), pair.counters(Side::B).lost), (&[0, 2, 3][..], 1));
    let behind = pair.frames()[2];
    let waited = behind.delivered_at.unwrap().since(behind.arrived_at.unwrap());
    assert!((7_000..7_000 + TICK.as_ns()).contains(&(waited + TICK).as_ns()), "{waited}");
}

/// Time spent on one hole does not count against the next.
#[test]
fn a_frame_handed_on_restarts_the_timeout() {
    let mut receiver = Receiver::new(CONFIG);
    receiver.on_arrival(&data(1));
    receiver.on_ticks(69);
    assert_eq!(receiver.on_arrival(&data(0).sent_again()).verdict, Some(Verdict::Forward));
    assert_eq!(receiver.ticks_to_event(), Some(70));
}

/// A host need not simulate every tick.
#[test]
fn ticks_count_alike_one_by_one_and_at_once() {
    let stalled = || {
        let mut receiver = Receiver::new(CONFIG);
        receiver.on_arrival(&data(3));
        receiver
    };
    let (mut single, mut lump) = (stalled(), stalled());
    let mut given_up = Vec::new();
    (0..3 * 70).for_each(|_| given_up.extend(single.on_ticks(1).given_up));
    let lumps: Vec<_> =
        (0..3).filter_map(|_| lump.on_ticks(lump.ticks_to_event().unwrap()).given_up).collect();
    assert_eq!((given_up.as_slice(), lumps), (&[0, 1, 2][..], vec![0, 1, 2]));
    assert_eq!(
        (single.ack_no(), lump.ack_no()),
        (Number { seq: 3, era: false }, Number { seq: 3, era: false })
    );
    assert_eq!(lump.judge(Number { seq: 3, era: false }, true), Verdict::Forward);
    assert_eq!((lump.ticks_to_event(), lump.on_ticks(1_000_000)), (None, Tick::default()));
}

/// Algorithm 2: one request per crossing, carried by the next tick.
#[test]
fn depth_pauses_and_resumes_with_hysteresis() {
    let mut receiver = Receiver::new(CONFIG);
    let mut asked = |depth: u32| {
        receiver.on_dequeue(depth);
        receiver.on_ticks(1).pause
    };
    let depths = [499, 500, 501, 461, 460, 459, 499, 500];
    let expected = [None, Some(Quanta::MAX), None, None, Some(Quanta::RESUME), None, None, Some(Quanta::MAX)];
    assert_eq!(depths.map(&mut asked), expected);
}

#[test]
fn a_request_that_has_not_left_is_overwritten() {
    let mut receiver = Receiver::new(CONFIG);
    receiver.on_dequeue(500);
    receiver.on_dequeue(460);
    assert_eq!((receiver.on_ticks(1).pause, receiver.on_ticks(1).pause), (Some(Quanta::RESUME), None));
}

/// 65535 quanta are 336 µs at 100G.
#[test]
fn a_pause_ends_with_a_resume_or_by_itself() {
    let mut sender = Sender::new(CONFIG);
    assert!(!sender.is_paused(Time::from_ns(0)));
    sender.on_pause(Time::from_ns(1_000), Quanta::MAX);
    assert!(sender.is_paused(Time::from_ns(336_000)) && !sender.is_paused(Time::from_ns(337_000)));
    assert_eq!(sender.paused_until().map(Time::as_ns), Some(336_539));
    sender.on_pause(Time::from_ns(2_000), Quanta::RESUME);
    assert!(!sender.is_paused(Time::from_ns(2_000)));
}

fn data(seq: u16) -> Signal {
    Signal::Data { number: Number { seq, era: false }, again: false, blocking: true, ack: None }
}

/// A is protected by B, with as much room as anything needs.
fn protected(registers: Config) -> PrototypePair {
    let room = Bytes::new(1 << 20);
    let config = PrototypeConfig { registers, tx_bytes_max: room, rx_bytes_max: room };
    let mut pair = PrototypePair::new(config, Span::from_ns(100));
    pair.order(Side::A, Order::Activate);
    pair
}

/// So many frames, and all that follows from them.
fn send(pair: &mut PrototypePair, frames: u32, lost: impl FnMut(&Passing<PrototypeSignal>) -> bool) {
    pair.send(Side::A, frames as usize, 1_000, true);
    assert_eq!(pair.run(lost), Ending::Idle);
}

fn is_fresh(passing: &Passing<PrototypeSignal>) -> bool {
    passing.kind() == Kind::Data
}
