//! How losses are found and repaired.

use wiremend_proto::tcp::cc::{Algorithm, State};
use wiremend_proto::tcp::{Config, Reordering, Trouble};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Ending, Fate, Sighting};
use wiremend_units::{Span, Time};

use super::{again, config, connect, data, lengths, send};

/// RFC 8985 §6.2, RFC 6675: several losses in one window are repaired in about a round trip, each segment once, without the timer.
#[test]
fn several_losses_are_repaired_in_one_round_trip() {
    let mut pair =
        connect(Config { first_window: 40, ..config(Algorithm::Reno) }).drop_nth(Forward, [10, 12, 13, 20]);
    send(&mut pair, 40_000);
    assert_eq!(again(&pair), [9_000, 11_000, 12_000, 19_000]);
    assert_eq!((pair.requester(A).timeouts, pair.sender().seen().recoveries), (0, 1));
    assert!(pair.now() < Time::ZERO + Span::from_us(3 * 22 + 40), "ended at {}", pair.now());
    assert_eq!(lengths(&pair), [40_000]);
}

/// RFC 6582 §3.2: without SACK a partial acknowledgement shows the next loss, so that each takes a round trip.
#[test]
fn without_sack_each_loss_takes_a_round_trip() {
    let mut pair = connect(Config { first_window: 40, sack: false, ..config(Algorithm::Reno) })
        .drop_nth(Forward, [10, 12, 14]);
    send(&mut pair, 40_000);
    assert_eq!(again(&pair), [9_000, 11_000, 13_000]);
    let times: Vec<_> = pair.sent(Forward).iter().filter(|sighting| sighting.again).map(|of| of.at).collect();
    for pair in times.windows(2) {
        assert!((20..30).contains(&(pair[1].since(pair[0]).as_ns() / 1_000)), "{pair:?}");
    }
    assert_eq!((pair.requester(A).timeouts, pair.sender().seen().recoveries), (0, 1));
}

/// RFC 5681 §3.2, RFC 9937: after a recovery the window is half of what it was; after CUBIC's, 0.7 of it (RFC 9438 §4.6).
#[test]
fn a_recovery_ends_with_the_reduced_window() {
    for (algorithm, window) in [(Algorithm::Reno, 20_000), (Algorithm::Cubic, 28_000)] {
        let mut pair = connect(Config { first_window: 40, ..config(algorithm) }).drop_nth(Forward, [1]);
        send(&mut pair, 42_000);
        assert_eq!(pair.sender().state(), State::Open);
        assert_eq!(pair.sender().window().threshold, window, "of {algorithm:?}");
    }
}

/// RFC 8985 §6.2 step 4: a segment that comes 5 µs late, behind five others, is sent again, which is told by the receiver and undone.
/// Once disorder was seen, a quarter of a round trip is waited for.
#[test]
fn disorder_is_tolerated_once_it_is_known() {
    let run = |mild: bool| {
        let mut pair =
            connect(Config { first_window: 60, ..config(Algorithm::Reno) }).fate(Forward, move |of| match of
                .nth
            {
                5 if mild => Fate::Late(Span::from_ns(1_500)),
                30 => Fate::Late(Span::from_us(5)),
                _ => Fate::Arrives,
            });
        send(&mut pair, 60_000);
        pair
    };
    let unknown = run(false);
    assert_eq!(again(&unknown), [29_000]);
    assert_eq!((unknown.sender().seen().twice, unknown.sender().seen().undone), (1, 1));
    assert!(unknown.sender().window().bytes >= 60_000, "{:?}", unknown.sender().window());
    assert!(again(&run(true)).is_empty());
}

/// RFC 8985 §6.2 step 4: each round trip with a needless copy widens the window, until the disorder fits it.
#[test]
fn the_reordering_window_adapts_to_disorder() {
    let mut pair =
        connect(Config { first_window: 100, ..config(Algorithm::Reno) }).fate(Forward, |of| match of.nth {
            5 => Fate::Late(Span::from_ns(1_500)),
            nth if !of.again && nth % 25 == 3 => Fate::Late(Span::from_us(13)),
            _ => Fate::Arrives,
        });
    send(&mut pair, 3_000_000);
    assert_eq!(pair.requester(A).timeouts, 0);
    let half = pair.sent(Forward).len() / 2;
    let count = |part: &[Sighting<_>]| part.iter().filter(|of| of.again).count();
    let (early, later) = (count(&pair.sent(Forward)[..half]), count(&pair.sent(Forward)[half..]));
    assert!(early > 0 && early < 20 && later == 0, "{early} and {later}");
}

/// Without adaptation the same disorder is taken for losses again and again; three segments that overtake are always enough (RFC 6675 §4).
#[test]
fn a_fixed_window_learns_nothing() {
    let needless = |reordering, late_us| {
        let config = Config { first_window: 100, reordering, ..config(Algorithm::Reno) };
        let mut new = 0;
        let mut pair = connect(config).fate(Forward, move |of| {
            new += u64::from(!of.again);
            match new {
                5 => Fate::Late(Span::from_ns(1_500)),
                new if !of.again && new % 25 == 3 => Fate::Late(Span::from_us(late_us)),
                _ => Fate::Arrives,
            }
        });
        send(&mut pair, 3_000_000);
        again(&pair).len()
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
    let mut pair = connect(config(Algorithm::Reno)).fate(Forward, |of| match of.nth {
        4 => Fate::Late(Span::from_us(5)),
        _ => Fate::Arrives,
    });
    pair.send(A, 5_000);
    pair.send(A, 15_000);
    assert_eq!(pair.sender().trouble_of(2), Some(Trouble::default()));
    pair.run_for(Span::from_us(31));
    let first = *pair.sender().trouble();
    assert_eq!(
        (first.sacked_bytes, first.gap_bytes, first.unsent_bytes, first.recoveries),
        (4_000, 2_000, 0, 1)
    );
    assert_eq!(pair.run_until_idle(), Ending::Idle);
    assert_eq!(pair.completions(A).len(), 2);
    assert_eq!((pair.sender().trouble().sacked_bytes, pair.sender().trouble_of(2)), (0, None));
}

/// RFC 8985 §6.2: a copy that is lost too is found by what was sent after it, without the timer.
#[test]
fn a_lost_copy_is_found_by_time() {
    let mut pair = connect(Config { first_window: 20, ..config(Algorithm::Reno) })
        .fate(Forward, |of| if data(of).seq == 3_000 && of.nth < 30 { Fate::Lost } else { Fate::Arrives });
    send(&mut pair, 400_000);
    assert!(again(&pair).iter().all(|seq| *seq == 3_000) && again(&pair).len() >= 2);
    assert_eq!(pair.requester(A).timeouts, 0);
}
