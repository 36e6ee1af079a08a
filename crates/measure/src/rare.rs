//! Estimation of rare events: a loss ratio of 10⁻¹⁰ behind a protected link, from 10⁵ episodes instead of
//! 10¹² frames.
//!
//! A protected link recovers from every loss, so its history *regenerates*: it consists of cycles of a clean
//! interval and an episode, which lasts from a loss until its recovery has ended. Only episodes are simulated
//! (conditional Monte Carlo). Within them, important outcomes are drawn more often than in reality and
//! weighted by true over drawn probability (importance sampling). Let Y be the weighted number of frames that
//! an episode loses, T the number of frames during an episode, and p the probability that a frame on a clean
//! link starts an episode. Then the renewal reward theorem gives the effective loss ratio exactly:
//!
//! ```text
//!                E[Y]             frames lost in a cycle
//!   loss  =  ───────────   =   ─────────────────────────────
//!             1/p + E[T]        frames offered in a cycle
//! ```
//!
//! If episodes start at the true rate ([`Episodes::loss_per_frame`]), the estimate is ΣY over the frames
//! offered and unbiased. If episodes are forced ([`Episodes::loss_per_frame_forced`]), it is a ratio of two
//! unbiased means, of which the second has little variance: its bias is below `p · E[T]` times the squared
//! relative error.
//!
//! Only observed outcomes have weights. The interval misses a loss pattern that no tilt makes frequent and
//! that is heavier than all observed ones, unless there are few hits: then it allows for one more of the
//! heaviest kind.
//!
//! Splitting (several continuations of each history that is half-way to the event) gives the same estimate
//! without weights. It suits unknown probabilities. Here each next step is the loss of a known frame with a
//! known probability, so a raised probability does the same without copying the simulator's state.

use libm::sqrt;
use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::special::{chi_square_quantile, normal_quantile};

/// With fewer effective hits, the interval is Fay and Feuer's instead of the normal one.
const HITS_FEW: f64 = 60.0;

/// Sums over independent episodes.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Episodes {
    count: u64,
    hits: u64,
    /// Weighted losses Y: sum, sum of squares, maximum.
    lost: f64,
    lost_squares: f64,
    lost_max: f64,
    /// Weights at the end of episodes: sum, sum of squares.
    weights: f64,
    weight_squares: f64,
    /// Weighted lengths T: sum, sum of squares, and sum of Y·T.
    frames: f64,
    frame_squares: f64,
    lost_by_frames: f64,
}

/// Result of one episode.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Episode {
    /// Sum over lost frames of the weight when each was certainly lost.
    pub lost: f64,
    /// Weight of the whole episode.
    pub weight: f64,
    /// Frames offered during the episode, without the one that started it.
    pub frames: u64,
}

/// An estimate with its uncertainty.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Estimated standard deviation.
    pub deviation: f64,
    /// Confidence interval at the requested level.
    pub interval: Interval,
}

impl Episodes {
    /// Adds one episode.
    pub fn add(&mut self, episode: Episode) {
        let Episode { lost, weight, frames } = episode;
        assert!(lost >= 0.0 && weight >= 0.0, "weights are positive: {episode:?}");
        let frames = weight * frames as f64;
        self.count += 1;
        self.hits += u64::from(lost > 0.0);
        self.lost += lost;
        self.lost_squares += lost * lost;
        self.lost_max = self.lost_max.max(lost);
        self.weights += weight;
        self.weight_squares += weight * weight;
        self.frames += frames;
        self.frame_squares += frames * frames;
        self.lost_by_frames += lost * frames;
    }

    /// Adds the episodes of another thread or seed.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.hits += other.hits;
        self.lost += other.lost;
        self.lost_squares += other.lost_squares;
        self.lost_max = self.lost_max.max(other.lost_max);
        self.weights += other.weights;
        self.weight_squares += other.weight_squares;
        self.frames += other.frames;
        self.frame_squares += other.frame_squares;
        self.lost_by_frames += other.lost_by_frames;
    }

    /// Number of episodes.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Number of episodes with a loss.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Number of hits of equal weight with the same variance. If it is small, single hits dominate.
    pub fn effective_hits(&self) -> f64 {
        if self.lost > 0.0 { self.lost * self.lost / self.lost_squares } else { 0.0 }
    }

    /// Mean weight, and its deviation from 1 in standard deviations. A large deviation shows that episodes
    /// were cut short, weighted wrongly, or too few. `None` for fewer than two episodes.
    pub fn mean_weight(&self) -> Option<(f64, f64)> {
        let n = self.count as f64;
        (self.count > 1).then(|| {
            let mean = self.weights / n;
            let spread = sqrt(((self.weight_squares / n - mean * mean) / (n - 1.0)).max(0.0));
            (mean, if spread > 0.0 { (mean - 1.0) / spread } else { 0.0 })
        })
    }

    /// Loss per frame of episodes that started at the true rate while `frames` were offered. With few hits,
    /// the largest possible weight of a hit (`unseen`) sets the upper end of the interval.
    ///
    /// Both the number of episodes and the loss of each are random: a compound Poisson sum, whose variance is
    /// the sum of squares.
    pub fn loss_per_frame(&self, frames: u64, unseen: f64, level: f64) -> Estimate {
        assert!(frames > 0, "of no frame nothing is lost");
        self.estimate(self.lost_squares, 1.0 / frames as f64, unseen, level)
    }

    /// Loss per frame of forced episodes, if in reality one starts with probability `begin` at each frame of
    /// a clean link. If other frames can also start an episode, `begin` is their loss divided by the fraction
    /// of counted frames. See [`Self::loss_per_frame`] for `unseen`. `None` for fewer than two episodes.
    pub fn loss_per_frame_forced(&self, begin: f64, unseen: f64, level: f64) -> Option<Estimate> {
        assert!(begin > 0.0 && begin <= 1.0, "the chance of a begin is {begin}");
        if self.count < 2 {
            return None;
        }
        let n = self.count as f64;
        let cycle = 1.0 / begin + self.frames / n;
        let ratio = self.lost / n / cycle;
        // Linearised around the means: the variance of Y − loss · T. The clean interval has no variance.
        let mean = (self.lost - ratio * self.frames) / n;
        let square =
            self.lost_squares - 2.0 * ratio * self.lost_by_frames + ratio * ratio * self.frame_squares;
        let variance = ((square - n * mean * mean) * n / (n - 1.0)).max(0.0);
        Some(self.estimate(variance, 1.0 / (n * cycle), unseen, level))
    }

    /// Estimate of the sum of weighted losses times `scale`; `variance` is that of the sum.
    fn estimate(&self, variance: f64, scale: f64, unseen: f64, level: f64) -> Estimate {
        assert!(level > 0.0 && level < 1.0, "a level is a probability: {level}");
        let interval = if self.effective_hits() < HITS_FEW {
            gamma_interval(self.lost, self.lost_squares, self.lost_max.max(unseen), level)
        } else {
            let half = normal_quantile(0.5 + level / 2.0) * sqrt(variance);
            Interval { low: (self.lost - half).max(0.0), high: self.lost + half }
        };
        Estimate {
            value: self.lost * scale,
            deviation: sqrt(variance) * scale,
            interval: Interval { low: interval.low * scale, high: interval.high * scale },
        }
    }
}

impl Estimate {
    /// Standard deviation over value; infinite without hits.
    pub fn relative_error(&self) -> f64 {
        if self.value > 0.0 { self.deviation / self.value } else { f64::INFINITY }
    }

    /// Weighted sum of independent estimates: strata with their fractions, or links of a path with 1 each.
    /// Interval ends combine by squared distances, separately for each side, so that a skewed part leaves the
    /// sum skewed.
    pub fn sum(parts: &[(f64, Self)]) -> Self {
        let value = parts.iter().map(|(share, part)| share * part.value).sum();
        let root = |distance: fn(&Self) -> f64| {
            sqrt(parts.iter().map(|(share, part)| share * share * distance(part) * distance(part)).sum())
        };
        let below = root(|part| part.value - part.interval.low);
        let above = root(|part| part.interval.high - part.value);
        let interval = Interval { low: value - below, high: value + above };
        Self { value, deviation: root(|part| part.deviation), interval }
    }
}

/// Fay and Feuer's interval (1997) for the mean of a weighted sum of Poisson counts, from the sum, the sum of
/// squared weights and the largest weight. For equal weights it is Garwood's interval, otherwise it is
/// conservative.
fn gamma_interval(sum: f64, squares: f64, heaviest: f64, level: f64) -> Interval {
    let tail = (1.0 - level) / 2.0;
    // A gamma variate with this mean and variance.
    let quantile = |p, mean: f64, variance: f64| {
        variance / (2.0 * mean) * chi_square_quantile(p, 2.0 * mean * mean / variance)
    };
    Interval {
        low: if sum > 0.0 { quantile(tail, sum, squares) } else { 0.0 },
        high: if sum + heaviest > 0.0 {
            quantile(1.0 - tail, sum + heaviest, squares + heaviest * heaviest)
        } else {
            0.0
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::poisson;
    use proptest::prelude::*;

    fn hit(weight: f64) -> Episode {
        Episode { lost: weight, weight, frames: 0 }
    }

    const MISS: Episode = Episode { lost: 0.0, weight: 1.0, frames: 0 };

    fn episodes(all: &[Episode]) -> Episodes {
        let mut episodes = Episodes::default();
        for one in all {
            episodes.add(*one);
        }
        episodes
    }

    #[track_caller]
    fn assert_close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs(), "{found}, not {wanted}");
    }

    /// Hits of equal weight have the exact Poisson interval.
    #[test]
    fn equal_weights_have_the_exact_interval() {
        for count in [0_u64, 1, 7, 40] {
            let mut all = vec![hit(1e-6); count as usize];
            all.extend([MISS; 5]);
            let estimate = episodes(&all).loss_per_frame(1_000, 1e-6, 0.95);
            let exact = poisson(count, 0.95);
            assert_close(estimate.value, count as f64 * 1e-9);
            assert_close(estimate.interval.low, exact.low * 1e-9);
            assert_close(estimate.interval.high, exact.high * 1e-9);
        }
    }

    #[test]
    fn many_hits_have_the_normal_interval() {
        let estimate = episodes(&vec![hit(2.0); 10_000]).loss_per_frame(1_000_000, 1.0, 0.95);
        assert_close(estimate.value, 0.02);
        assert_close(estimate.relative_error(), 0.01);
        assert!((estimate.interval.high / 0.02 - 1.019_6).abs() < 1e-4, "{estimate:?}");
    }

    #[test]
    fn forced_episodes_are_divided_by_clean_interval_and_length() {
        let long = Episode { frames: 50, ..hit(0.5) };
        let short = Episode { frames: 10, ..MISS };
        let estimate = episodes(&[long, short, short, short]).loss_per_frame_forced(0.01, 1.0, 0.9).unwrap();
        assert_close(estimate.value, (0.5 / 4.0) / (100.0 + (0.5 * 50.0 + 30.0) / 4.0));
        assert!(estimate.interval.contains(estimate.value));
        assert_eq!(episodes(&[long]).loss_per_frame_forced(0.01, 1.0, 0.9), None);
    }

    #[test]
    fn a_mean_weight_other_than_one_is_detected() {
        let right: Vec<_> = (0..1_000).map(|i| hit(if i % 2 == 0 { 0.5 } else { 1.5 })).collect();
        let (mean, off) = episodes(&right).mean_weight().unwrap();
        assert!((mean - 1.0).abs() < 1e-12 && off.abs() < 1e-9);
        let wrong: Vec<_> = (0..1_000).map(|i| hit(if i % 2 == 0 { 0.5 } else { 1.0 })).collect();
        let (mean, off) = episodes(&wrong).mean_weight().unwrap();
        assert!((mean - 0.75).abs() < 1e-12 && off < -30.0, "{off}");
        assert_eq!(episodes(&[MISS]).mean_weight(), None);
    }

    #[test]
    fn strata_are_weighted_by_their_fractions() {
        let part = |value, half| Estimate {
            value,
            deviation: half / 2.0,
            interval: Interval { low: value - half, high: value + half },
        };
        let sum = Estimate::sum(&[(0.5, part(2.0, 0.6)), (0.5, part(4.0, 0.8))]);
        assert_close(sum.value, 3.0);
        assert_close(sum.interval.high, 3.5);
        assert_close(sum.interval.low, 2.5);
        assert_close(sum.deviation, 0.25);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        /// Any split over threads gives the same counts, and the interval contains the estimate.
        #[test]
        fn parts_merge_to_the_whole(weights in prop::collection::vec(0.0..5.0_f64, 2..80), cut in 0_usize..80) {
            let all: Vec<_> = weights.iter().map(|w| if *w < 2.0 { MISS } else { hit(*w) }).collect();
            let cut = cut.min(all.len());
            let mut merged = episodes(&all[..cut]);
            merged.merge(&episodes(&all[cut..]));
            let whole = episodes(&all);
            prop_assert_eq!((merged.count(), merged.hits()), (whole.count(), whole.hits()));
            for episodes in [merged, whole] {
                let estimate = episodes.loss_per_frame(100, 5.0, 0.95);
                prop_assert!(estimate.interval.contains(estimate.value), "{:?}", estimate);
                prop_assert!(episodes.effective_hits() <= episodes.hits() as f64 * (1.0 + 1e-12));
                let begun = episodes.loss_per_frame_forced(0.1, 5.0, 0.95).unwrap();
                prop_assert!(begun.interval.contains(begun.value), "{:?}", begun);
            }
        }
    }
}
