//! Whatever a wire loses or keeps back, and whenever ends start, end and restart: frames come once, in order, and all are accounted for.

use wiremend_proto::link::{Config, CopyCount};
use wiremend_testkit::{Course, Ending, LinkPair, Order, Side};
use wiremend_units::{Bytes, Rate, Span};

use super::draw::Draw;

/// Orders for both ends, and then what becomes of all that passes.
pub(crate) fn check(bytes: &[u8]) {
    let (orders, fates) = bytes.split_at(bytes.len() / 2);
    match bytes.first().map_or(0, |first| first % 3) {
        0 => run::<4>(orders, fates),
        1 => run::<7>(orders, fates),
        _ => run::<20>(orders, fates),
    }
}

fn run<const BITS: u32>(orders: &[u8], fates: &[u8]) {
    let (mut draw, mut fates) = (Draw::new(orders), Draw::new(fates));
    let rtt = Span::from_us(draw.pick(&[2, 5, 40, 500]));
    let mut config = Config::for_link(Rate::gbps(draw.pick(&[100, 10, 25])), Bytes::new(1518), rtt);
    config.rtt = draw.is(2).then_some(rtt);
    config.backpressure = !draw.is(8);
    config.dummies = draw.pick(&[3, 1, 4]);
    config.control_copies = draw.pick(&[2, 1, 3]);
    config.rtt_at_first = rtt * draw.pick(&[0, 1, 4, 20]);
    if draw.is(2) {
        config.copies = CopyCount::Fixed(draw.pick(&[1, 2]));
    }
    if draw.is(4) {
        (config.tx_bytes_max, config.rx_bytes_max) = (Bytes::new(4_000), Bytes::new(6_000));
    }
    let mut pair = LinkPair::<BITS>::new(config, rtt / 2);
    let mut course = Course::Steady;
    let mut at = Span::ZERO;
    while !draw.is_over() {
        let side = draw.pick(&[Side::A, Side::B]);
        at += rtt * u64::from(draw.byte()) / 64;
        match draw.byte() % 16 {
            0..=2 => pair.order_after(at, side, Order::Activate),
            3 => pair.order_after(at, side, Order::Deactivate),
            4 => {
                course = Course::Broken;
                pair.order_after(at, side, Order::Restart);
            }
            _ => {
                let (len, ordered) = (64 + u32::from(draw.byte()) * 5, !draw.is(4));
                for _ in 0..draw.byte() % 32 {
                    pair.order_after(at, side, Order::Send { len, ordered });
                }
            }
        }
    }
    // When there is no more to draw, everything arrives, or nothing could be said of what is left.
    let ending = pair.run(|_| fates.is(3));
    let both = [Side::A, Side::B];
    if both.iter().any(|side| pair.counters(*side).fallbacks > 0) {
        // So much was lost that an end has stopped to keep the order, or to protect at all.
        assert_eq!(ending, Ending::Idle);
        assert!(both.iter().all(|side| pair.handles(*side) == (0, 0)));
        assert!(pair.frames().iter().all(|frame| frame.deliveries <= 1));
        return;
    }
    if let Some(what) = pair.violation(ending, course) {
        panic!("{BITS} bits, {course:?}: {what}");
    }
}
