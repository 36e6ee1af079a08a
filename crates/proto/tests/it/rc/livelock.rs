//! Loss of every 256th packet starves messages of 4000 packets if a loss restarts the message (Guo et al.,
//! SIGCOMM 2016, §4.1), and costs little otherwise.

use wiremend_proto::engine::Op;
use wiremend_proto::rc::{Config, Recovery};
use wiremend_testkit::{Direction, Pair, RunEnd, Side};
use wiremend_units::Span;

use super::config;

const PACKETS: u32 = 4000;
/// Time of ten messages without loss.
const LIMIT: Span = Span::from_us(PACKETS as u64);

fn every_256th_dropped(recovery: Recovery, op: Op) -> (Pair<Config>, RunEnd) {
    let data = if op == Op::Read { Direction::Backward } else { Direction::Forward };
    let config = Config { recovery, timeout: Some(Span::from_ms(1)), ..config() };
    let mut pair = Pair::new(config).fate(data, |sent| sent.nth % 256 == 0);
    pair.post(Side::A, op, PACKETS * 256, None);
    let run_end = pair.run_for(LIMIT);
    (pair, run_end)
}

#[test]
fn go_back_0_never_finishes_and_keeps_the_link_busy() {
    for op in [Op::Send, Op::Write, Op::Read] {
        let (pair, run_end) = every_256th_dropped(Recovery::GoBackZero, op);
        assert_eq!((run_end, pair.completions(Side::A).len()), (RunEnd::LimitReached, 0), "{op:?}");
        let data = if op == Op::Read { Direction::Backward } else { Direction::Forward };
        let slots = LIMIT.as_ns() / 100;
        assert!(
            pair.carried(data) > slots * 95 / 100,
            "{op:?}: {} of {slots} slots used",
            pair.carried(data)
        );
        assert_eq!(pair.causes(), [], "{op:?}: retries are never exhausted");
    }
}

#[test]
fn go_back_n_finishes_with_few_retransmissions() {
    for op in [Op::Send, Op::Write, Op::Read] {
        let (pair, run_end) = every_256th_dropped(Recovery::GoBackN, op);
        assert_eq!(run_end, RunEnd::Idle, "{op:?}");
        pair.assert_delivered();
        let data = if op == Op::Read { Direction::Backward } else { Direction::Forward };
        // Each loss costs one round trip of packets: 2.2 µs, 22 packets and the lost one.
        let losses = pair.lost(data);
        let repeated = pair.carried(data) - u64::from(PACKETS);
        assert!((16..=18).contains(&losses), "{op:?}: {losses}");
        assert!(repeated <= losses * 24, "{op:?}: {repeated} retransmissions for {losses} losses");
        assert_eq!(pair.causes(), [], "{op:?}");
    }
}
