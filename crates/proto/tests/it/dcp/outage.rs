//! A temporary outage of the link: packets lost in it must not count as in flight for ever.

use wiremend_proto::dcp::{Config, LossHints, Parameters, Tracking};
use wiremend_proto::engine::Requester as _;
use wiremend_testkit::Pair;
use wiremend_testkit::Side::A;
use wiremend_units::{Span, Time};

use super::{config, with_base, with_outage};

const HINTS: LossHints = LossHints { reorder_allowance: 8, probe_after: Some(Span::from_us(6)) };
const BITS: Tracking = Tracking::Bitmap { packets: 256 };

fn with(tracking: Tracking, hints: Option<LossHints>, window: u32) -> Config {
    with_base(config(Parameters { tracking, hints, ..Parameters::DCP }), |base| base.window = window)
}

/// The timer resends the message during the outage, and the receiver has most of it already, so nobody
/// reports the lost copies. The link holds 22 packets, so the rate would not show some packets missing from
/// the window of 64.
#[test]
fn copies_lost_in_an_outage_are_written_off() {
    for (tracking, hints) in [(BITS, Some(HINTS)), (BITS, None), (Tracking::Sums, Some(HINTS))] {
        let (from, span) = (Time::from_ns(51_000), Span::from_us(402));
        let mut pair = with_outage(Pair::new(with(tracking, hints, 64)), from, from + span);
        (0..200).for_each(|_| pair.write(A, 256 * 100));
        pair.run_for((from + span).since(Time::ZERO) + Span::from_us(500));
        assert!(!pair.expired().is_empty() && !pair.sender().is_idle());
        let counted = pair.sender().outstanding();
        assert!(counted <= 23, "{tracking:?} {hints:?}: {counted} counted, 22 are in flight");
    }
}

/// The same with a window of exactly the packets that the link holds: a smaller window reduces the rate.
#[test]
fn after_an_outage_a_connection_is_as_fast_as_before() {
    let (from, span) = (Time::from_ns(53_000), Span::from_us(207));
    let us = |span| {
        let mut pair = with_outage(Pair::new(with(BITS, Some(HINTS), 24)), from, from + span);
        (0..40).for_each(|_| pair.write(A, 256 * 100));
        pair.run_until_delivered();
        pair.now().since(Time::ZERO).as_ns() / 1000
    };
    let (clean, hit) = (us(Span::ZERO), us(span));
    assert!(hit < clean + 207 + 207, "{hit} µs, {clean} without an outage");
}
