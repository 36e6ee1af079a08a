//! Random connections: whatever is lost, doubled, overtaken or cut off for a while, every byte arrives once and in order, and every
//! message ends, in order, with success or a reason.

use proptest::prelude::*;
use wiremend_proto::engine::Status;
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

pub(super) fn configs() -> impl Strategy<Value = Config> {
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    let ecn = prop::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Dctcp]);
    let delayed_ack = prop::sample::select(vec![0, 500, 40_000]).prop_map(Span::from_us);
    let receive_window = prop::sample::select(vec![2_000, 9_000, 100_000, 6_000_000]);
    let tick = prop::sample::select(vec![0, 1_000]).prop_map(Span::from_us);
    let bits = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (64_u16..=1_000, 1_u32..=30, 0_u32..20, prop::sample::select(vec![1, 2, 2, 44]));
    (algorithm, ecn, delayed_ack, receive_window, tick, bits, sizes).prop_map(
        |(
            algorithm,
            ecn,
            delayed_ack,
            receive_window,
            tick,
            bits,
            (mss, first_window, quick_acks, ack_every),
        )| Config {
            ack_every,
            mss,
            first_window,
            quick_acks,
            ecn,
            delayed_ack,
            receive_window,
            tick,
            sack: bits.0,
            reordering: [Reordering::Adaptive, Reordering::Fixed, Reordering::Time, Reordering::Segments]
                [quick_acks as usize % 4],
            tail_probe: bits.1,
            pacing: bits.2,
            handshake: bits.3,
            rto_first: Span::from_ms(20),
            rto_max: Span::from_ms(2_000),
            ..super::config(algorithm)
        },
    )
}

fn stories() -> impl Strategy<Value = Story> {
    let rate = || prop_oneof![2 => Just(0_u32), 1 => 0_u32..20_000, 1 => 0_u32..200_000];
    let luck = (rate(), rate(), rate()).prop_map(|(loss_ppm, duplicate_ppm, reorder_ppm)| Luck {
        loss_ppm,
        duplicate_ppm,
        reorder_ppm,
    });
    let cut = prop_oneof![2 => Just(None), 1 => (1_u64..60, 1_u64..40).prop_map(Some)];
    let marks = prop_oneof![Just(None), (1_u64..20).prop_map(Some)];
    let len = prop_oneof![Just(0), 1_u32..600, prop::sample::select(vec![1_000, 2_000]), 1_u32..60_000];
    let pause_us = prop_oneof![4 => Just(0_u64), 1 => 0_u64..40_000];
    let messages = prop::collection::vec((len, pause_us), 1..8);
    (configs(), luck, cut, marks, 0..u64::MAX / 2, messages).prop_map(
        |(config, luck, cut, marks, seed, messages)| Story { config, luck, cut, marks, seed, messages },
    )
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
    if ending != Ending::Idle {
        return Err(format!("hangs at {}", pair.now()));
    }
    pair.check()?;
    if pair.completions(A).len() != messages.len() {
        return Err(format!("{} of {} messages ended", pair.completions(A).len(), messages.len()));
    }
    let failed = pair.completions(A).iter().find(|completion| completion.status != Status::Success);
    if failed.is_some_and(|failed| failed.status != Status::RetryExceeded) {
        return Err(format!("nothing but lack of answers can fail here: {failed:?}"));
    }
    if failed.is_none() && received != messages.iter().map(|(len, _)| u64::from(*len).max(1)).sum() {
        return Err(format!("{received} bytes"));
    }
    Ok(failed.is_some())
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
