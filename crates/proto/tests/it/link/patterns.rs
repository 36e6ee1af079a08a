//! Every pattern of losses among the first frames on the wire, in both directions: frames, copies,
//! notifications, ACKs, dummies, pauses, hellos. Sequence numbers have four bits, so that they wrap within a
//! run.

use wiremend_proto::link::{Config, CopyCount};
use wiremend_testkit::{LinkCommand, LinkPair, RunEnd, RunHistory, Side};
use wiremend_units::{Bytes, Rate, Span};

pub(crate) type Pair = LinkPair<4>;

pub(crate) const LEN: u32 = 1000;
pub(crate) const DELAY: Span = Span::from_ns(400);

/// All subsets of this many frames.
const PREFIX: u32 = 13;

#[test]
fn any_first_losses_of_ordered_frames() {
    check_all_patterns("ordered", RunHistory::Steady, || with_traffic(close_config(), 20, 0, |_| true));
}

#[test]
fn any_first_losses_of_unordered_frames() {
    check_all_patterns("non-blocking", RunHistory::Steady, || with_traffic(close_config(), 20, 0, |_| false));
}

#[test]
fn any_first_losses_with_mixed_order_in_both_directions() {
    check_all_patterns("mixed, both ways", RunHistory::Steady, || {
        with_traffic(close_config(), 9, 9, |no| no % 3 != 0)
    });
}

#[test]
fn any_first_losses_with_small_buffers() {
    check_all_patterns("small buffers", RunHistory::Steady, || {
        with_traffic(small_buffer_config(), 12, 2, |_| true)
    });
}

#[test]
fn any_first_losses_around_a_start() {
    check_all_patterns("start", RunHistory::Steady, || {
        let mut pair = Pair::new(close_config(), DELAY);
        for no in 0..30 {
            pair.apply_after(Span::from_ns(150 * no), Side::A, LinkCommand::Send { len: LEN, ordered: true });
        }
        pair.apply_after(Span::from_ns(300), Side::A, LinkCommand::Activate);
        pair.apply_after(Span::from_ns(500), Side::B, LinkCommand::Activate);
        pair
    });
}

#[test]
fn any_first_losses_around_an_end() {
    check_all_patterns("end", RunHistory::Steady, || {
        let mut pair = with_traffic(close_config(), 8, 2, |_| true);
        pair.apply_after(Span::from_ns(500), Side::A, LinkCommand::Deactivate);
        for no in 0..4 {
            let frame = LinkCommand::Send { len: LEN, ordered: true };
            pair.apply_after(Span::from_ns(400 + 300 * no), Side::A, frame);
        }
        pair
    });
}

#[test]
fn any_first_losses_around_a_restart() {
    for side in [Side::A, Side::B] {
        for after in [100, 700, 1500] {
            check_all_patterns("restart", RunHistory::Restarted, || {
                let mut pair = with_traffic(close_config(), 10, 2, |_| true);
                pair.apply_after(Span::from_ns(after), side, LinkCommand::Restart);
                pair
            });
        }
    }
}

pub(crate) fn close_config() -> Config {
    Config {
        copies: CopyCount::Fixed(2),
        dummies: 2,
        // The share of copies recovers soon, so that states differ only in what matters.
        resend_share_percent: 100,
        ..Config::for_link(Rate::gbps(100), Bytes::new(1000), DELAY * 2)
    }
}

/// The same with buffers that are too small.
pub(crate) fn small_buffer_config() -> Config {
    Config {
        tx_bytes_max: Bytes::new(4000),
        rx_bytes_max: Bytes::new(3000),
        pause_at: Some(Bytes::new(2000)),
        resume_at: Some(Bytes::new(1000)),
        ..close_config()
    }
}

/// Both ends are active, numbers are about to wrap, and frames are queued at both.
pub(crate) fn with_traffic(
    config: Config,
    from_a: usize,
    from_b: usize,
    ordered: impl Fn(usize) -> bool,
) -> Pair {
    let mut pair = Pair::new(config, DELAY);
    pair.apply(Side::A, LinkCommand::Activate);
    pair.apply(Side::B, LinkCommand::Activate);
    pair.send(Side::A, 11, LEN, true);
    pair.send(Side::B, 14, LEN, true);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    for no in 0..from_a {
        pair.apply(Side::A, LinkCommand::Send { len: LEN, ordered: ordered(no) });
    }
    for no in 0..from_b {
        pair.apply(Side::B, LinkCommand::Send { len: LEN, ordered: ordered(no) });
    }
    pair
}

fn run(pair: &mut Pair, loses: impl Fn(u64) -> bool) -> RunEnd {
    let (before, _) = pair.passed();
    pair.run(|sent| loses(sent.nth - before))
}

fn check_all_patterns(name: &str, history: RunHistory, start: impl Fn() -> Pair) {
    let start = start();
    let (mut runs, mut passed) = (0_u64, 0);
    let mut check = |losses: &dyn Fn(u64) -> bool, pattern: &dyn Fn() -> String| {
        let mut pair = start.clone();
        let ending = run(&mut pair, losses);
        if let Some(what) = pair.violation(ending, history) {
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
