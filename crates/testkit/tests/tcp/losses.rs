//! How losses are found and repaired.

use wiremend_proto::engine::Requester as _;
use wiremend_proto::tcp::cc::{Algorithm, State};
use wiremend_proto::tcp::{Config, Reordering, Trouble};
use wiremend_units::{Span, Time};

use crate::config;
use crate::pair::{Fate, Pair};

/// RFC 8985 §6.2, RFC 6675: several losses in one window are repaired in about a round trip, each segment once, without the timer.
#[test]
fn several_losses_are_repaired_in_one_round_trip() {
    let mut pair =
        Pair::new(Config { first_window: 40, ..config(Algorithm::Reno) }).drop_nth(&[10, 12, 13, 20]);
    pair.post(40_000);
    assert!(pair.run());
    assert_eq!(pair.again(), [9_000, 11_000, 12_000, 19_000]);
    assert_eq!((pair.sender.counters().timeouts, pair.sender.seen().recoveries), (0, 1));
    assert!(pair.now < Time::ZERO + Span::from_us(3 * 22 + 40), "ended at {}", pair.now);
    assert_eq!(pair.messages, [40_000]);
}

/// RFC 6582 §3.2: without SACK a partial acknowledgement shows the next loss, so that each takes a round trip.
#[test]
fn without_sack_each_loss_takes_a_round_trip() {
    let mut pair = Pair::new(Config { first_window: 40, sack: false, ..config(Algorithm::Reno) })
        .drop_nth(&[10, 12, 14]);
    pair.post(40_000);
    assert!(pair.run());
    assert_eq!(pair.again(), [9_000, 11_000, 13_000]);
    let times: Vec<_> = pair.sent.iter().filter(|sighting| sighting.again).map(|of| of.at).collect();
    for pair in times.windows(2) {
        assert!((20..30).contains(&(pair[1].since(pair[0]).as_ns() / 1_000)), "{pair:?}");
    }
    assert_eq!((pair.sender.counters().timeouts, pair.sender.seen().recoveries), (0, 1));
}

/// RFC 5681 §3.2, RFC 9937: after a recovery the window is half of what it was; after CUBIC's, 0.7 of it (RFC 9438 §4.6).
#[test]
fn a_recovery_ends_with_the_reduced_window() {
    for (algorithm, window) in [(Algorithm::Reno, 20_000), (Algorithm::Cubic, 28_000)] {
        let mut pair = Pair::new(Config { first_window: 40, ..config(algorithm) }).drop_nth(&[1]);
        pair.post(42_000);
        assert!(pair.run());
        assert_eq!(pair.sender.state(), State::Open);
        assert_eq!(pair.sender.window().threshold, window, "of {algorithm:?}");
    }
}

/// RFC 8985 §6.2 step 4: a segment that comes 5 µs late, behind five others, is sent again, which is told by the receiver and undone.
/// Once disorder was seen, a quarter of a round trip is waited for.
#[test]
fn disorder_is_tolerated_once_it_is_known() {
    let run = |mild: bool| {
        let mut pair =
            Pair::new(Config { first_window: 60, ..config(Algorithm::Reno) }).rule(move |of| match of.nth {
                5 if mild => Fate::Late(Span::from_ns(1_500)),
                30 => Fate::Late(Span::from_us(5)),
                _ => Fate::Pass,
            });
        pair.post(60_000);
        assert!(pair.run());
        pair
    };
    let unknown = run(false);
    assert_eq!(unknown.again(), [29_000]);
    assert_eq!((unknown.sender.seen().twice, unknown.sender.seen().undone), (1, 1));
    assert!(unknown.sender.window().bytes >= 60_000, "{:?}", unknown.sender.window());
    assert!(run(true).again().is_empty());
}

/// RFC 8985 §6.2 step 4: each round trip with a needless copy widens the window, until the disorder fits it.
#[test]
fn the_reordering_window_adapts_to_disorder() {
    let mut pair =
        Pair::new(Config { first_window: 100, ..config(Algorithm::Reno) }).rule(|of| match of.nth {
            5 => Fate::Late(Span::from_ns(1_500)),
            nth if !of.again && nth % 25 == 3 => Fate::Late(Span::from_us(13)),
            _ => Fate::Pass,
        });
    pair.post(3_000_000);
    assert!(pair.run());
    assert_eq!(pair.sender.counters().timeouts, 0);
    let half = pair.sent.len() / 2;
    let count = |part: &[crate::pair::Sighting]| part.iter().filter(|of| of.again).count();
    let (early, later) = (count(&pair.sent[..half]), count(&pair.sent[half..]));
    assert!(early > 0 && early < 20 && later == 0, "{early} and {later}");
}

/// Without adaptation the same disorder is taken for losses again and again; three segments that overtake are always enough (RFC 6675 §4).
#[test]
fn a_fixed_window_learns_nothing() {
    let needless = |reordering, late_us| {
        let config = Config { first_window: 100, reordering, ..config(Algorithm::Reno) };
        let mut pair = Pair::new(config).rule(move |of| match of.nth {
            5 => Fate::Late(Span::from_ns(1_500)),
            nth if !of.again && nth % 25 == 3 => Fate::Late(Span::from_us(late_us)),
            _ => Fate::Pass,
        });
        pair.post(3_000_000);
        assert!(pair.run());
        pair.again().len()
    };
    let [adaptive, fixed, segments] = [Reordering::Adaptive, Reordering::Fixed, Reordering::Segments]
        .map(|reordering| needless(reordering, 13));
    assert!(adaptive < 20 && fixed > 60 && segments > 100, "{adaptive}, {fixed} and {segments}");
    assert_eq!(needless(Reordering::Time, 4), 0);
    // A quarter of the round trip is 5 µs.
    assert_eq!((needless(Reordering::Fixed, 4), needless(Reordering::Segments, 2)), (0, 0));
    assert!(needless(Reordering::Segments, 4) > 100);
}

/// A message tells what it met: the fourth of twenty segments comes late, when ten were sent and 12 µs had passed.
#[test]
fn a_message_tells_what_it_met() {
    let mut pair = Pair::new(config(Algorithm::Reno)).rule(|of| match of.nth {
        4 => Fate::Late(Span::from_us(5)),
        _ => Fate::Pass,
    });
    pair.post(5_000);
    pair.post(15_000);
    assert_eq!(pair.sender.trouble_of(2), Some(Trouble::default()));
    assert!(pair.run_until(Time::ZERO + Span::from_us(31)));
    let first = *pair.sender.trouble();
    assert_eq!(
        (first.sacked_bytes, first.gap_bytes, first.unsent_bytes, first.recoveries),
        (4_000, 2_000, 0, 1)
    );
    assert!(pair.run());
    assert_eq!(pair.completions.len(), 2);
    assert_eq!((pair.sender.trouble().sacked_bytes, pair.sender.trouble_of(2)), (0, None));
}

/// RFC 8985 §6.2: a copy that is lost too is found by what was sent after it, without the timer.
#[test]
fn a_lost_copy_is_found_by_time() {
    let mut pair = Pair::new(Config { first_window: 20, ..config(Algorithm::Reno) })
        .rule(|of| if of.data.seq == 3_000 && of.nth < 30 { Fate::Drop } else { Fate::Pass });
    pair.post(400_000);
    assert!(pair.run());
    assert!(pair.again().iter().all(|seq| *seq == 3_000) && pair.again().len() >= 2);
    assert_eq!(pair.sender.counters().timeouts, 0);
}
