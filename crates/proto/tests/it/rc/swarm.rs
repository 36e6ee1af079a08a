//! Random connections: whatever is lost, doubled or overtaken, every byte arrives once and in order, and every work
//! request ends, in order, with success or a reason.

use proptest::prelude::*;
use wiremend_proto::engine::Op;
use wiremend_proto::mend::{Dummies, Mend, When};
use wiremend_proto::rc::{Config, Recovery, RnrTimer};
use wiremend_testkit::{Ending, Luck, Pair, Side};
use wiremend_units::{Psn, Span};

use super::TIMEOUT;
use crate::common;

#[derive(Clone, Debug)]
struct Story {
    config: Config,
    luck: Luck,
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

impl Story {
    /// A recovery that restarts messages needs a message to pass without any disturbance: with much of it, never
    /// finishing is what it does.
    fn luck(&self) -> Luck {
        let mildness = if self.config.recovery == Recovery::GoBackZero { 8 } else { 1 };
        Luck {
            loss_ppm: self.luck.loss_ppm / mildness,
            duplicate_ppm: self.luck.duplicate_ppm / mildness,
            reorder_ppm: self.luck.reorder_ppm / mildness,
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
    ) -> Config {
        let base = Config { mtu: 256, timeout: Some(TIMEOUT), rnr_timer: RnrTimer::from_code(1), ..Config::default() };
        Config { recovery, window, ack_every, reads_max, retry_count, mend, resend_delay, ..base }
    }
}

fn mends() -> impl Strategy<Value = Mend> {
    let when = prop::sample::select(vec![When::Deferred, When::AtPost]);
    let after = prop::sample::select(vec![0, 500, 5_000, 60_000]).prop_map(Span::from_ns);
    let dummies = (0_u8..4, when, after).prop_map(|(count, when, after)| Dummies { count, when, after });
    let copies = || prop_oneof![2 => Just(0_u8), 1 => 1_u8..3];
    let mend = (dummies, copies(), copies(), any::<bool>()).prop_map(
        |(dummies, tail_copies, packet_copies, check_epsn)| Mend {
            dummies,
            tail_copies,
            packet_copies,
            check_epsn,
        },
    );
    prop_oneof![Just(Mend::default()), mend]
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
    fn stories()(
        config in configs(),
        luck in common::lucks(150_000),
        seed in 0..u64::MAX / 2,
        first in prop_oneof![Just(0_u32), 0xFF_FFC0_u32..=0xFF_FFFF, 0x7F_FFC0_u32..0x80_0010],
        spacing_ns in prop::sample::select(vec![0, 20, 100, 700]),
        receives in prop_oneof![3 => Just(None), 1 => (0_u32..3).prop_map(Some)],
        works in prop::collection::vec(posted(), 1..12),
    ) -> Story {
        Story { config, luck, seed, first, spacing_ns, receives, works }
    }
}

fn play(story: &Story) -> (Pair<Config>, Ending) {
    let spacing = Span::from_ns(story.spacing_ns);
    let mut pair = Pair::new(story.config.clone())
        .starting_at(Psn::new(story.first))
        .spacing(wiremend_testkit::Direction::Backward, spacing)
        .impair(story.luck(), story.seed);
    if let Some(receives) = story.receives {
        pair.host(Side::B).responder.limit_receives(receives);
    }
    for (work, imm) in story.works.iter().zip(100..) {
        pair.post(work.side, work.op, work.len, work.imm.then_some(imm));
        pair.run_for(Span::from_ns(work.pause_ns));
        pair.host(Side::B).responder.add_receives(1);
    }
    // The slowest wait for a receiver that was given its buffers long ago is 10 µs.
    let ending = pair.run_until_idle();
    (pair, ending)
}

fn judge(story: &Story, pair: &Pair<Config>, ending: Ending) -> Result<(), String> {
    for side in [Side::A, Side::B] {
        let posted: Vec<_> = story.works.iter().filter(|work| work.side == side).collect();
        let failed = common::judge_works(pair, ending, side, posted.len())?;
        if failed && story.luck().loss_ppm == 0 && story.luck().reorder_ppm == 0 {
            return Err("retries exhausted without a loss".to_owned());
        }
        let bytes: u64 =
            posted.iter().filter(|work| work.op != Op::Read).map(|work| u64::from(work.len)).sum();
        let placed = pair.placed(side.peer());
        if story.config.recovery == Recovery::GoBackN && !failed && placed != bytes {
            return Err(format!("{placed} bytes placed of {bytes}"));
        }
        let requester = pair.requester(side);
        let luck = story.luck();
        let quiet = luck.loss_ppm + luck.duplicate_ppm + luck.reorder_ppm == 0;
        if quiet && story.receives.is_none() && requester.retransmitted_packets > 0 {
            return Err("repetitions on a perfect wire".to_owned());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::stories(2500, 4791))]

    #[test]
    fn every_byte_arrives_once_and_in_order_or_the_end_has_a_reason(story in stories()) {
        let (pair, ending) = play(&story);
        prop_assert_eq!(judge(&story, &pair, ending), Ok(()));
    }
}

/// The same story gives the same packets.
#[test]
fn a_run_repeats_itself_exactly() {
    let luck = Luck { loss_ppm: 50_000, duplicate_ppm: 20_000, reorder_ppm: 20_000 };
    let trace = || {
        let mut pair = Pair::new(super::config()).impair(luck, 3).traced();
        pair.write(Side::A, 20_000);
        pair.read(Side::A, 20_000);
        pair.run_until_idle();
        pair.trace().to_vec()
    };
    assert_eq!(trace(), trace());
    assert!(trace().iter().any(|line| line.ends_with("LOST")));
}
