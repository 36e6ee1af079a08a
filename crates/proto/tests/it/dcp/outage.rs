//! A link is gone for a while. What was sent meanwhile must not count as under way for ever.

use wiremend_proto::dcp::{Config, Hints, Parameters, Tracking};
use wiremend_proto::engine::Requester as _;
use wiremend_testkit::Pair;
use wiremend_testkit::Side::A;
use wiremend_units::{Span, Time};

use super::{based, config, dark};

const HINTS: Hints = Hints { allowance: 8, probe_after: Some(Span::from_us(6)) };
const BITS: Tracking = Tracking::Bitmap { packets: 256 };

fn with(tracking: Tracking, hints: Option<Hints>, window: u32) -> Config {
    based(config(Parameters { tracking, hints, ..Parameters::DCP }), |base| base.window = window)
}

/// The timer sends the message anew while the link is gone, and most of it is there already: nobody names those copies.
/// The pipe holds 22 packets, so that a window that lost some of its 64 does not show in the rate.
#[test]
fn copies_that_an_outage_took_are_written_off() {
    for (tracking, hints) in [(BITS, Some(HINTS)), (BITS, None), (Tracking::Sums, Some(HINTS))] {
        let (from, span) = (Time::from_ns(51_000), Span::from_us(402));
        let mut pair = dark(Pair::new(with(tracking, hints, 64)), from, from + span);
        (0..200).for_each(|_| pair.write(A, 256 * 100));
        pair.run_for((from + span).since(Time::ZERO) + Span::from_us(500));
        assert!(!pair.expired().is_empty() && !pair.sender().is_idle());
        let counted = pair.sender().outstanding();
        assert!(counted <= 23, "{tracking:?} {hints:?}: {counted} counted, 22 are under way");
    }
}

/// The same with a window of just what the pipe holds: what is lost of it is lost of the rate.
#[test]
fn after_an_outage_a_connection_is_as_fast_as_before() {
    let (from, span) = (Time::from_ns(53_000), Span::from_us(207));
    let us = |span| {
        let mut pair = dark(Pair::new(with(BITS, Some(HINTS), 24)), from, from + span);
        (0..40).for_each(|_| pair.write(A, 256 * 100));
        pair.run_until_delivered();
        pair.now().since(Time::ZERO).as_ns() / 1000
    };
    let (clean, hit) = (us(Span::ZERO), us(span));
    assert!(hit < clean + 207 + 207, "{hit} µs, {clean} without an outage");
}
