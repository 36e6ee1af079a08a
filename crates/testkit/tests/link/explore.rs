//! Every pattern of losses, in both directions, up to a depth.
//!
//! Everything on the wire may be lost: frames, copies, notifications, ACKs, dummies, pauses, hellos. Numbers have four
//! bits, so that they wrap several times within a run. Two families of patterns are complete: every subset of the first
//! frames on the wire, and every choice of a few among many.

use wiremend_proto::link::{Config, CopyCount};
use wiremend_testkit::{Ending, LinkPair, Order, Side};
use wiremend_units::{Bytes, Rate, Span};

use crate::invariants::{Course, violation};

type Pair = LinkPair<4>;

const LEN: u32 = 1000;
const DELAY: Span = Span::from_ns(400);

/// All subsets of this many.
const PREFIX: u32 = 13;
/// All choices of up to three among this many.
const REACH: u64 = 44;

#[test]
fn any_losses_of_ordered_frames() {
    explore("ordered", Course::Steady, || with_traffic(config(), 20, 0, |_| true));
}

#[test]
fn any_losses_of_frames_that_need_no_order() {
    explore("non-blocking", Course::Steady, || with_traffic(config(), 20, 0, |_| false));
}

#[test]
fn any_losses_with_both_kinds_and_both_directions() {
    explore("mixed, both ways", Course::Steady, || with_traffic(config(), 9, 9, |no| no % 3 != 0));
}

#[test]
fn any_losses_with_little_room() {
    let config = Config {
        tx_bytes_max: Bytes::new(4 * 1000),
        rx_bytes_max: Bytes::new(3 * 1000),
        pause_at: Some(Bytes::new(2000)),
        resume_at: Some(Bytes::new(1000)),
        ..config()
    };
    explore("little room", Course::Steady, || with_traffic(config.clone(), 12, 2, |_| true));
}

#[test]
fn any_losses_around_a_start() {
    explore("start", Course::Steady, || {
        let mut pair = Pair::new(config(), DELAY);
        for no in 0..30 {
            pair.order_after(Span::from_ns(150 * no), Side::A, Order::Send { len: LEN, ordered: true });
        }
        pair.order_after(Span::from_ns(300), Side::A, Order::Activate);
        pair.order_after(Span::from_ns(500), Side::B, Order::Activate);
        pair
    });
}

#[test]
fn any_losses_around_an_end() {
    explore("end", Course::Steady, || {
        let mut pair = with_traffic(config(), 8, 2, |_| true);
        pair.order_after(Span::from_ns(500), Side::A, Order::Deactivate);
        for no in 0..4 {
            let frame = Order::Send { len: LEN, ordered: true };
            pair.order_after(Span::from_ns(400 + 300 * no), Side::A, frame);
        }
        pair
    });
}

#[test]
fn any_losses_around_a_restart() {
    for side in [Side::A, Side::B] {
        for after in [100, 700, 1500] {
            explore("restart", Course::Broken, || {
                let mut pair = with_traffic(config(), 10, 2, |_| true);
                pair.order_after(Span::from_ns(after), side, Order::Restart);
                pair
            });
        }
    }
}

/// Two losses never cost a frame: it takes the original and both copies, and then the same again when the
/// receiver asks once more.
#[test]
fn two_losses_cost_nothing() {
    let start = with_traffic(config(), 20, 6, |no| no % 4 != 1);
    let mut runs = 0;
    for losses in choices(2, 80) {
        let mut pair = start.clone();
        let ending = run(&mut pair, |nth| losses.contains(&nth));
        assert_eq!(violation(&pair, ending, Course::Steady), None, "losses {losses:?}");
        assert_eq!((pair.counters(Side::A).lost, pair.counters(Side::B).lost), (0, 0), "losses {losses:?}");
        runs += 1;
    }
    println!("two losses among 80: {runs} patterns");
}

fn config() -> Config {
    Config {
        copies: CopyCount::Fixed(2),
        dummies: 2,
        ..Config::for_link(Rate::gbps(100), Bytes::new(1000), DELAY * 2)
    }
}

/// Both ends are active, and frames wait on both sides.
fn with_traffic(config: Config, from_a: usize, from_b: usize, ordered: impl Fn(usize) -> bool) -> Pair {
    let mut pair = Pair::new(config, DELAY);
    pair.order(Side::A, Order::Activate);
    pair.order(Side::B, Order::Activate);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    for no in 0..from_a {
        pair.order(Side::A, Order::Send { len: LEN, ordered: ordered(no) });
    }
    for no in 0..from_b {
        pair.order(Side::B, Order::Send { len: LEN, ordered: ordered(no) });
    }
    pair
}

fn run(pair: &mut Pair, loses: impl Fn(u64) -> bool) -> Ending {
    let (before, _) = pair.passed();
    pair.run(|passing| loses(passing.nth - before))
}

fn explore(name: &str, course: Course, start: impl Fn() -> Pair) {
    let start = start();
    let (mut runs, mut passed) = (0_u64, 0);
    let mut check = |losses: &dyn Fn(u64) -> bool, pattern: &dyn Fn() -> String| {
        let mut pair = start.clone();
        let ending = run(&mut pair, losses);
        if let Some(what) = violation(&pair, ending, course) {
            panic!("{name}: {what}; losses {}", pattern());
        }
        runs += 1;
        passed += pair.passed().0 - start.passed().0;
    };
    for pattern in 0..1_u64 << PREFIX {
        check(&|nth| nth < u64::from(PREFIX) && pattern >> nth & 1 == 1, &|| format!("{pattern:#b}"));
    }
    for losses in choices(3, REACH) {
        check(&|nth| losses.contains(&nth), &|| format!("{losses:?}"));
    }
    println!("{name}: {runs} patterns of losses, {passed} frames on the wire");
}

/// All choices of up to `count` among `0..end`.
fn choices(count: u32, end: u64) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    let mut grown = all.clone();
    for _ in 0..count {
        grown = grown
            .iter()
            .flat_map(|choice: &Vec<u64>| {
                let from = choice.last().map_or(0, |last| last + 1);
                (from..end).map(move |next| choice.iter().copied().chain([next]).collect())
            })
            .collect();
        all.extend(grown.iter().cloned());
    }
    all
}
