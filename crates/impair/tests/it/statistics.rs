//! The random models against their closed forms. Seeds are fixed, so a failure is a change of behaviour.

use proptest::prelude::*;
use wiremend_impair::{BadImpairment, BitErrors, Channel, FrameFacts, FrameLoss, GilbertElliott};

const SHORT: u32 = 64;
const LONG: u32 = 1086;

/// Long and short frames share one stream of bit errors; each length sees its own frame loss.
#[test]
fn bit_errors_hit_frames_by_their_length() {
    for (alpha, seed) in [(1e-3, 1), (1e-5, 2), (1e-6, 3)] {
        let mut lane = BitErrors::new(alpha, seed).unwrap();
        let frames = 2_000_000;
        let mut hits = [0_u64; 2];
        for i in 0..frames * 2 {
            let short = i % 2 == 0;
            let frame = FrameFacts::bare(if short { SHORT } else { LONG });
            hits[usize::from(short)] += u64::from(lane.corrupts(&frame));
        }
        for (hits, bytes) in hits.into_iter().zip([LONG, SHORT]) {
            let expected = 1.0 - (1.0 - alpha).powi(8 * bytes as i32);
            assert_rate(hits, frames, expected);
        }
    }
}

/// The bit errors of one seed are at the same positions for all frame lengths.
#[test]
fn frame_lengths_do_not_move_the_first_error() {
    for seed in 0..50 {
        let mut bytewise = BitErrors::new(1e-4, seed).unwrap();
        let byte = (0..10_000_000).find(|_| bytewise.corrupts(&FrameFacts::bare(1))).unwrap();
        let mut framewise = BitErrors::new(1e-4, seed).unwrap();
        let frame = (0..10_000_000).find(|_| framewise.corrupts(&FrameFacts::bare(LONG))).unwrap();
        assert_eq!(byte / LONG, frame);
    }
}

#[test]
fn frame_loss_is_as_asked_and_without_memory() {
    for (loss, seed) in [(0.5, 11), (0.1, 12), (1e-3, 13)] {
        let mut lane = FrameLoss::new(loss, seed).unwrap();
        let fates: Vec<bool> = (0..1_000_000).map(|_| lane.corrupts(&FrameFacts::bare(SHORT))).collect();
        let losses = fates.iter().filter(|lost| **lost).count() as u64;
        assert_rate(losses, fates.len() as u64, loss);
        // The frame after a lost one is lost with the same probability.
        let in_a_row = fates.windows(2).filter(|pair| pair[0] && pair[1]).count() as u64;
        assert_rate(in_a_row, losses, loss);
    }
}

/// The distribution of gaps, also after a short gap, is that of independent trials.
#[test]
fn gaps_are_geometric_and_independent() {
    let loss = 0.01;
    let mut lane = FrameLoss::new(loss, 21).unwrap();
    let mut gap = || (0..10_000).find(|_| lane.corrupts(&FrameFacts::bare(SHORT))).unwrap();
    let gaps: Vec<i32> = (0..100_000).map(|_| gap()).collect();
    for bound in [1, 10, 69, 200, 700] {
        let below = 1.0 - (1.0 - loss).powi(bound);
        let count = |gaps: &[i32]| gaps.iter().filter(|gap| **gap < bound).count() as u64;
        assert_rate(count(&gaps), gaps.len() as u64, below);
        let after_short: Vec<i32> = gaps.windows(2).filter(|pair| pair[0] < 69).map(|pair| pair[1]).collect();
        assert_rate(count(&after_short), after_short.len() as u64, below);
    }
}

/// Probabilities 0 and 1 are exact.
#[test]
fn zero_and_one_are_exact() {
    let frame = FrameFacts::bare(SHORT);
    for seed in 0..20 {
        let mut never: [BitErrors; 2] = [0.0, -0.0].map(|alpha| BitErrors::new(alpha, seed).unwrap());
        let mut always = BitErrors::new(1.0, seed).unwrap();
        let mut no_loss = FrameLoss::new(0.0, seed).unwrap();
        let mut all_lost = FrameLoss::new(1.0, seed).unwrap();
        for _ in 0..1_000 {
            assert!(never.iter_mut().all(|lane| !lane.corrupts(&frame)));
            assert!(!no_loss.corrupts(&frame));
            assert!(always.corrupts(&frame) && all_lost.corrupts(&frame));
        }
    }
}

#[test]
fn tiny_rates_neither_overflow_nor_hit() {
    for alpha in [1e-15, 1e-18, 1e-30, f64::MIN_POSITIVE] {
        for seed in 0..100 {
            let mut lane = BitErrors::new(alpha, seed).unwrap();
            assert!((0..1_000).all(|_| !lane.corrupts(&FrameFacts::bare(LONG))), "{alpha} {seed}");
        }
    }
    // At 10⁻¹⁵ an error is near after 10¹⁵ bits: 30 000 giant frames of 2³⁵ bits.
    let mut lane = BitErrors::new(1e-15, 7).unwrap();
    let hits = (0..3_000_000).filter(|_| lane.corrupts(&FrameFacts::bare(u32::MAX))).count() as u64;
    assert_rate(hits, 3_000_000, 1.0 - (-1e-15_f64 * 8.0 * f64::from(u32::MAX)).exp());
}

/// Mean loss, mean burst and the gaps between bursts have the requested values.
#[test]
fn bursts_have_the_requested_means() {
    for (loss, burst, seed) in [(0.01, 4.0, 31), (0.001, 1.5, 32), (0.2, 20.0, 33), (0.4, 1.0, 34)] {
        let mut lane = GilbertElliott::from_bursts(loss, burst, seed).unwrap();
        let fates: Vec<bool> = (0..4_000_000).map(|_| lane.corrupts(&FrameFacts::bare(LONG))).collect();
        let losses = fates.iter().filter(|lost| **lost).count() as f64;
        let bursts = fates.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
        // Burst lengths are geometric: variance (1 − r) / r².
        let sigma_burst = (burst * (burst - 1.0) / bursts).sqrt();
        assert!(
            (losses / bursts - burst).abs() <= 4.0 * sigma_burst + 2.0 * burst / bursts,
            "{}",
            losses / bursts
        );
        // The number of losses varies by (1 + ρ) / (1 − ρ), ρ = 1 − p − r, more than with independent losses.
        let rho = 1.0 - 1.0 / burst / (1.0 - loss);
        let frames = fates.len() as f64;
        let sigma = (loss * (1.0 - loss) / frames * (1.0 + rho) / (1.0 - rho)).sqrt();
        assert!((losses / frames - loss).abs() <= 4.0 * sigma + 1e-9, "{}", losses / frames);
    }
}

/// With a loss in each state the mean is the weighted one.
#[test]
fn both_states_can_lose() {
    let channel = Channel { good_to_bad: 0.02, bad_to_good: 0.1, loss_good: 0.001, loss_bad: 0.3 };
    let mut lane = GilbertElliott::new(channel, 41).unwrap();
    let frames = 4_000_000;
    let lost = (0..frames).filter(|_| lane.corrupts(&FrameFacts::bare(LONG))).count() as f64;
    let share_bad = 0.02 / 0.12;
    let expected = share_bad * 0.3 + (1.0 - share_bad) * 0.001;
    assert!((lost / f64::from(frames) / expected - 1.0).abs() < 0.01, "{}", lost / f64::from(frames));
}

/// The first frame is lost as often as any other.
#[test]
fn a_channel_starts_in_its_long_run_state() {
    let first =
        |seed| GilbertElliott::from_bursts(0.2, 10.0, seed).unwrap().corrupts(&FrameFacts::bare(LONG));
    assert_rate((0..100_000).filter(|seed| first(*seed)).count() as u64, 100_000, 0.2);
}

#[test]
fn constant_channels_are_good_and_others_alternate() {
    let frozen = Channel { good_to_bad: 0.0, bad_to_good: 0.0, loss_good: 0.0, loss_bad: 1.0 };
    let mut lane = GilbertElliott::new(frozen, 1).unwrap();
    assert!((0..1_000).all(|_| !lane.corrupts(&FrameFacts::bare(SHORT))));
    let mut lane = GilbertElliott::from_bursts(0.5, 1.0, 1).unwrap();
    let fates: Vec<bool> = (0..1_000).map(|_| lane.corrupts(&FrameFacts::bare(SHORT))).collect();
    assert!(fates.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn impossible_channels_are_refused_with_the_bound() {
    assert!(BitErrors::new(1.5, 0).unwrap_err().to_string().contains("bit error rate 1.5"));
    assert!(FrameLoss::new(f64::NAN, 0).is_err());
    assert_eq!(GilbertElliott::from_bursts(0.1, 0.5, 0).unwrap_err(), BadImpairment::Burst(0.5));
    assert!(GilbertElliott::from_bursts(0.1, f64::INFINITY, 0).is_err());
    let error = GilbertElliott::from_bursts(0.9, 4.0, 0).unwrap_err().to_string();
    assert!(error.contains("at most 0.8000"), "{error}");
    assert!(GilbertElliott::from_bursts(1.0, 4.0, 0).is_err());
}

/// Published results depend on the draws of a seed, so they must not change.
#[test]
fn a_seed_always_gives_the_same_errors() {
    let mut lane = BitErrors::new(1e-4, 2024).unwrap();
    let hits: Vec<u32> = (0..).filter(|_| lane.corrupts(&FrameFacts::bare(SHORT))).take(8).collect();
    assert_eq!(hits, [12, 36, 64, 81, 87, 92, 93, 102]);
}

proptest! {
    /// Any probability and any length works without a panic.
    #[test]
    fn all_rates_and_lengths_are_accepted(share in 0.0..=1.0_f64, scale in 0..300_i32, seed: u64, lens in prop::collection::vec(0_u32.., 1..50)) {
        let alpha = share * 10_f64.powi(-scale);
        let mut bits = BitErrors::new(alpha, seed).unwrap();
        let mut frames = FrameLoss::new(alpha, seed).unwrap();
        let channel = Channel { good_to_bad: alpha, bad_to_good: 1.0 - alpha, loss_good: alpha, loss_bad: 1.0 };
        let mut bursts = GilbertElliott::new(channel, seed).unwrap();
        for len in lens {
            let frame = FrameFacts::bare(len);
            let hit = bits.corrupts(&frame);
            prop_assert!(!(hit && len == 0), "an empty frame has no bit to flip");
            frames.corrupts(&frame);
            bursts.corrupts(&frame);
        }
    }
}

/// Fails if `hits` of `trials` are more than four standard deviations from the expectation.
#[track_caller]
fn assert_rate(hits: u64, trials: u64, expected: f64) {
    let trials = trials as f64;
    let sigma = (expected * (1.0 - expected) * trials).sqrt();
    let off = (hits as f64 - expected * trials) / sigma;
    assert!(off.abs() < 4.0, "{hits} of {trials}, expected {}: {off:.1} sigma", expected * trials);
}
