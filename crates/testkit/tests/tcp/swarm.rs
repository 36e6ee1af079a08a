//! Random connections: whatever is lost, doubled, overtaken or cut off for a while, every byte arrives once and in order, and every
//! message ends, in order, with success or a reason.

use proptest::prelude::*;
use wiremend_proto::engine::{Requester as _, Status};
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Config, Ecn, Reordering};
use wiremend_testkit::Luck;
use wiremend_units::{Span, Time};

use crate::common;
use crate::pair::{Fate, Pair};

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

fn play(story: &Story) -> (Pair, bool) {
    let (cut, marks) = (story.cut.unwrap_or((0, 0)), story.marks);
    let mut pair = Pair::new(story.config.clone()).luck(story.luck, story.seed).rule(move |sighting| {
        if (cut.0..cut.0 + cut.1).contains(&sighting.nth) {
            Fate::Drop
        } else if marks.is_some_and(|every| sighting.nth.is_multiple_of(every)) {
            Fate::Mark
        } else {
            Fate::Pass
        }
    });
    for (len, pause_us) in &story.messages {
        pair.post(*len);
        let until = pair.now + Span::from_us(*pause_us);
        if !pair.run_until(until) {
            return (pair, false);
        }
    }
    let idle = pair.run();
    (pair, idle)
}

fn judge(story: &Story, pair: &Pair, idle: bool) -> Result<(), String> {
    if !idle || !pair.sender.is_idle() {
        return Err(format!("hangs at {}", pair.now));
    }
    let expected: Vec<_> = story.messages.iter().map(|(len, _)| *len).collect();
    let failed = pair.completions.iter().find(|completion| completion.status != Status::Success);
    if failed.is_some_and(|failed| failed.status != Status::RetryExceeded) {
        return Err(format!("nothing but lack of answers can fail here: {failed:?}"));
    }
    let ids: Vec<_> = pair.completions.iter().map(|completion| completion.id).collect();
    if ids != (1..=story.messages.len() as u64).collect::<Vec<_>>() {
        return Err(format!("completions {ids:?}"));
    }
    if failed.is_none() && pair.messages != expected {
        return Err(format!("messages {:?} instead of {expected:?}", pair.messages));
    }
    if failed.is_none() && pair.receiver.received() != expected.iter().map(|len| u64::from(*len).max(1)).sum()
    {
        return Err(format!("{} bytes", pair.receiver.received()));
    }
    let quiet = story.luck.loss_ppm + story.luck.reorder_ppm == 0 && story.cut.is_none();
    if failed.is_some() && quiet {
        return Err("given up without a loss".to_owned());
    }
    let counters = pair.sender.counters();
    // A delayed acknowledgement may outlast the timer.
    let prompt = story.config.delayed_ack <= Span::from_us(500);
    if quiet && prompt && story.luck.duplicate_ppm == 0 && counters.timeouts > 0 {
        return Err("a timeout on a perfect wire".to_owned());
    }
    if pair.now > Time::ZERO + Span::from_ms(600_000) {
        return Err(format!("took until {}", pair.now));
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::stories(2500, 4791))]

    #[test]
    fn every_byte_arrives_once_and_in_order_or_the_end_has_a_reason(story in stories()) {
        let (pair, idle) = play(&story);
        prop_assert_eq!(judge(&story, &pair, idle), Ok(()));
    }
}
