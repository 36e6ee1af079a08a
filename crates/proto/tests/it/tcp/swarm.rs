//! Random connections: whatever is lost, doubled, overtaken or cut off for a while, every byte arrives once and in order, and every
//! message ends, in order, with success or a reason.

use proptest::prelude::*;
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Config, Ecn, Reordering, Segment};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Luck;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Ending, Fate, Pair, Protocol, Sighting};
use wiremend_units::{Span, Time};

use super::connect;
use crate::common;

#[derive(Clone, Debug)]
struct Story {
    config: Config,
    luck: Luck,
    /// Data segments are lost from one to another.
    cut: Option<(u64, u64)>,
    /// One in so many is marked.
    marks: Option<u64>,
    seed: u64,
    messages: Vec<(u32, u64)>,
}

prop_compose! {
    pub(super) fn configs()(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        ecn in prop::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Dctcp]),
        delayed_ack in prop::sample::select(vec![0, 500, 40_000]).prop_map(Span::from_us),
        receive_window in prop::sample::select(vec![2_000, 9_000, 100_000, 6_000_000]),
        tick in prop::sample::select(vec![0, 1_000]).prop_map(Span::from_us),
        (sack, tail_probe, pacing, handshake) in any::<(bool, bool, bool, bool)>(),
        (mss, first_window, quick_acks, ack_every) in
            (64_u16..=1_000, 1_u32..=30, 0_u32..20, prop::sample::select(vec![1, 2, 2, 44])),
    ) -> Config {
        use Reordering::{Adaptive, Fixed, Segments, Time};
        let reordering = [Adaptive, Fixed, Time, Segments][quick_acks as usize % 4];
        let base = Config { rto_first: Span::from_ms(20), rto_max: Span::from_ms(2_000), ..super::config(algorithm) };
        let base = Config { ecn, delayed_ack, receive_window, tick, sack, tail_probe, pacing, handshake, ..base };
        Config { mss, first_window, quick_acks, ack_every, reordering, ..base }
    }
}

prop_compose! {
    fn stories()(
        config in configs(),
        luck in common::lucks(200_000),
        cut in prop_oneof![2 => Just(None), 1 => (1_u64..60, 1_u64..40).prop_map(Some)],
        marks in prop_oneof![Just(None), (1_u64..20).prop_map(Some)],
        seed in 0..u64::MAX / 2,
        messages in messages(),
    ) -> Story {
        Story { config, luck, cut, marks, seed, messages }
    }
}

/// Bytes, and the pause behind them in microseconds.
pub(super) fn messages() -> impl Strategy<Value = Vec<(u32, u64)>> {
    let len = prop_oneof![Just(0), 1_u32..600, prop::sample::select(vec![1_000, 2_000]), 1_u32..60_000];
    let pause_us = prop_oneof![4 => Just(0_u64), 1 => 0_u64..40_000];
    prop::collection::vec((len, pause_us), 1..8)
}

fn play(story: &Story) -> (Pair<Config>, Ending) {
    let (cut, marks) = (story.cut.unwrap_or((0, 0)), story.marks);
    let rule = move |of: &Sighting<Segment>| {
        if (cut.0..cut.0 + cut.1).contains(&of.nth) {
            Fate::Lost
        } else if marks.is_some_and(|every| of.nth.is_multiple_of(every)) {
            Fate::Altered(of.packet.marked())
        } else {
            Fate::Arrives
        }
    };
    let mut pair = connect(story.config.clone()).impair(story.luck, story.seed).fate(Forward, rule);
    let ending = transfer(&mut pair, &story.messages);
    (pair, ending)
}

/// Messages, and how long after each the next is posted, in microseconds.
pub(super) fn transfer<P: Protocol>(pair: &mut Pair<P>, messages: &[(u32, u64)]) -> Ending {
    for (len, pause_us) in messages {
        pair.send(A, *len);
        pair.run_for(Span::from_us(*pause_us));
    }
    pair.run_until_idle()
}

/// What is wrong with the messages of a run: each ends, in order, and arrives once, in order, with all its bytes, unless answers are
/// lacking. Whether one failed.
pub(super) fn judge_messages<P: Protocol>(
    pair: &Pair<P>,
    ending: Ending,
    messages: &[(u32, u64)],
    received: u64,
) -> Result<bool, String> {
    let failed = common::judge_works(pair, ending, A, messages.len())?;
    if !failed && received != messages.iter().map(|(len, _)| u64::from(*len).max(1)).sum() {
        return Err(format!("{received} bytes"));
    }
    Ok(failed)
}

fn judge(story: &Story, pair: &Pair<Config>, ending: Ending) -> Result<(), String> {
    let failed = judge_messages(pair, ending, &story.messages, pair.receiver().received())?;
    let quiet = story.luck.loss_ppm + story.luck.reorder_ppm == 0 && story.cut.is_none();
    if failed && quiet {
        return Err("given up without a loss".to_owned());
    }
    let counters = pair.requester(A);
    // A delayed acknowledgement may outlast the timer.
    let prompt = story.config.delayed_ack <= Span::from_us(500);
    if quiet && prompt && story.luck.duplicate_ppm == 0 && counters.timeouts > 0 {
        return Err("a timeout on a perfect wire".to_owned());
    }
    if pair.now() > Time::ZERO + Span::from_ms(600_000) {
        return Err(format!("took until {}", pair.now()));
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
