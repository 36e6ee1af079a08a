//! What the prototype cannot do. Each of these is a limit of its registers, not of the protocol.

use wiremend_proto::link::paper::{Ack, Config, Judgement, Number, Receiver, Sender, Signal};
use wiremend_units::Time;
use wiremend_wire::Quanta;

use crate::pair::{Fate, Pair};

const CONFIG: Config = Config::GBPS_100;
const TIMEOUT: u64 = CONFIG.timeout_ticks as u64;

/// There are five slots: the sixth frame of a hole and those behind it are not asked for, and count as acknowledged.
#[test]
fn of_a_hole_over_five_the_rest_is_lost() {
    let mut pair = Pair::new(CONFIG);
    pair.stream(10);
    let waited = hole(&mut pair, 7);
    assert_eq!((pair.lost(), pair.sender.counters().resent), (vec![15, 16], 5));
    assert_eq!((waited, pair.kept()), (2 * TIMEOUT, 0));
}

/// A hole of 256 says that nothing is missing, one of 258 that two are.
#[test]
fn the_size_of_a_hole_wraps_at_256() {
    for (lost, asked_for) in [(255, 5), (256, 0), (257, 1), (258, 2)] {
        let mut pair = Pair::new(CONFIG);
        let waited = hole(&mut pair, lost);
        assert_eq!(pair.sender.counters().resent, asked_for, "{lost}");
        assert_eq!(pair.lost().len() as u64, u64::from(lost) - asked_for);
        assert_eq!(waited, (u64::from(lost) - asked_for) * TIMEOUT);
    }
}

/// `k` frames that do not come stall the link `k` times, though all of them are known to be missing from the start.
#[test]
fn each_frame_of_a_hole_is_waited_for_in_turn() {
    for lost in 1..=5 {
        let mut pair = Pair::new(CONFIG);
        pair.fate = Fate { loses_repeats: true, ..pair.fate };
        assert_eq!(hole(&mut pair, lost), u64::from(lost) * TIMEOUT);
    }
}

/// A time-out that steps past 65535 leaves the era as it was. From then on a loss before the middle of the numbers, or before their
/// end, costs the frames behind it too: they arrived, and are taken for old ones.
#[test]
fn a_timeout_at_the_wrap_leaves_the_wrong_era() {
    let bystanders_lost = |stepped_by_timeout: bool, seq: u16| {
        let mut pair = Pair::new(CONFIG);
        pair.stream_to(65_535);
        pair.fate = Fate { loses_repeats: stepped_by_timeout, ..pair.fate };
        hole(&mut pair, 1);
        pair.fate = Fate::default();
        pair.stream_to(seq);
        let before = pair.lost().len();
        hole(&mut pair, 1);
        pair.lost().len() - before
    };
    for seq in [100, 32_766, 32_767, 32_768, 65_534, 65_535] {
        assert_eq!(bystanders_lost(false, seq), 0, "{seq}");
    }
    assert_eq!([100, 32_768, 65_534].map(|seq| bystanders_lost(true, seq)), [0, 0, 0]);
    assert_eq!([32_767, 65_535].map(|seq| bystanders_lost(true, seq)), [1, 1]);
}

/// Without order nothing moves `ackNo` but the tick. The first frame in order then waits for all that went before: here 0.14 s.
#[test]
fn a_switch_to_ordered_mode_stalls() {
    let mut pair = Pair::new(CONFIG.non_blocking());
    pair.stream(20_000);
    pair.sender.set_ordered(true);
    pair.stream(1);
    assert_eq!((pair.held(), pair.delivered.len()), (1, 20_000));
    assert_eq!(pair.wait(), 20_000 * TIMEOUT);
    assert_eq!(pair.delivered.len(), 20_001);
}

/// If the numbers started over in between, frames in order may also be taken for old ones, one and all.
#[test]
fn a_switch_to_ordered_mode_in_another_era_drops_frames() {
    let mut pair = Pair::new(CONFIG.non_blocking());
    pair.stream(65_536 + 40_000);
    pair.sender.set_ordered(true);
    pair.stream(1_000);
    assert_eq!((pair.held(), pair.lost().len()), (0, 1_000));
}

/// A request for a copy that is gone stays in the table. All numbers later it sends again what nobody misses.
#[test]
fn a_stale_request_fires_65536_frames_later() {
    let mut pair = Pair::new(CONFIG.non_blocking());
    pair.stream(5);
    pair.lose(1);
    pair.forget_copy();
    pair.stream(65_535);
    assert_eq!((pair.sender.counters().resent, pair.lost()), (0, vec![5]));
    pair.stream(1);
    assert_eq!((pair.sender.counters().resent, pair.receiver.counters().missed), (1, 1));
    assert_eq!(pair.delivered[pair.delivered.len() - 2..], [5 + 65_536; 2]);
}

/// A copy that finds no room in the TX loop is missed by nobody until it is needed, and no register says so then.
#[test]
fn an_overflow_of_the_tx_buffer_goes_uncounted() {
    let lost = |forget: bool| {
        let mut pair = Pair::new(CONFIG);
        pair.lose(1);
        if forget {
            pair.forget_copy();
        }
        pair.stream(1);
        pair.wait();
        (pair.lost().len(), pair.sender.counters().unrequested, pair.sender.counters().notifications)
    };
    assert_eq!((lost(false), lost(true)), ((0, 0, 1), (1, 0, 1)));
}

/// An ACK that comes late is believed: copies that were free to go keep circling.
#[test]
fn the_leading_ack_moves_backwards() {
    let mut sender = Sender::new(CONFIG);
    for _ in 0..10 {
        sender.on_egress(None);
    }
    sender.on_signal(&Signal::Ack(Ack(number(9))));
    sender.on_signal(&Signal::Ack(Ack(number(5))));
    assert_eq!(sender.judge_copy(number(8)), Judgement::Again);
    assert_eq!(sender.judge_copy(number(5)), Judgement::Drop);
}

/// It is sent once; the next ACK covers the hole, and the copy is dropped.
#[test]
fn a_lost_notification_is_never_repeated() {
    let mut pair = Pair::new(CONFIG);
    pair.fate = Fate { loses_notifications: true, ..pair.fate };
    pair.lose(1);
    pair.stream(20);
    assert_eq!((pair.receiver.counters().notifications, pair.sender.counters().notifications), (1, 0));
    assert_eq!((pair.kept(), pair.held()), (0, 20));
    assert_eq!((pair.wait(), pair.lost()), (TIMEOUT, vec![0]));
}

/// The receiver takes the sender for resumed and says nothing more: only the end of the quanta heals it.
#[test]
fn a_lost_resume_costs_336_us() {
    let (mut sender, mut receiver) = (Sender::new(CONFIG), Receiver::new(CONFIG));
    receiver.on_dequeue(CONFIG.pause_cells);
    let pause = receiver.on_ticks(1).pause.unwrap();
    sender.on_pause(Time::from_ns(0), pause);
    receiver.on_dequeue(CONFIG.resume_cells);
    assert_eq!(receiver.on_ticks(1).pause, Some(Quanta::RESUME), "this one is lost");
    for depth in (0..CONFIG.resume_cells).rev() {
        receiver.on_dequeue(depth);
        assert_eq!(receiver.on_ticks(1).pause, None);
    }
    assert!(sender.is_paused(Time::from_ns(335_500)));
    assert!(!sender.is_paused(Time::from_ns(335_600)));
}

/// Likewise the receiver takes the sender for paused, while its buffer grows.
#[test]
fn a_lost_pause_is_never_repeated() {
    let mut receiver = Receiver::new(CONFIG);
    receiver.on_dequeue(CONFIG.pause_cells);
    assert_eq!(receiver.on_ticks(1).pause, Some(Quanta::MAX), "this one is lost");
    for depth in CONFIG.pause_cells..20 * CONFIG.pause_cells {
        receiver.on_dequeue(depth);
        assert_eq!(receiver.on_ticks(1).pause, None);
    }
}

/// Nothing tells the ends of each other's restart: a new receiver sees a hole of everything before, asks for copies that are
/// long gone, and waits for each number, here 0.21 s.
#[test]
fn a_restart_looks_like_a_huge_hole() {
    let mut pair = Pair::new(CONFIG);
    pair.stream(30_000);
    pair.receiver = Receiver::new(CONFIG);
    pair.stream(1);
    assert_eq!((pair.receiver.counters().missed, pair.held()), (30_000, 1));
    assert_eq!(pair.wait(), 30_000 * TIMEOUT);
    assert!(pair.lost().is_empty());
}

/// A new sender starts at 0, and is taken for an old one.
#[test]
fn a_restart_of_the_sender_loses_frames() {
    let mut pair = Pair::new(CONFIG);
    pair.stream(30_000);
    pair.sender = Sender::new(CONFIG);
    pair.stream(100);
    assert_eq!((pair.lost().len(), pair.receiver.counters().dropped), (100, 100));
}

/// If both ACKs of the last frame are lost, its copy circles until there is other traffic, even after protection has ended.
#[test]
fn unacknowledged_copies_circle_forever() {
    let mut pair = Pair::new(CONFIG);
    pair.stream(3);
    pair.fate = Fate { loses_acks: true, ..pair.fate };
    pair.stream(1);
    assert!(pair.courier() && !pair.courier());
    while pair.dummy(true) {}
    pair.settle();
    assert_eq!((pair.kept(), pair.sender.dummies_owed(), pair.receiver.acks_owed()), (1, 0, 0));
}

/// With two copies of what is sent again, a host gets both.
#[test]
fn without_order_duplicates_are_handed_on() {
    let mut pair = Pair::new(CONFIG.non_blocking().with_copies(2));
    pair.stream(1);
    hole(&mut pair, 1);
    assert_eq!(pair.delivered, [0, 2, 1, 1]);
}

/// So many frames are lost, the next one arrives, and everything that can happen does; how many ticks were waited.
fn hole(pair: &mut Pair, lost: u32) -> u64 {
    pair.lose(lost);
    pair.stream(1);
    pair.wait()
}

fn number(seq: u16) -> Number {
    Number { seq, era: false }
}
