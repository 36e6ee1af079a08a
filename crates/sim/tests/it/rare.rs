//! The estimator of rare losses on a small model of a protected link with a known effective loss: compared
//! with the formula, and with counting where that is feasible. Seeds are fixed.

use std::collections::VecDeque;

use wiremend_impair::{EpisodeStart, FrameFacts, FrameKind, FrameLoss, TiltSettings, TiltedLoss};
use wiremend_measure::rare::{Episode, Episodes, Estimate};

const LEVEL: f64 = 0.95;

/// The model matches its formula: counted over enough frames, without weights.
#[test]
fn counting_agrees_with_the_closed_form() {
    for (link, loss) in [(Link::new(2, 5), 0.2), (Link::new(2, 2), 0.1), (Link::new(1, 5), 0.05)] {
        let mut lane = FrameLoss::new(loss, 1).unwrap();
        let mut state = State::default();
        let (mut lost, mut frames) = (0, 0);
        while frames < 4_000_000 {
            let step = state.step(link, |frame| lane.corrupts(frame));
            lost += step.lost;
            frames += u64::from(step.is_fresh);
        }
        let expected = link.effective_loss(loss) * frames as f64;
        // Losses come in bursts of up to a hole, so the deviation is larger than that of independent losses.
        assert!((lost as f64 - expected).abs() < 6.0 * expected.sqrt(), "{lost}, not {expected}");
    }
}

/// Over many seeds the mean is correct, and the interval covers the truth as often as stated. Losses of all
/// copies are made frequent; losses of too wide holes are not, and occur by chance.
#[test]
fn estimates_are_unbiased_and_their_intervals_cover() {
    let seeds = 400;
    for (link, loss, count) in [
        (Link::new(2, 5), 0.2, 300),
        (Link::new(2, 2), 0.1, 300),
        (Link::new(1, 5), 0.05, 100),
        (Link::new(3, 5), 0.05, 300),
    ] {
        for begin in [EpisodeStart::Natural, EpisodeStart::Forced { after: 5 }] {
            let truth = link.effective_loss(loss);
            let (mut covered, mut sum, mut squares, mut total) = (0, 0.0, 0.0, Episodes::default());
            for seed in 0..seeds {
                let (episodes, estimate, _) = estimate(link, tilting(loss, begin), count, seed);
                covered += u32::from(estimate.interval.contains(truth));
                sum += estimate.value / truth;
                squares += (estimate.value / truth).powi(2);
                total.merge(&episodes);
            }
            let mean = sum / seeds as f64;
            let sigma = ((squares / seeds as f64 - mean * mean) / seeds as f64).sqrt();
            let share = f64::from(covered) / seeds as f64;
            let (weight, off) = total.mean_weight().unwrap();
            println!(
                "{link:?} {loss} {begin:?}: mean {mean:.4} ± {sigma:.4}, {share:.3} covered, weight {weight:.4}"
            );
            assert!((mean - 1.0).abs() < 4.0 * sigma, "{link:?} {loss} {begin:?}: {mean} ± {sigma}");
            assert!(share >= 0.9, "{link:?} {loss} {begin:?}: {share} covered");
            assert!(off.abs() < 4.0, "the mean weight {weight} is {off} deviations from 1");
        }
    }
}

/// L1: 10⁻⁹ at a loss of 10⁻³ with two copies, 10⁻⁸ at 10⁻⁴ and 10⁻¹⁰ at 10⁻⁵ with one, each from less than
/// 10⁶ draws.
#[test]
fn a_loss_of_one_in_a_billion_is_found_within_a_tenth() {
    for (loss, copies) in [(1e-3_f64, 2), (1e-4, 1), (1e-5, 1)] {
        let link = Link::new(copies, 5);
        let truth = loss.powi(i32::from(copies) + 1);
        for seed in 0..10 {
            let (episodes, estimate, draws) =
                estimate(link, tilting(loss, EpisodeStart::Forced { after: 5 }), 30_000, seed);
            let error = estimate.value / truth - 1.0;
            if seed == 0 {
                let found = estimate.relative_error();
                println!("{loss} {copies}: {:e}, {error:+.4}, ± {found:.4}, {draws} draws", estimate.value);
            }
            assert!(draws < 1_000_000, "{draws}");
            assert!(error.abs() < 0.1 && estimate.relative_error() < 0.03, "{error} {estimate:?}");
            assert!(episodes.effective_hits() > 5_000.0);
        }
    }
}

/// A counter-test: an episode that ends while copies are in flight gets a wrong weight.
#[test]
fn ending_episodes_early_gives_wrong_weights() {
    let link = Link::new(2, 5);
    let hasty = TiltSettings { quiet_frames: 2, ..tilting(0.05, EpisodeStart::Forced { after: 5 }) };
    let (_, estimate, _) = estimate(link, hasty, 20_000, 3);
    assert!(!estimate.interval.contains(link.effective_loss(0.05)), "{estimate:?}");
}

/// A tenth of the episodes is unchanged; in the others every second copy is lost.
fn tilting(loss: f64, begin: EpisodeStart) -> TiltSettings {
    TiltSettings {
        loss,
        raised_copies: 0.5,
        raised_control: loss,
        plain_share: 0.1,
        raised_max: 24,
        quiet_frames: u64::MAX,
        begin,
    }
}

/// Returns the effective loss from `count` episodes, and the number of frames drawn.
fn estimate(link: Link, tilting: TiltSettings, count: u64, seed: u64) -> (Episodes, Estimate, u64) {
    let mut lane = TiltedLoss::new(tilting, seed).unwrap();
    let mut state = State::default();
    let mut episodes = Episodes::default();
    let (mut lost, mut fresh, mut draws) = (0.0, 0, 0);
    // If episodes start by chance, the number of frames is fixed.
    let frames = (count as f64 / tilting.loss) as u64;
    let more =
        |fresh, ended| if tilting.begin == EpisodeStart::Natural { fresh < frames } else { ended < count };
    while more(fresh, episodes.count()) || !state.is_clean() {
        let step = state.step(link, |frame| lane.corrupts(frame));
        draws += 1;
        fresh += u64::from(step.is_fresh);
        lost += f64::from(step.lost) * lane.weight();
        if state.is_clean() {
            lane.settle();
        }
        while let Some(settled) = lane.poll_finished() {
            episodes.add(Episode { lost, weight: settled.weight, frames: settled.frames });
            lost = 0.0;
        }
    }
    let estimate = match tilting.begin {
        EpisodeStart::Natural => episodes.loss_per_frame(fresh, 1.0, LEVEL),
        EpisodeStart::Forced { .. } | EpisodeStart::Joined => {
            episodes.loss_per_frame_forced(tilting.loss, 1.0, LEVEL).unwrap()
        }
    };
    (episodes, estimate, draws)
}

/// A small model of LG §3: the receiver detects a hole at the next frame, requests its first `hole_max`
/// frames, and gets `copies` of each later, ahead of other frames. A frame is lost if it was not requested or
/// all its copies were lost.
#[derive(Clone, Copy, Debug)]
struct Link {
    copies: u8,
    hole_max: u32,
    round_trip: u64,
}

impl Link {
    fn new(copies: u8, hole_max: u32) -> Self {
        Self { copies, hole_max, round_trip: 6 }
    }

    /// A frame is the j-th of a hole with probability (1 − p)pʲ.
    fn effective_loss(self, loss: f64) -> f64 {
        let asked_for = loss * (1.0 - loss.powi(self.hole_max as i32));
        asked_for * loss.powi(i32::from(self.copies)) + loss.powi(self.hole_max as i32 + 1)
    }
}

#[derive(Default)]
struct State {
    slot: u64,
    hole: u32,
    /// Requested frames, in the order of their due times.
    again: VecDeque<Again>,
}

struct Again {
    due: u64,
    copies_left: u8,
    arrived: bool,
}

struct Step {
    is_fresh: bool,
    lost: u32,
}

impl State {
    fn is_clean(&self) -> bool {
        self.hole == 0 && self.again.is_empty()
    }

    /// Sends one frame over the link.
    fn step(&mut self, link: Link, mut corrupts: impl FnMut(&FrameFacts) -> bool) -> Step {
        self.slot += 1;
        let frame = FrameFacts { kind: FrameKind::Data, ..FrameFacts::bare(1518) };
        if let Some(again) = self.again.front_mut().filter(|again| again.due <= self.slot) {
            again.arrived |= !corrupts(&FrameFacts { copy: 1, ..frame });
            again.copies_left -= 1;
            let (is_last, arrived) = (again.copies_left == 0, again.arrived);
            if is_last {
                self.again.pop_front();
            }
            return Step { is_fresh: false, lost: u32::from(is_last && !arrived) };
        }
        if corrupts(&frame) {
            self.hole += 1;
            return Step { is_fresh: true, lost: 0 };
        }
        let due = self.slot + link.round_trip;
        let asked_for = self.hole.min(link.hole_max);
        self.again.extend((0..asked_for).map(|_| Again { due, copies_left: link.copies, arrived: false }));
        let lost = self.hole - asked_for;
        self.hole = 0;
        Step { is_fresh: true, lost }
    }
}
