//! Loss detection and recovery.

use wiremend_proto::tcp::cc::{Algorithm, RecoveryState};
use wiremend_proto::tcp::{Config, MessageRecovery, Reordering};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, RunEnd, SentPacket};
use wiremend_units::{Span, Time};

use super::{config, connect, data, lengths, retransmitted, send};

/// RFC 8985 §6.2, RFC 6675: several losses in a window are repaired in about one round trip, each with one
/// retransmission.
#[test]
fn several_losses_are_repaired_in_one_round_trip() {
    let mut pair =
        connect(Config { first_window: 40, ..config(Algorithm::Reno) }).drop_nth(Forward, [10, 12, 13, 20]);
    send(&mut pair, 40_000);
    assert_eq!(retransmitted(&pair), [9_000, 11_000, 12_000, 19_000]);
    assert_eq!((pair.requester(A).timeouts, pair.sender().tcp_counters().recoveries), (0, 1));
    assert!(pair.now() < Time::ZERO + Span::from_us(3 * 22 + 40), "ended at {}", pair.now());
    assert_eq!(lengths(&pair), [40_000]);
}

/// RFC 6582 §3.2: without SACK a partial ACK shows the next loss, so each loss takes a round trip.
#[test]
fn without_sack_each_loss_takes_a_round_trip() {
    let mut pair = connect(Config { first_window: 40, sack: false, ..config(Algorithm::Reno) })
        .drop_nth(Forward, [10, 12, 14]);
    send(&mut pair, 40_000);
    assert_eq!(retransmitted(&pair), [9_000, 11_000, 13_000]);
    let times: Vec<_> = pair.sent(Forward).iter().filter(|sent| sent.again).map(|sent| sent.at).collect();
    for pair in times.windows(2) {
        assert!((20..30).contains(&(pair[1].since(pair[0]).as_ns() / 1_000)), "{pair:?}");
    }
    assert_eq!((pair.requester(A).timeouts, pair.sender().tcp_counters().recoveries), (0, 1));
}

/// RFC 5681 §3.2, RFC 9937: after a recovery the window is half of what it was; with CUBIC 0.7 of it (RFC
/// 9438 §4.6).
#[test]
fn recovery_ends_with_the_reduced_window() {
    for (algorithm, window) in [(Algorithm::Reno, 20_000), (Algorithm::Cubic, 28_000)] {
        let mut pair = connect(Config { first_window: 40, ..config(algorithm) }).drop_nth(Forward, [1]);
        send(&mut pair, 42_000);
        assert_eq!(pair.sender().state(), RecoveryState::Open);
        assert_eq!(pair.sender().window().threshold, window, "of {algorithm:?}");
    }
}

/// RFC 8985 §6.2 step 4: a segment delayed by 5 µs, behind five others, is retransmitted; a DSACK undoes the
/// reduction. Once reordering was seen, the sender waits a quarter of a round trip.
#[test]
fn reordering_is_tolerated_once_it_was_seen() {
    let run = |mild: bool| {
        let mut pair =
            connect(Config { first_window: 60, ..config(Algorithm::Reno) }).fate(Forward, move |sent| {
                match sent.nth {
                    5 if mild => Fate::Delayed(Span::from_ns(1_500)),
                    30 => Fate::Delayed(Span::from_us(5)),
                    _ => Fate::Arrives,
                }
            });
        send(&mut pair, 60_000);
        pair
    };
    let unknown = run(false);
    assert_eq!(retransmitted(&unknown), [29_000]);
    assert_eq!((unknown.sender().tcp_counters().dsacks, unknown.sender().tcp_counters().undone), (1, 1));
    assert!(unknown.sender().window().bytes >= 60_000, "{:?}", unknown.sender().window());
    assert!(retransmitted(&run(true)).is_empty());
}

/// RFC 8985 §6.2 step 4: each round trip with a DSACK widens the window, until the reordering fits.
#[test]
fn reordering_window_adapts() {
    let mut pair = connect(Config { first_window: 100, ..config(Algorithm::Reno) }).fate(Forward, |sent| {
        match sent.nth {
            5 => Fate::Delayed(Span::from_ns(1_500)),
            nth if !sent.again && nth % 25 == 3 => Fate::Delayed(Span::from_us(13)),
            _ => Fate::Arrives,
        }
    });
    send(&mut pair, 3_000_000);
    assert_eq!(pair.requester(A).timeouts, 0);
    let half = pair.sent(Forward).len() / 2;
    let count = |part: &[SentPacket<_>]| part.iter().filter(|sent| sent.again).count();
    let (early, later) = (count(&pair.sent(Forward)[..half]), count(&pair.sent(Forward)[half..]));
    assert!(early > 0 && early < 20 && later == 0, "{early} and {later}");
}

/// A fixed window takes the same reordering for losses every time, as do three sacked segments (RFC 6675 §4).
#[test]
fn fixed_window_does_not_adapt() {
    let needless = |reordering, late_us| {
        let config = Config { first_window: 100, reordering, ..config(Algorithm::Reno) };
        let mut new = 0;
        let mut pair = connect(config).fate(Forward, move |sent| {
            new += u64::from(!sent.again);
            match new {
                5 => Fate::Delayed(Span::from_ns(1_500)),
                new if !sent.again && new % 25 == 3 => Fate::Delayed(Span::from_us(late_us)),
                _ => Fate::Arrives,
            }
        });
        send(&mut pair, 3_000_000);
        retransmitted(&pair).len()
    };
    let [adaptive, fixed, segments] = [Reordering::Adaptive, Reordering::Fixed, Reordering::Segments]
        .map(|reordering| needless(reordering, 13));
    assert!(adaptive < 20 && fixed > 60 && segments > 100, "{adaptive}, {fixed} and {segments}");
    assert_eq!(needless(Reordering::Time, 4), 0);
    // A quarter of the round trip is 5 µs.
    assert_eq!((needless(Reordering::Fixed, 4), needless(Reordering::Segments, 2)), (0, 0));
    assert!(needless(Reordering::Segments, 4) > 100);
}

/// The fourth of twenty segments is late: ten were sent, 12 µs had passed.
#[test]
fn messages_report_their_loss_recovery() {
    let mut pair = connect(config(Algorithm::Reno)).fate(Forward, |sent| match sent.nth {
        4 => Fate::Delayed(Span::from_us(5)),
        _ => Fate::Arrives,
    });
    pair.send(A, 5_000);
    pair.send(A, 15_000);
    assert_eq!(pair.sender().message_recovery(2), Some(MessageRecovery::default()));
    pair.run_for(Span::from_us(31));
    let first = *pair.sender().completed_recovery();
    assert_eq!(
        (first.sacked_bytes, first.gap_bytes, first.unsent_bytes, first.recoveries),
        (4_000, 2_000, 0, 1)
    );
    assert_eq!(pair.run_until_idle(), RunEnd::Idle);
    assert_eq!(pair.completions(A).len(), 2);
    assert_eq!(
        (pair.sender().completed_recovery().sacked_bytes, pair.sender().message_recovery(2)),
        (0, None)
    );
}

/// RFC 8985 §6.2: later segments show the loss of a retransmission, without the timer.
#[test]
fn lost_retransmission_is_found_by_time() {
    let mut pair = connect(Config { first_window: 20, ..config(Algorithm::Reno) }).fate(Forward, |sent| {
        if data(sent).seq == 3_000 && sent.nth < 30 { Fate::Lost } else { Fate::Arrives }
    });
    send(&mut pair, 400_000);
    assert!(retransmitted(&pair).iter().all(|seq| *seq == 3_000) && retransmitted(&pair).len() >= 2);
    assert_eq!(pair.requester(A).timeouts, 0);
}
