//! Random connections with loss, duplication and reordering: every byte arrives once and in order, and every
//! work request ends in order, with success or an error.

use proptest::prelude::*;
use wiremend_proto::engine::Op;
use wiremend_proto::mend::{Dummies, DummyTiming, MendConfig};
use wiremend_proto::rc::{Config, Recovery, RnrTimer};
use wiremend_testkit::{Pair, RandomFaults, RunEnd, Side};
use wiremend_units::{Psn, Span};

use super::TIMEOUT;
use crate::common;

#[derive(Clone, Debug)]
struct Case {
    config: Config,
    faults: RandomFaults,
    seed: u64,
    first: u32,
    spacing_ns: u64,
    receives: Option<u32>,
    works: Vec<Posted>,
}

#[derive(Clone, Copy, Debug)]
struct Posted {
    side: Side,
    op: Op,
    len: u32,
    imm: bool,
    pause_ns: u64,
}

impl Case {
    /// A recovery that restarts messages needs a message without any fault. With many faults it never
    /// finishes, by design, so they are reduced.
    fn faults(&self) -> RandomFaults {
        let mildness = if self.config.recovery == Recovery::GoBackZero { 8 } else { 1 };
        RandomFaults {
            loss_ppm: self.faults.loss_ppm / mildness,
            duplicate_ppm: self.faults.duplicate_ppm / mildness,
            reorder_ppm: self.faults.reorder_ppm / mildness,
        }
    }
}

prop_compose! {
    fn configs()(
        recovery in prop::sample::select(Recovery::ALL.to_vec()),
        window in prop::sample::select(vec![1, 2, 3, 7, 16, 64, Config::WINDOW_MAX]),
        ack_every in prop::sample::select(vec![1, 2, 5, 64]),
        reads_max in prop::sample::select(vec![1, 2, 16]),
        retry_count in 3_u8..=7,
        mend in mends(),
        resend_delay in prop::sample::select(vec![0, 0, 800]).prop_map(Span::from_ns),
        flow_control in any::<bool>(),
    ) -> Config {
        let base = Config { mtu: 256, timeout: Some(TIMEOUT), rnr_timer: RnrTimer::from_code(1), ..Config::default() };
        Config { recovery, window, ack_every, reads_max, retry_count, mend, resend_delay, flow_control, ..base }
    }
}

fn mends() -> impl Strategy<Value = MendConfig> {
    let timing = prop::sample::select(vec![DummyTiming::Deferred, DummyTiming::AtPost]);
    let idle_time = prop::sample::select(vec![0, 500, 5_000, 60_000]).prop_map(Span::from_ns);
    let dummies =
        (0_u8..4, timing, idle_time, any::<bool>()).prop_map(|(count, timing, idle_time, write_denied)| {
            Dummies { count, timing, idle_time, write_denied }
        });
    let copies = || prop_oneof![2 => Just(0_u8), 1 => 1_u8..3];
    let mend = (dummies, copies(), copies(), any::<bool>()).prop_map(
        |(dummies, tail_copies, packet_copies, check_epsn)| MendConfig {
            dummies,
            tail_copies,
            packet_copies,
            check_epsn,
        },
    );
    prop_oneof![Just(MendConfig::default()), mend]
}

prop_compose! {
    fn posted()(
        side in prop_oneof![4 => Just(Side::A), 1 => Just(Side::B)],
        op in prop::sample::select(vec![Op::Send, Op::Write, Op::Read]),
        len in prop_oneof![Just(0), 1_u32..600, prop::sample::select(vec![256, 512, 2560]), 1_u32..9_000],
        imm in any::<bool>(),
        pause_ns in prop_oneof![4 => Just(0_u64), 1 => 0_u64..200_000],
    ) -> Posted {
        Posted { side, op, len, imm: imm && op != Op::Read, pause_ns }
    }
}

prop_compose! {
    fn cases()(
        config in configs(),
        faults in common::random_faults(150_000),
        seed in 0..u64::MAX / 2,
        first in prop_oneof![Just(0_u32), 0xFF_FFC0_u32..=0xFF_FFFF, 0x7F_FFC0_u32..0x80_0010],
        spacing_ns in prop::sample::select(vec![0, 20, 100, 700]),
        receives in prop_oneof![3 => Just(None), 1 => (0_u32..3).prop_map(Some)],
        works in prop::collection::vec(posted(), 1..12),
    ) -> Case {
        Case { config, faults, seed, first, spacing_ns, receives, works }
    }
}

fn run_case(case: &Case) -> (Pair<Config>, RunEnd) {
    let spacing = Span::from_ns(case.spacing_ns);
    let mut pair = Pair::new(case.config.clone())
        .starting_at(Psn::new(case.first))
        .spacing(wiremend_testkit::Direction::Backward, spacing)
        .impair(case.faults(), case.seed);
    if let Some(receives) = case.receives {
        pair.host(Side::B).responder.limit_receives(receives);
    }
    for (work, imm) in case.works.iter().zip(100..) {
        pair.post(work.side, work.op, work.len, work.imm.then_some(imm));
        pair.run_for(Span::from_ns(work.pause_ns));
        pair.host(Side::B).responder.add_receives(1);
    }
    // The longest RNR wait, once the receiver has buffers, is 10 µs.
    let run_end = pair.run_until_idle();
    (pair, run_end)
}

fn check_case(case: &Case, pair: &Pair<Config>, run_end: RunEnd) -> Result<(), String> {
    for side in [Side::A, Side::B] {
        let posted: Vec<_> = case.works.iter().filter(|work| work.side == side).collect();
        let failed = common::check_completions(pair, run_end, side, posted.len())?;
        if failed && case.faults().loss_ppm == 0 && case.faults().reorder_ppm == 0 {
            return Err("retries exhausted without a loss".to_owned());
        }
        let bytes: u64 =
            posted.iter().filter(|work| work.op != Op::Read).map(|work| u64::from(work.len)).sum();
        let placed = pair.placed(side.peer());
        if case.config.recovery == Recovery::GoBackN && !failed && placed != bytes {
            return Err(format!("{placed} bytes placed of {bytes}"));
        }
        let requester = pair.requester(side);
        let faults = case.faults();
        let no_faults = faults.loss_ppm + faults.duplicate_ppm + faults.reorder_ppm == 0;
        if no_faults && case.receives.is_none() && requester.retransmitted_packets > 0 {
            return Err("retransmissions without a fault".to_owned());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::proptest_config(2500, 4791))]

    #[test]
    fn every_byte_arrives_once_and_in_order_or_the_connection_fails(case in cases()) {
        let (pair, run_end) = run_case(&case);
        prop_assert_eq!(check_case(&case, &pair, run_end), Ok(()));
    }
}

/// The same case produces the same packets.
#[test]
fn a_run_is_deterministic() {
    let faults = RandomFaults { loss_ppm: 50_000, duplicate_ppm: 20_000, reorder_ppm: 20_000 };
    let trace = || {
        let mut pair = Pair::new(super::config()).impair(faults, 3).traced();
        pair.write(Side::A, 20_000);
        pair.read(Side::A, 20_000);
        pair.run_until_idle();
        pair.trace().to_vec()
    };
    assert_eq!(trace(), trace());
    assert!(trace().iter().any(|line| line.ends_with("LOST")));
}
