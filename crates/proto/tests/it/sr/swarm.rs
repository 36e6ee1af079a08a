//! Random connections of every scheme: whatever is lost, doubled, overtaken or cut off for a while, every byte is placed
//! once, every message arrives once and in order, and every work request ends, in order, with success or a reason.

use proptest::prelude::*;
use wiremend_proto::engine::Op;
use wiremend_proto::mend::{Dummies, Mend, When};
use wiremend_proto::rc;
use wiremend_proto::sr::{Config, Scheme, TrackingKind};
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Ending, Luck, Pair, Sighting};
use wiremend_units::{Psn, Span};

use crate::common;

#[derive(Clone, Debug)]
struct Story {
    config: Config,
    luck: Luck,
    /// All packets of both directions are lost from one to another.
    cut: Option<(u64, u64)>,
    seed: u64,
    /// Congestion control keeps packets back for so long, if it does.
    pace: Option<Span>,
    first: u32,
    works: Vec<(Op, u32, bool, u64)>,
}

fn configs() -> impl Strategy<Value = Config> {
    let scheme = prop::sample::select(Scheme::ALL.to_vec());
    let tracking = prop::sample::select(vec![TrackingKind::Bitmap, TrackingKind::LinkedChunks]);
    let window = prop::sample::select(vec![1, 2, 7, 32, 300]);
    let tracked = prop::sample::select(vec![1, 3, 64, 1_000]);
    let delay = prop::sample::select(vec![0, 0, 800]).prop_map(Span::from_ns);
    let lag_max = prop::sample::select(vec![1, 32]);
    let base = (window, 3_u8..=7, mends(), delay);
    (scheme, tracking, tracked, any::<bool>(), lag_max, base).prop_map(
        |(scheme, tracking, tracked, backoff, lag_max, (window, retry_count, mend, resend_delay))| {
            let base =
                rc::Config { mtu: 256, window, retry_count, mend, resend_delay, ..rc::Config::default() };
            Config { tracking, tracked, backoff, lag_max, paths: 8, ..Config::new(scheme, base) }
        },
    )
}

fn mends() -> impl Strategy<Value = Mend> {
    let when = prop::sample::select(vec![When::Deferred, When::AtPost]);
    let after = prop::sample::select(vec![0, 500, 60_000]).prop_map(Span::from_ns);
    let dummies = (0_u8..4, when, after).prop_map(|(count, when, after)| Dummies { count, when, after });
    let mend = (dummies, 0_u8..3, 0_u8..2).prop_map(|(dummies, tail_copies, packet_copies)| Mend {
        dummies,
        tail_copies,
        packet_copies,
        check_epsn: false,
    });
    prop_oneof![Just(Mend::default()), mend]
}

fn stories() -> impl Strategy<Value = Story> {
    let luck = common::lucks(150_000);
    let cut = prop_oneof![2 => Just(None), 1 => (1_u64..60, 1_u64..80).prop_map(Some)];
    let first = prop_oneof![Just(0_u32), 0xFF_FFC0_u32..=0xFF_FFFF, 0x7F_FFC0_u32..0x80_0010];
    let op = prop::sample::select(vec![Op::Send, Op::Write]);
    let len = prop_oneof![Just(0), 1_u32..600, prop::sample::select(vec![256, 512, 2560]), 1_u32..30_000];
    let pause_ns = prop_oneof![4 => Just(0_u64), 1 => 0_u64..400_000];
    let works = prop::collection::vec((op, len, any::<bool>(), pause_ns), 1..10);
    let pace = prop_oneof![3 => Just(None), 1 => (1_u64..3_000).prop_map(|us| Some(Span::from_us(us)))];
    (configs(), luck, cut, 0..u64::MAX / 2, pace, first, works).prop_map(
        |(config, luck, cut, seed, pace, first, works)| Story { config, luck, cut, seed, pace, first, works },
    )
}

fn play(story: &Story) -> (Pair<Config>, Ending) {
    let cut = story.cut.unwrap_or((0, 0));
    let rule = move |sighting: &Sighting<_>| (cut.0..cut.0 + cut.1).contains(&sighting.nth);
    let mut pair = Pair::new(story.config.clone())
        .starting_at(Psn::new(story.first))
        .impair(story.luck, story.seed)
        .fate(Forward, rule)
        .fate(Backward, rule);
    if let Some(pace) = story.pace {
        pair = pair.pace(pace);
    }
    for ((op, len, imm, pause_ns), number) in story.works.iter().zip(100..) {
        pair.post(A, *op, *len, imm.then_some(number));
        pair.run_for(Span::from_ns(*pause_ns));
    }
    let ending = pair.run_until_idle();
    (pair, ending)
}

fn judge(story: &Story, pair: &Pair<Config>, ending: Ending) -> Result<(), String> {
    let failed = common::judge_works(pair, ending, A, story.works.len())?;
    let bytes: u64 = story.works.iter().map(|work| u64::from(work.1)).sum();
    if !failed && pair.placed(B) != bytes {
        return Err(format!("{} bytes placed of {bytes}", pair.placed(B)));
    }
    let quiet = story.luck.loss_ppm + story.luck.reorder_ppm == 0 && story.cut.is_none();
    // What lies beyond the responder's memory is dropped by it.
    let fits = story.config.tracked >= story.config.base.window + 3;
    if failed && quiet && fits {
        return Err("retries exhausted without a loss".to_owned());
    }
    let counters = pair.requester(A);
    if quiet && fits && story.luck.duplicate_ppm == 0 && counters.retransmitted_packets > 0 {
        return Err("repetitions on a perfect wire".to_owned());
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::stories(2500, 4791))]

    #[test]
    fn every_byte_is_placed_once_or_the_end_has_a_reason(story in stories()) {
        let (pair, ending) = play(&story);
        prop_assert_eq!(judge(&story, &pair, ending), Ok(()));
    }
}
