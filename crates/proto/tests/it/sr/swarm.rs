//! Random connections of every scheme with loss, duplication, reordering and outages: every byte is placed
//! once, every message arrives once and in order, and every work request ends in order, with success or an
//! error.

use proptest::prelude::*;
use wiremend_proto::engine::Op;
use wiremend_proto::mend::{Dummies, DummyTiming, MendConfig};
use wiremend_proto::rc;
use wiremend_proto::sr::{Config, Scheme, TrackingKind};
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Pair, RandomFaults, RunEnd, SentPacket};
use wiremend_units::{Psn, Span};

use crate::common;

#[derive(Clone, Debug)]
struct Case {
    config: Config,
    faults: RandomFaults,
    /// First packet and number of packets of an outage in both directions.
    outage: Option<(u64, u64)>,
    seed: u64,
    /// Pause of congestion control between packets, if any.
    pace: Option<Span>,
    first: u32,
    works: Vec<(Op, u32, bool, u64)>,
}

fn configs() -> impl Strategy<Value = Config> {
    let scheme = prop::sample::select(Scheme::ALL.to_vec());
    let tracking = prop::sample::select(vec![TrackingKind::Bitmap, TrackingKind::LinkedChunks]);
    let window = prop::sample::select(vec![1, 2, 7, 32, 300]);
    let tracked_packets = prop::sample::select(vec![1, 3, 64, 1_000]);
    let delay = prop::sample::select(vec![0, 0, 800]).prop_map(Span::from_ns);
    let lag_max = prop::sample::select(vec![1, 32]);
    let base = (window, 3_u8..=7, mends(), delay);
    (scheme, tracking, tracked_packets, any::<bool>(), lag_max, base).prop_map(
        |(scheme, tracking, tracked_packets, backoff, lag_max, (window, retry_count, mend, resend_delay))| {
            let base =
                rc::Config { mtu: 256, window, retry_count, mend, resend_delay, ..rc::Config::default() };
            Config { tracking, tracked_packets, backoff, lag_max, path_count: 8, ..Config::new(scheme, base) }
        },
    )
}

fn mends() -> impl Strategy<Value = MendConfig> {
    let timing = prop::sample::select(vec![DummyTiming::Deferred, DummyTiming::AtPost]);
    let idle_time = prop::sample::select(vec![0, 500, 60_000]).prop_map(Span::from_ns);
    let dummies = (0_u8..4, timing, idle_time).prop_map(|(count, timing, idle_time)| Dummies {
        count,
        timing,
        idle_time,
        write_denied: false,
    });
    let mend = (dummies, 0_u8..3, 0_u8..2).prop_map(|(dummies, tail_copies, packet_copies)| MendConfig {
        dummies,
        tail_copies,
        packet_copies,
        check_epsn: false,
    });
    prop_oneof![Just(MendConfig::default()), mend]
}

fn cases() -> impl Strategy<Value = Case> {
    let faults = common::random_faults(150_000);
    let outage = prop_oneof![2 => Just(None), 1 => (1_u64..60, 1_u64..80).prop_map(Some)];
    let first = prop_oneof![Just(0_u32), 0xFF_FFC0_u32..=0xFF_FFFF, 0x7F_FFC0_u32..0x80_0010];
    let op = prop::sample::select(vec![Op::Send, Op::Write]);
    let len = prop_oneof![Just(0), 1_u32..600, prop::sample::select(vec![256, 512, 2560]), 1_u32..30_000];
    let pause_ns = prop_oneof![4 => Just(0_u64), 1 => 0_u64..400_000];
    let works = prop::collection::vec((op, len, any::<bool>(), pause_ns), 1..10);
    let pace = prop_oneof![3 => Just(None), 1 => (1_u64..3_000).prop_map(|us| Some(Span::from_us(us)))];
    (configs(), faults, outage, 0..u64::MAX / 2, pace, first, works).prop_map(
        |(config, faults, outage, seed, pace, first, works)| Case {
            config,
            faults,
            outage,
            seed,
            pace,
            first,
            works,
        },
    )
}

fn run_case(case: &Case) -> (Pair<Config>, RunEnd) {
    let outage = case.outage.unwrap_or((0, 0));
    let rule = move |sent: &SentPacket<_>| (outage.0..outage.0 + outage.1).contains(&sent.nth);
    let mut pair = Pair::new(case.config.clone())
        .starting_at(Psn::new(case.first))
        .impair(case.faults, case.seed)
        .fate(Forward, rule)
        .fate(Backward, rule);
    if let Some(pace) = case.pace {
        pair = pair.pace(pace);
    }
    for ((op, len, imm, pause_ns), number) in case.works.iter().zip(100..) {
        pair.post(A, *op, *len, imm.then_some(number));
        pair.run_for(Span::from_ns(*pause_ns));
    }
    let run_end = pair.run_until_idle();
    (pair, run_end)
}

fn check_case(case: &Case, pair: &Pair<Config>, run_end: RunEnd) -> Result<(), String> {
    let failed = common::check_completions(pair, run_end, A, case.works.len())?;
    let bytes: u64 = case.works.iter().map(|work| u64::from(work.1)).sum();
    if !failed && pair.placed(B) != bytes {
        return Err(format!("{} bytes placed of {bytes}", pair.placed(B)));
    }
    let no_faults = case.faults.loss_ppm + case.faults.reorder_ppm == 0 && case.outage.is_none();
    // The responder drops packets beyond its tracked range.
    let fits = case.config.tracked_packets >= case.config.base.window + 3;
    if failed && no_faults && fits {
        return Err("retries exhausted without a loss".to_owned());
    }
    let counters = pair.requester(A);
    if no_faults && fits && case.faults.duplicate_ppm == 0 && counters.retransmitted_packets > 0 {
        return Err("retransmissions without a fault".to_owned());
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::proptest_config(2500, 4791))]

    #[test]
    fn every_byte_is_placed_once_or_the_connection_fails(case in cases()) {
        let (pair, run_end) = run_case(&case);
        prop_assert_eq!(check_case(&case, &pair, run_end), Ok(()));
    }
}
