//! With any losses and delays, and any starts, ends and restarts: frames arrive once, in order, and all are
//! accounted for.

use wiremend_proto::link::{Config, CopyCount};
use wiremend_testkit::{LinkCommand, LinkPair, RunEnd, RunHistory, Side};
use wiremend_units::{Bytes, Rate, Span};

use super::draw::Draw;

/// Reads commands for both ends, and then the fate of each frame.
pub(crate) fn check(bytes: &[u8]) {
    let (commands, fates) = bytes.split_at(bytes.len() / 2);
    match bytes.first().map_or(0, |first| first % 3) {
        0 => run::<4>(commands, fates),
        1 => run::<7>(commands, fates),
        _ => run::<20>(commands, fates),
    }
}

fn run<const BITS: u32>(commands: &[u8], fates: &[u8]) {
    let (mut draw, mut fates) = (Draw::new(commands), Draw::new(fates));
    let rtt = Span::from_us(draw.pick(&[2, 5, 40, 500]));
    let mut config = Config::for_link(Rate::gbps(draw.pick(&[100, 10, 25])), Bytes::new(1518), rtt);
    config.rtt = draw.is(2).then_some(rtt);
    config.backpressure = !draw.is(8);
    config.dummies = draw.pick(&[3, 1, 4]);
    config.control_copies = draw.pick(&[2, 1, 3]);
    config.rtt_initial = rtt * draw.pick(&[0, 1, 4, 20]);
    if draw.is(2) {
        config.copies = CopyCount::Fixed(draw.pick(&[1, 2]));
    }
    if draw.is(4) {
        (config.tx_bytes_max, config.rx_bytes_max) = (Bytes::new(4_000), Bytes::new(6_000));
    }
    let mut pair = LinkPair::<BITS>::new(config, rtt / 2);
    let mut history = RunHistory::Steady;
    let mut at = Span::ZERO;
    while !draw.is_over() {
        let side = draw.pick(&[Side::A, Side::B]);
        at += rtt * u64::from(draw.byte()) / 64;
        match draw.byte() % 16 {
            0..=2 => pair.apply_after(at, side, LinkCommand::Activate),
            3 => pair.apply_after(at, side, LinkCommand::Deactivate),
            4 => {
                history = RunHistory::Restarted;
                pair.apply_after(at, side, LinkCommand::Restart);
            }
            _ => {
                let (len, ordered) = (64 + u32::from(draw.byte()) * 5, !draw.is(4));
                for _ in 0..draw.byte() % 32 {
                    pair.apply_after(at, side, LinkCommand::Send { len, ordered });
                }
            }
        }
    }
    // At the end of the input everything arrives, so that the rest can be checked.
    let ending = pair.run(|_| fates.is(3));
    let both = [Side::A, Side::B];
    if both.iter().any(|side| pair.counters(*side).fallbacks > 0) {
        // After too many losses an end has stopped to keep the order, or to protect.
        assert_eq!(ending, RunEnd::Idle);
        assert!(both.iter().all(|side| pair.handles(*side) == (0, 0)));
        assert!(pair.frames().iter().all(|frame| frame.deliveries <= 1));
        return;
    }
    if let Some(what) = pair.violation(ending, history) {
        panic!("{BITS} bits, {history:?}: {what}");
    }
}
