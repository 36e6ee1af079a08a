//! Congestion control, end to end.

use wiremend_proto::engine::{Op, Requester as _, Work};
use wiremend_proto::tcp::cc::{Algorithm, Control, Dctcp, Phase};
use wiremend_proto::tcp::{Ack, Config, Segment, Sender};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Pair, Path};
use wiremend_units::{QpNum, Span, Time};

use super::{config, connect, connect_over, data, send};

/// RFC 8257 §3.3: if every byte is marked, α stays 1 and the window halves; if none is, α falls by 1/16 per
/// window.
#[test]
fn dctcp_alpha_follows_the_marks() {
    let alpha = |pair: &Pair<Config>| match pair.sender().control() {
        Control::Dctcp(dctcp) => f64::from(dctcp.alpha()) / f64::from(Dctcp::ONE),
        other => unreachable!("{other:?}"),
    };
    let mut clean = connect(config(Algorithm::Dctcp));
    clean.send(A, 1_000_000);
    let mut windows = 0;
    while clean.completions(A).is_empty() {
        let before = alpha(&clean);
        clean.run_for(Span::from_us(1));
        if alpha(&clean) < before {
            windows += 1;
        }
    }
    let expected = (15.0_f64 / 16.0).powi(windows);
    assert!(windows > 5 && (alpha(&clean) - expected).abs() < 0.02, "{} after {windows}", alpha(&clean));
    let mut marked =
        connect(config(Algorithm::Dctcp)).fate(Forward, |sent| Fate::Altered(sent.packet.marked()));
    send(&mut marked, 200_000);
    assert!(alpha(&marked) > 0.99);
    assert!(marked.sender().window().bytes <= 3_000, "halved to the minimum");
}

/// RFC 8257 §3.3: if one segment in four is marked, α converges to 1/4.
#[test]
fn dctcp_alpha_is_the_share_of_marks() {
    let mut pair =
        connect(Config { receive_window: 16_000, ..config(Algorithm::Dctcp) }).fate(Forward, |sent| {
            if sent.nth % 4 == 0 { Fate::Altered(sent.packet.marked()) } else { Fate::Arrives }
        });
    send(&mut pair, 3_000_000);
    let Control::Dctcp(dctcp) = pair.sender().control() else { unreachable!() };
    let share = f64::from(dctcp.alpha()) / f64::from(Dctcp::ONE);
    assert!((0.2..0.3).contains(&share), "{share}");
}

/// RFC 3168 §6.1.2: one reduction per round trip; CWR ends the receiver's echo.
#[test]
fn marks_reduce_the_window_once_per_round_trip() {
    let mut pair = connect(Config { ecn: wiremend_proto::tcp::Ecn::Classic, ..config(Algorithm::Reno) })
        .fate(Forward, |sent| {
            if (5..8).contains(&sent.nth) { Fate::Altered(sent.packet.marked()) } else { Fate::Arrives }
        });
    send(&mut pair, 60_000);
    assert_eq!(pair.sender().tcp_counters().reductions, 1);
    assert_eq!(pair.sent(Forward).iter().filter(|sent| data(sent).cwr).count(), 1);
    assert_eq!(pair.requester(A).retransmitted_packets, 0);
}

/// BBR §4.3: it fills the path, drains the queue, and cycles through eight gains, whatever is lost.
#[test]
fn bbr_finds_the_bandwidth_and_cycles() {
    let bbr_state = |pair: &Pair<Config>| match pair.sender().control() {
        Control::Bbr(bbr) => (bbr.phase(), bbr.cycle(), bbr.bandwidth()),
        other => unreachable!("{other:?}"),
    };
    let narrow = Path { spacing: Span::from_us(1), ..Path::new(Span::from_us(100)) };
    let mut pair = connect_over(config(Algorithm::Bbr), narrow.delay, Span::from_ns(100))
        .paths(&[narrow])
        .fate(Forward, |sent| if sent.nth % 100 == 50 { Fate::Lost } else { Fate::Arrives });
    pair.send(A, 20_000_000);
    let (mut phases, mut cycles) = (Vec::new(), Vec::new());
    while pair.completions(A).is_empty() {
        pair.run_for(Span::from_us(20));
        let (phase, cycle, _) = bbr_state(&pair);
        if phases.last() != Some(&phase) {
            phases.push(phase);
        }
        if phase == Phase::ProbeBw && cycles.last() != Some(&cycle) {
            cycles.push(cycle);
        }
    }
    assert_eq!(phases, [Phase::Startup, Phase::Drain, Phase::ProbeBw]);
    assert!(cycles.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 8 || pair[1] == (pair[0] + 2) % 8));
    assert!(cycles.len() > 16, "{cycles:?}");
    let (_, _, bandwidth) = bbr_state(&pair);
    assert!((7_600_000_000..8_100_000_000).contains(&bandwidth), "1000 bytes in a microsecond: {bandwidth}");
    let ideal = Span::from_us(20_000);
    assert!(pair.now() < Time::ZERO + ideal * 13 / 10, "{}", pair.now());
}

/// BBR §4.3.5: after 10 s without a shorter round trip it keeps four segments in flight for 200 ms.
#[test]
fn bbr_enters_probe_rtt_after_ten_seconds() {
    let plain = Config { rto_min: Span::from_ms(200), first_rtt: None, ..config(Algorithm::Bbr) };
    let mut pair = connect_over(plain, Span::from_ms(5), Span::from_ms(1));
    pair.send(A, 20_000_000);
    let mut paused = Vec::new();
    while pair.now() < Time::ZERO + Span::from_ms(15_000) {
        pair.run_for(Span::from_ms(10));
        let Control::Bbr(bbr) = pair.sender().control() else { unreachable!() };
        if bbr.phase() == Phase::ProbeRtt {
            paused.push(pair.now());
            assert_eq!(pair.sender().window().bytes, 4_000);
        }
    }
    let (first, last) = (paused[0], paused[paused.len() - 1]);
    assert!((10_000..10_300).contains(&(first.as_ns() / 1_000_000)), "{first}");
    assert!((180..320).contains(&(last.since(first).as_ns() / 1_000_000)), "from {first} to {last}");
}

/// A paced connection sends bursts at the pacing rate (as in Linux: 120 % of the window per round trip, 200 %
/// in slow start).
#[test]
fn paced_segments_are_spread_over_the_round_trip() {
    let paced = Config {
        pacing: true,
        burst_max: 2_000,
        first_rtt: Some(Span::from_us(200)),
        ..config(Algorithm::Reno)
    };
    let mut pair = connect_over(paced, Span::from_us(100), Span::from_us(1));
    send(&mut pair, 10_000);
    let last = pair.sent(Forward)[9].at.as_ns() / 1_000;
    assert!((75..=85).contains(&last), "four bursts of two in 100 µs before the fifth: {last} µs");
    let mut plain = connect(config(Algorithm::Reno));
    send(&mut plain, 10_000);
    assert_eq!(plain.sent(Forward)[9].at.as_ns() / 1_000, 9);
}

/// ACKs without any delay must not overflow products of rate and time.
#[test]
fn acks_without_delay_do_not_overflow() {
    for algorithm in Algorithm::ALL {
        let config = Config { first_window: 1_000, first_rtt: None, pacing: true, ..config(algorithm) };
        let mut sender = Sender::new(&config, QpNum::new(2), 5);
        let mut now = Time::from_ns(1);
        sender.post(&config, now, Work { id: 1, op: Op::Send, len: 2_000_000, addr: 0, rkey: 0, imm: None });
        let mut sent = 0;
        for _ in 0..10_000 {
            while let Some(transmit) = sender.poll_transmit(&config, now) {
                sent += u32::from(transmit.packet.payload_len());
            }
            let ack = Ack { ack: sent, ..Ack::default() };
            sender.on_packet(&config, now, &Segment::Ack(ack));
            now = sender.next_timeout().unwrap_or(now).max(now);
        }
        assert_eq!(sender.acknowledged(), 2_000_000, "{algorithm:?}");
    }
}
