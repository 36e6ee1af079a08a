//! Every pattern of losses among the first frames on the wire, in both directions.
//!
//! However much is lost at once: frames, copies, notifications, ACKs, dummies, pauses, hellos. Numbers have four
//! bits, so that they wrap within a run.

use wiremend_proto::link::{Config, CopyCount};
use wiremend_testkit::{Course, Ending, LinkPair, Order, Side};
use wiremend_units::{Bytes, Rate, Span};

pub(crate) type Pair = LinkPair<4>;

pub(crate) const LEN: u32 = 1000;
pub(crate) const DELAY: Span = Span::from_ns(400);

/// All subsets of this many.
const PREFIX: u32 = 13;

#[test]
fn any_first_losses_of_ordered_frames() {
    try_all("ordered", Course::Steady, || with_traffic(close_config(), 20, 0, |_| true));
}

#[test]
fn any_first_losses_of_frames_that_need_no_order() {
    try_all("non-blocking", Course::Steady, || with_traffic(close_config(), 20, 0, |_| false));
}

#[test]
fn any_first_losses_with_both_kinds_and_both_directions() {
    try_all("mixed, both ways", Course::Steady, || with_traffic(close_config(), 9, 9, |no| no % 3 != 0));
}

#[test]
fn any_first_losses_with_little_room() {
    try_all("little room", Course::Steady, || with_traffic(cramped_config(), 12, 2, |_| true));
}

#[test]
fn any_first_losses_around_a_start() {
    try_all("start", Course::Steady, || {
        let mut pair = Pair::new(close_config(), DELAY);
        for no in 0..30 {
            pair.order_after(Span::from_ns(150 * no), Side::A, Order::Send { len: LEN, ordered: true });
        }
        pair.order_after(Span::from_ns(300), Side::A, Order::Activate);
        pair.order_after(Span::from_ns(500), Side::B, Order::Activate);
        pair
    });
}

#[test]
fn any_first_losses_around_an_end() {
    try_all("end", Course::Steady, || {
        let mut pair = with_traffic(close_config(), 8, 2, |_| true);
        pair.order_after(Span::from_ns(500), Side::A, Order::Deactivate);
        for no in 0..4 {
            let frame = Order::Send { len: LEN, ordered: true };
            pair.order_after(Span::from_ns(400 + 300 * no), Side::A, frame);
        }
        pair
    });
}

#[test]
fn any_first_losses_around_a_restart() {
    for side in [Side::A, Side::B] {
        for after in [100, 700, 1500] {
            try_all("restart", Course::Broken, || {
                let mut pair = with_traffic(close_config(), 10, 2, |_| true);
                pair.order_after(Span::from_ns(after), side, Order::Restart);
                pair
            });
        }
    }
}

pub(crate) fn close_config() -> Config {
    Config {
        copies: CopyCount::Fixed(2),
        dummies: 2,
        // What copies have taken is soon made up for, so that states differ in what matters.
        resend_share_percent: 100,
        ..Config::for_link(Rate::gbps(100), Bytes::new(1000), DELAY * 2)
    }
}

/// The same with so little room that it does not last.
pub(crate) fn cramped_config() -> Config {
    Config {
        tx_bytes_max: Bytes::new(4000),
        rx_bytes_max: Bytes::new(3000),
        pause_at: Some(Bytes::new(2000)),
        resume_at: Some(Bytes::new(1000)),
        ..close_config()
    }
}

/// Both ends are active, numbers are about to wrap, and frames wait on both sides.
pub(crate) fn with_traffic(
    config: Config,
    from_a: usize,
    from_b: usize,
    ordered: impl Fn(usize) -> bool,
) -> Pair {
    let mut pair = Pair::new(config, DELAY);
    pair.order(Side::A, Order::Activate);
    pair.order(Side::B, Order::Activate);
    pair.send(Side::A, 11, LEN, true);
    pair.send(Side::B, 14, LEN, true);
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

fn try_all(name: &str, course: Course, start: impl Fn() -> Pair) {
    let start = start();
    let (mut runs, mut passed) = (0_u64, 0);
    let mut check = |losses: &dyn Fn(u64) -> bool, pattern: &dyn Fn() -> String| {
        let mut pair = start.clone();
        let ending = run(&mut pair, losses);
        if let Some(what) = pair.violation(ending, course) {
            panic!("{name}: {what}; losses {}", pattern());
        }
        runs += 1;
        passed += pair.passed().0 - start.passed().0;
    };
    for pattern in 0..1_u64 << PREFIX {
        check(&|nth| nth < u64::from(PREFIX) && pattern >> nth & 1 == 1, &|| format!("{pattern:#b}"));
    }
    println!("{name}: {runs} patterns of losses, {passed} frames on the wire");
}
