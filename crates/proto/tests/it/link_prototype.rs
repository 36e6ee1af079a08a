//! The published prototype of `LinkGuardian`. `link::defects` has tests of its limits.

use wiremend_proto::link::prototype::{
    Ack, Config, CopyVerdict, EraSeq, FrameVerdict, PrototypeHeader, Receiver, Sender, TICK, TickOutcome,
};
use wiremend_testkit::{
    FrameKind, LinkCommand, PrototypeConfig, PrototypePair, PrototypeSignal, RunEnd, Side, WireFrame,
};
use wiremend_units::{Bytes, Span, Time};
use wiremend_wire::Quanta;

const CONFIG: Config = Config::GBPS_100;

/// Gaps of one to five frames, three times around all numbers: every frame once, in order, without a timeout.
#[test]
fn lost_frames_are_retransmitted_and_reordered() {
    let mut pair = protected(CONFIG.with_copies(2));
    let mut sent = 0;
    while sent < 3 * 65_536 {
        let (lost, apart) = (1 + sent % 5, 1 + sent % 23);
        let hole = sent..sent + lost;
        send(&mut pair, lost + apart, |sent| is_new(sent) && hole.contains(&sent.frame.unwrap()));
        sent += lost + apart;
    }
    assert!(pair.delivered(Side::B).iter().copied().eq(0..sent));
    let (tx, rx) = (pair.counters(Side::A), pair.counters(Side::B));
    assert_eq!((rx.lost, tx.refused, rx.missed), (0, 0, tx.resent));
    assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
}

/// Further copies of a retransmission are dropped, because their number has passed.
#[test]
fn blocking_mode_removes_duplicates() {
    let mut pair = protected(CONFIG.with_copies(3));
    send(&mut pair, 3, |sent| is_new(sent) && sent.frame == Some(0));
    assert_eq!((pair.delivered(Side::B), pair.counters(Side::B).duplicates), (&[0, 1, 2][..], 2));
}

#[test]
fn non_blocking_mode_holds_no_frames() {
    let (mut sender, mut receiver) =
        (Sender::new(CONFIG.non_blocking()), Receiver::new(CONFIG.non_blocking()));
    let headers: [PrototypeHeader; 4] = std::array::from_fn(|_| sender.on_egress(None));
    for header in [headers[0], headers[2], headers[1].sent_again(), headers[3]] {
        assert_eq!(receiver.on_arrival(&header).verdict, Some(FrameVerdict::Forward));
    }
    assert_eq!(receiver.ack_no(), EraSeq::default());
}

/// LG §3.2: the first dummy that arrives shows a lost tail. Afterwards the link is silent.
#[test]
fn dummies_show_a_lost_tail_and_stop() {
    let mut pair = protected(CONFIG);
    let mut dummies = 0;
    send(&mut pair, 5, |sent| {
        dummies += u32::from(sent.kind() == FrameKind::Dummy);
        is_new(sent) && sent.frame == Some(4) || sent.kind() == FrameKind::Dummy && dummies == 1
    });
    assert_eq!(pair.delivered(Side::B), [0, 1, 2, 3, 4]);
    assert_eq!(pair.counters(Side::B).notifications, 1);
    assert_eq!((pair.handles(Side::A), pair.counters(Side::A).dummies), ((0, 0), 3));
}

/// A dummy without a gap before it has no effect.
#[test]
fn dummy_without_a_gap_owes_no_ack() {
    let mut receiver = Receiver::new(CONFIG);
    let arrival = receiver.on_arrival(&PrototypeHeader::Dummy { number: EraSeq::default(), blocking: true });
    assert_eq!((arrival.notification, arrival.verdict, receiver.acks_owed()), (None, None, 0));
}

/// The frame before number 0 belongs to the previous era.
#[test]
fn dummy_with_number_0_acknowledges_the_previous_era() {
    let (mut sender, mut receiver) = (Sender::new(CONFIG), Receiver::new(CONFIG));
    for _ in 0..65_535 {
        receiver.on_arrival(&sender.on_egress(None));
    }
    sender.on_egress(None);
    let dummy = sender.on_egress_dummy().unwrap();
    assert_eq!(dummy, PrototypeHeader::Dummy { number: EraSeq { seq: 0, era: true }, blocking: true });
    let ack = Ack(EraSeq { seq: 65_535, era: false });
    let notification = PrototypeHeader::Notification { ack, hole_size: 1, first_lost: 65_535 };
    assert_eq!(receiver.on_arrival(&dummy).notification, Some(notification));
}

/// Without the ACK queue an ACK waits for a frame of the other direction.
#[test]
fn without_the_ack_queue_acks_wait_for_a_frame() {
    let mut sender = Sender::new(CONFIG);
    let mut receiver = Receiver::new(Config { ack_queue: false, ..CONFIG });
    receiver.on_arrival(&sender.on_egress(None));
    assert_eq!((receiver.on_idle(), receiver.acks_owed()), (None, 2));
    assert_eq!(receiver.on_egress(), Some(Ack(EraSeq { seq: 0, era: false })));
    assert_eq!(Receiver::new(CONFIG).on_idle(), None, "it owes none");
}

/// Each ACK leaves twice. None follows a notification, because it would be older.
#[test]
fn acks_are_sent_twice_but_not_after_a_notification() {
    let (mut sender, mut receiver) = (Sender::new(CONFIG), Receiver::new(CONFIG));
    let headers: [PrototypeHeader; 4] = std::array::from_fn(|_| sender.on_egress(None));
    receiver.on_arrival(&headers[0]);
    let ack = Some(Ack(EraSeq { seq: 0, era: false }));
    assert_eq!([receiver.on_egress(), receiver.on_egress(), receiver.on_egress()], [ack, ack, None]);
    receiver.on_arrival(&headers[1]);
    assert!(receiver.on_arrival(&headers[3]).notification.is_some());
    assert_eq!((receiver.acks_owed(), receiver.on_egress()), (0, None));
}

#[test]
fn copies_stay_in_the_loop_until_acknowledged() {
    let mut sender = Sender::new(CONFIG);
    let number = sender.next_number();
    sender.on_egress(None);
    assert_eq!(sender.judge_copy(number), CopyVerdict::Keep);
    sender.on_signal(&PrototypeHeader::Piggyback(Ack(number)));
    assert_eq!(sender.judge_copy(number), CopyVerdict::Drop);
}

/// `ackNoTimeout` is 7 µs at 100G. Then later frames are delivered.
#[test]
fn missing_frame_is_given_up_after_the_timeout() {
    let mut pair = protected(CONFIG);
    send(&mut pair, 4, |sent| sent.frame == Some(1));
    assert_eq!((pair.delivered(Side::B), pair.counters(Side::B).lost), (&[0, 2, 3][..], 1));
    let behind = pair.frames()[2];
    let waited = behind.delivered_at.unwrap().since(behind.arrived_at.unwrap());
    assert!((7_000..7_000 + TICK.as_ns()).contains(&(waited + TICK).as_ns()), "{waited}");
}

/// Time spent on one gap does not count against the next.
#[test]
fn delivery_restarts_the_timeout() {
    let mut receiver = Receiver::new(CONFIG);
    receiver.on_arrival(&data(1));
    receiver.on_ticks(69);
    assert_eq!(receiver.on_arrival(&data(0).sent_again()).verdict, Some(FrameVerdict::Forward));
    assert_eq!(receiver.ticks_to_event(), Some(70));
}

/// A host need not simulate every tick.
#[test]
fn ticks_have_the_same_effect_one_by_one_and_at_once() {
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
        (EraSeq { seq: 3, era: false }, EraSeq { seq: 3, era: false })
    );
    assert_eq!(lump.judge(EraSeq { seq: 3, era: false }, true), FrameVerdict::Forward);
    assert_eq!((lump.ticks_to_event(), lump.on_ticks(1_000_000)), (None, TickOutcome::default()));
}

/// Algorithm 2: one request per threshold crossing, sent with the next tick.
#[test]
fn depth_pauses_and_resumes_with_hysteresis() {
    let mut receiver = Receiver::new(CONFIG);
    let mut pause_at_depth = |depth: u32| {
        receiver.on_dequeue(depth);
        receiver.on_ticks(1).pause
    };
    let depths = [499, 500, 501, 461, 460, 459, 499, 500];
    let expected = [None, Some(Quanta::MAX), None, None, Some(Quanta::RESUME), None, None, Some(Quanta::MAX)];
    assert_eq!(depths.map(&mut pause_at_depth), expected);
}

#[test]
fn pending_pause_is_overwritten() {
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

fn data(seq: u16) -> PrototypeHeader {
    PrototypeHeader::Data {
        number: EraSeq { seq, era: false },
        retransmitted: false,
        blocking: true,
        ack: None,
    }
}

/// A pair with protection from A to B and ample buffers.
fn protected(registers: Config) -> PrototypePair {
    let room = Bytes::new(1 << 20);
    let config = PrototypeConfig { registers, tx_bytes_max: room, rx_bytes_max: room };
    let mut pair = PrototypePair::new(config, Span::from_ns(100));
    pair.apply(Side::A, LinkCommand::Activate);
    pair
}

/// Sends frames and runs until the pair is idle.
fn send(pair: &mut PrototypePair, frames: u32, lost: impl FnMut(&WireFrame<PrototypeSignal>) -> bool) {
    pair.send(Side::A, frames as usize, 1_000, true);
    assert_eq!(pair.run(lost), RunEnd::Idle);
}

fn is_new(sent: &WireFrame<PrototypeSignal>) -> bool {
    sent.kind() == FrameKind::Data
}
