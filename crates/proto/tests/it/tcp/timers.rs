//! Timers of a sender.

use wiremend_proto::engine::Status;
use wiremend_proto::tcp::Config;
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Fate;
use wiremend_testkit::Side::A;
use wiremend_units::Span;

use super::{config, connect, data, retransmitted, send};

/// RFC 6298 §5.5: each timeout doubles the next; after the last one the connection fails with a status.
#[test]
fn timeout_doubles_until_the_connection_fails() {
    let mut pair = connect(Config { retries: 4, ..config(Algorithm::Reno) }).fate(Forward, |_| Fate::Lost);
    pair.send(A, 500);
    send(&mut pair, 500);
    let first = pair.sent(Forward).iter().filter(|sent| data(sent).seq == 0);
    let times: Vec<_> = first.map(|sent| sent.at.as_ns() / 1_000).collect();
    let gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000).collect();
    assert_eq!(gaps, [5, 10, 20, 40]);
    let ends: Vec<_> = pair.completions(A).iter().map(|completion| completion.status).collect();
    assert_eq!(ends, [Status::RetryExceeded, Status::Flushed]);
    assert_eq!(pair.requester(A).timeouts, 5);
}

/// RFC 5681 §3.1, RFC 8985 §6.3: after a timeout one segment leaves, and slow start runs up to half of the
/// window.
#[test]
fn timeout_restarts_slow_start() {
    let mut pair = connect(Config { tail_probe: false, first_window: 20, ..config(Algorithm::Reno) })
        .fate(Forward, |sent| if sent.nth <= 20 { Fate::Lost } else { Fate::Arrives });
    send(&mut pair, 100_000);
    assert_eq!(pair.requester(A).timeouts, 1);
    assert_eq!(pair.sender().window().threshold, 10_000);
    let expiry = pair.sent(Forward)[20].at;
    let rounds: Vec<_> =
        pair.sent(Forward)[20..].iter().map(|sent| sent.at.since(expiry).as_ns() / 21_000).collect();
    let in_round = |round: u64| rounds.iter().filter(|sent| **sent == round).count();
    assert_eq!([in_round(0), in_round(1), in_round(2)], [1, 2, 4]);
}

/// RFC 8985 §7.2, §7.3: a lost tail is probed after two round trips with its last segment, and the missing
/// segments are retransmitted, without a timeout.
#[test]
fn lost_tail_is_probed() {
    let mut pair = connect(config(Algorithm::Reno)).drop_nth(Forward, [8, 9, 10]);
    send(&mut pair, 10_000);
    assert_eq!((pair.requester(A).timeouts, pair.sender().tcp_counters().probes), (0, 1));
    assert_eq!(retransmitted(&pair), [9_000, 7_000, 8_000]);
    let srtt_ns = 21_000;
    let last_ack = pair.sent(Forward)[6].at + Span::from_us(21);
    let waited = pair.sent(Forward)[10].at.since(last_ack).as_ns();
    assert!((2 * srtt_ns - 1_000..2 * srtt_ns + 8_000).contains(&waited), "{waited} ns");
}

/// As in Linux, a probe waits 2 ms longer, in whole ticks. For a single segment, whose ACK may be delayed, the probe
/// replaces the timeout (RFC 8985 §7.2).
#[test]
fn probes_wait_for_ticks_and_delayed_acks() {
    let mut ticks =
        connect(Config { tick: Span::from_ms(1), ..config(Algorithm::Reno) }).drop_nth(Forward, [9, 10]);
    send(&mut ticks, 10_000);
    assert_eq!(ticks.sender().tcp_counters().probes, 1);
    assert_eq!(ticks.sent(Forward)[10].at.since(ticks.sent(Forward)[9].at).as_ns() / 1_000_000, 3);
    let mut single = connect(config(Algorithm::Reno)).drop_nth(Forward, [1]);
    send(&mut single, 143);
    assert_eq!((single.sender().tcp_counters().probes, single.requester(A).timeouts), (1, 0));
    assert_eq!(single.sent(Forward)[1].at.as_ns() / 1_000_000, 5);
    let mut twice = connect(config(Algorithm::Reno)).drop_nth(Forward, [1, 2]);
    send(&mut twice, 143);
    assert_eq!((twice.sender().tcp_counters().probes, twice.requester(A).timeouts), (1, 1));
}

/// RFC 8985 §7.4.2: a loss that only a probe repaired reduces the window.
#[test]
fn loss_repaired_by_a_probe_reduces_the_window() {
    let mut pair = connect(config(Algorithm::Reno)).drop_nth(Forward, [10]);
    send(&mut pair, 10_000);
    send(&mut pair, 10_000);
    let seen = pair.sender().tcp_counters();
    assert_eq!((seen.probes, seen.repaired, seen.recoveries), (1, 1, 0));
    assert!(pair.sender().window().threshold < 20_000, "{:?}", pair.sender().window());
}
