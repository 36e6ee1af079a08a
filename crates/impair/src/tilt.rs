//! Importance sampling of losses, so that rare events (two or three losses in a row) can be counted.
//!
//! A protected link loses a frame only if the frame and all its copies are lost. Copies are few and known, so
//! it is enough to raise *their* loss; all other frames keep their loss rate and a weight of one. (Raising
//! the loss of every frame after a loss would be unbiased too, but the weights of a hundred clean frames
//! would dominate the variance.)

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::gaps::{Gaps, uniform};
use crate::{BadImpairment, FrameFacts, FrameKind, probability};

/// Importance sampling of independent frame losses, in *episodes*. An episode starts with a loss and ends after a number of frames
/// without loss, or with [`settle`](Self::settle). Within it, frames that a recovery depends on are lost with
/// a raised probability; [`weight`](Self::weight) is the true probability of the events since its start
/// relative to the raised one.
///
/// An event within an episode counts with the weight *at its time*: its expectation is then that of the
/// unmodified lane, whatever is raised (the weight is a martingale, the count a stopping time). The only
/// condition is that an episode does not end while its losses can still have effects.
#[derive(Clone, Debug)]
pub struct TiltedLoss {
    tilting: TiltSettings,
    copies: Factor,
    control: Factor,
    /// Next loss of a frame that is not raised, at the true rate.
    natural: Gaps,
    /// Frames until the next forced start.
    left: u64,
    episode: Option<Episode>,
    settled: VecDeque<FinishedEpisode>,
    rng: Xoshiro256PlusPlus,
}

/// Parameters of the importance sampling.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TiltSettings {
    /// True loss probability.
    pub loss: f64,
    /// Raised loss probability of retransmitted frames within an episode.
    pub raised_copies: f64,
    /// Raised loss probability of frames of kind [`FrameKind::Other`], which includes link control.
    pub raised_control: f64,
    /// Fraction of episodes without raised probabilities. It limits weights to its inverse, and outcomes that
    /// the tilt makes unlikely still occur.
    pub plain_share: f64,
    /// Most raised frames per episode.
    pub raised_max: u32,
    /// Frames without a loss that end an episode.
    pub quiet_frames: u64,
    /// When episodes start.
    pub begin: EpisodeStart,
}

/// When episodes start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpisodeStart {
    /// With a loss at the true rate.
    Natural,
    /// After `after` to 2·`after` frames, which pass without a draw; control frames do not count. This skips
    /// the time between episodes. The start is random, so that it is not synchronised with periodic traffic.
    Forced {
        /// At least one.
        after: u64,
    },
    /// Only by [`TiltedLoss::join`]; frames between episodes pass.
    Joined,
}

/// A finished episode.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FinishedEpisode {
    /// True probability of the episode relative to the drawn one.
    pub weight: f64,
    /// Frames after the first one whose loss was not raised.
    pub frames: u64,
    /// Lost frames, including the first one.
    pub losses: u64,
}

#[derive(Clone, Debug)]
struct Episode {
    /// Whether it draws with the raised probabilities.
    is_tilted: bool,
    /// Logarithm of true over raised probability of all draws that may be raised.
    ln_ratio: f64,
    raised_left: u32,
    quiet: u64,
    frames: u64,
    losses: u64,
}

/// A raised probability, and the change of the logarithm of true over raised by each outcome.
#[derive(Clone, Copy, Debug)]
struct Factor {
    raised: f64,
    ln_lost: f64,
    ln_kept: f64,
}

impl TiltedLoss {
    /// Creates tilted losses; `seed` is the seed of the random stream.
    pub fn new(tilting: TiltSettings, seed: u64) -> Result<Self, BadImpairment> {
        let loss = probability("loss probability", tilting.loss)?;
        probability("share of untilted episodes", tilting.plain_share)?;
        if tilting.quiet_frames == 0 || tilting.begin == (EpisodeStart::Forced { after: 0 }) {
            return Err(BadImpairment::NoEpisode);
        }
        let copies = Factor::new(loss, probability("raised loss of copies", tilting.raised_copies)?)?;
        let control =
            Factor::new(loss, probability("raised loss of control frames", tilting.raised_control)?)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let natural = Gaps::new(loss, &mut rng);
        let settled = VecDeque::new();
        let mut made = Self { tilting, copies, control, natural, left: 0, episode: None, settled, rng };
        made.left = made.draw_begin();
        Ok(made)
    }

    /// Whether this frame is lost.
    #[inline]
    pub fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        if self.episode.is_some() { self.within(frame) } else { self.between(frame) }
    }

    /// Weight of an event at this time: 1 between episodes.
    pub fn weight(&self) -> f64 {
        self.episode.as_ref().map_or(1.0, |episode| episode.weight(self.tilting.plain_share))
    }

    /// Whether an episode is open.
    pub fn is_in_episode(&self) -> bool {
        self.episode.is_some()
    }

    /// Opens an episode because one started on another lane of the same link: losses are raised here too, and
    /// the weights of both lanes multiply. No effect if an episode is open.
    pub fn join(&mut self) {
        if self.episode.is_none() {
            self.open(0);
        }
    }

    /// Ends the open episode. The caller knows that its losses have no further effects.
    pub fn settle(&mut self) {
        if let Some(episode) = self.episode.take() {
            let weight = episode.weight(self.tilting.plain_share);
            self.settled.push_back(FinishedEpisode {
                weight,
                frames: episode.frames,
                losses: episode.losses,
            });
            self.left = self.draw_begin();
        }
    }

    /// The next finished episode, in order.
    pub fn poll_finished(&mut self) -> Option<FinishedEpisode> {
        self.settled.pop_front()
    }

    /// The parameters.
    pub fn tilting(&self) -> &TiltSettings {
        &self.tilting
    }

    fn between(&mut self, frame: &FrameFacts) -> bool {
        let begins = match self.tilting.begin {
            EpisodeStart::Natural => self.natural.hit(1, &mut self.rng),
            // Control frames start no episode.
            EpisodeStart::Forced { .. } if frame.kind == FrameKind::Other => false,
            EpisodeStart::Forced { .. } => {
                self.left -= 1;
                self.left == 0
            }
            EpisodeStart::Joined => false,
        };
        if begins {
            self.open(1);
        }
        begins
    }

    fn open(&mut self, losses: u64) {
        // `uniform` is never 0, so a fraction of 0 stays 0.
        let is_tilted = uniform(&mut self.rng) > self.tilting.plain_share;
        let raised_left = self.tilting.raised_max;
        self.episode = Some(Episode { is_tilted, ln_ratio: 0.0, raised_left, quiet: 0, frames: 0, losses });
    }

    fn within(&mut self, frame: &FrameFacts) -> bool {
        let factor = match frame {
            FrameFacts { kind: FrameKind::Other, copy: 0, .. } => Some(self.control),
            FrameFacts { copy: 1.., .. } => Some(self.copies),
            _ => None,
        };
        let episode = self.episode.as_mut().expect("called within an episode only");
        let lost = match factor {
            Some(factor) if episode.raised_left > 0 => {
                episode.raised_left -= 1;
                let chance = if episode.is_tilted { factor.raised } else { self.tilting.loss };
                let lost = uniform(&mut self.rng) <= chance;
                episode.ln_ratio += if lost { factor.ln_lost } else { factor.ln_kept };
                lost
            }
            _ => self.natural.hit(1, &mut self.rng),
        };
        episode.frames += u64::from(factor.is_none());
        episode.losses += u64::from(lost);
        episode.quiet = if lost { 0 } else { episode.quiet + 1 };
        if episode.quiet >= self.tilting.quiet_frames {
            self.settle();
        }
        lost
    }

    fn draw_begin(&mut self) -> u64 {
        match self.tilting.begin {
            EpisodeStart::Natural | EpisodeStart::Joined => 0,
            // (0, 1] times n, rounded up, is a number from 1 to n.
            EpisodeStart::Forced { after } => {
                after.saturating_add(libm::ceil(uniform(&mut self.rng) * after as f64) as u64)
            }
        }
    }
}

impl Episode {
    /// True over drawn probability: an episode is tilted with probability `1 - plain_share`, so it was drawn
    /// from a mixture.
    fn weight(&self, plain_share: f64) -> f64 {
        1.0 / (plain_share + (1.0 - plain_share) * libm::exp(-self.ln_ratio))
    }
}

impl Factor {
    fn new(loss: f64, raised: f64) -> Result<Self, BadImpairment> {
        // A possible outcome must not become impossible.
        if (raised <= 0.0 && loss > 0.0) || (raised >= 1.0 && loss < 1.0) {
            return Err(BadImpairment::Tilt { loss, raised });
        }
        let ln_lost = if raised > 0.0 { libm::log(loss / raised) } else { 0.0 };
        let ln_kept = if raised < 1.0 { libm::log1p(-loss) - libm::log1p(-raised) } else { 0.0 };
        Ok(Self { raised, ln_lost, ln_kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILTING: TiltSettings = TiltSettings {
        loss: 0.01,
        raised_copies: 0.5,
        raised_control: 0.2,
        plain_share: 0.1,
        raised_max: 8,
        quiet_frames: 20,
        begin: EpisodeStart::Forced { after: 3 },
    };

    const FRESH: FrameFacts =
        FrameFacts { frame_bytes: 64, ip_id: None, kind: FrameKind::Data, psn: None, copy: 0, link: None };
    const COPY: FrameFacts = FrameFacts { copy: 1, ..FRESH };
    const CONTROL: FrameFacts = FrameFacts { kind: FrameKind::Other, ..FRESH };

    /// Sends frames until the next episode starts; returns the number of frames before the lost one.
    fn begin(lane: &mut TiltedLoss) -> u64 {
        assert!(!lane.is_in_episode());
        (0..1_000_000).find(|_| lane.corrupts(&FRESH)).unwrap()
    }

    /// The weights give the true probability of every loss pattern of two copies and a control frame, for any
    /// tilt.
    #[test]
    fn weighted_frequencies_equal_true_probabilities() {
        for plain_share in [0.0, 0.1, 1.0] {
            let mut lane = TiltedLoss::new(TiltSettings { plain_share, ..TILTING }, 5).unwrap();
            let rounds = 200_000;
            let (mut sums, mut squares) = ([0.0; 8], [0.0; 8]);
            for _ in 0..rounds {
                begin(&mut lane);
                let pattern = [COPY, COPY, CONTROL]
                    .iter()
                    .fold(0, |pattern, frame| pattern * 2 + usize::from(lane.corrupts(frame)));
                sums[pattern] += lane.weight();
                squares[pattern] += lane.weight() * lane.weight();
                lane.settle();
                lane.poll_finished().unwrap();
            }
            for (pattern, (sum, square)) in sums.iter().zip(squares).enumerate() {
                let losses = (pattern as u32).count_ones() as i32;
                let truth = 0.01_f64.powi(losses) * 0.99_f64.powi(3 - losses);
                // Untilted, three losses in a row do not occur (one in a million). Their spread is that of
                // one hit.
                let sigma = if plain_share < 0.5 { square.sqrt() } else { square.max(1.0).sqrt() };
                assert!(
                    (sum - truth * f64::from(rounds)).abs() < 4.0 * sigma,
                    "{pattern:03b} {plain_share}: {sum}"
                );
                if plain_share < 0.5 {
                    assert!(
                        *sum > 0.0 && (sum / f64::from(rounds) / truth - 1.0).abs() < 0.1,
                        "{pattern:03b}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_weight_exceeds_the_inverse_of_the_plain_share() {
        let mut lane =
            TiltedLoss::new(TiltSettings { raised_copies: 0.95, raised_max: 1_000, ..TILTING }, 6).unwrap();
        let mut heaviest: f64 = 0.0;
        for _ in 0..20_000 {
            lane.corrupts(&COPY);
            heaviest = heaviest.max(lane.weight());
            assert!(lane.weight() <= 1.0 / TILTING.plain_share);
            while lane.poll_finished().is_some() {}
        }
        assert!(heaviest > 5.0, "{heaviest}");
    }

    #[test]
    fn frames_that_are_not_raised_keep_their_rate_and_a_weight_of_one() {
        let mut lane = TiltedLoss::new(TiltSettings { quiet_frames: u64::MAX, ..TILTING }, 7).unwrap();
        begin(&mut lane);
        let lost = (0..1_000_000).filter(|_| lane.corrupts(&FRESH)).count() as f64;
        assert!((lost - 10_000.0).abs() < 4.0 * 9_900_f64.sqrt(), "{lost}");
        assert!((lane.weight() - 1.0).abs() < 1e-12);
        lane.settle();
        let settled = lane.poll_finished().unwrap();
        assert_eq!((settled.frames, settled.losses), (1_000_000, lost as u64 + 1));
        assert!((settled.weight - 1.0).abs() < 1e-12);
        assert_eq!(lane.poll_finished(), None);
    }

    #[test]
    fn raises_are_bounded_in_an_episode() {
        let tilting = TiltSettings { raised_max: 3, quiet_frames: u64::MAX, plain_share: 0.0, ..TILTING };
        let mut lane = TiltedLoss::new(tilting, 8).unwrap();
        begin(&mut lane);
        for _ in 0..3 {
            lane.corrupts(&COPY);
        }
        let weight = lane.weight();
        let lost = (0..100_000).filter(|_| lane.corrupts(&COPY)).count();
        assert!(lost < 1_500, "{lost} of 100 000 at one in a hundred");
        assert!((lane.weight() - weight).abs() < 1e-12);
    }

    #[test]
    fn forced_starts_are_spread_and_natural_ones_occur_at_the_true_rate() {
        let mut lane =
            TiltedLoss::new(TiltSettings { begin: EpisodeStart::Forced { after: 4 }, ..TILTING }, 9).unwrap();
        let mut seen = [0; 9];
        for _ in 0..4_000 {
            seen[begin(&mut lane) as usize + 1] += 1;
            lane.settle();
        }
        assert!(
            seen[..5].iter().all(|count| *count == 0) && seen[5..].iter().all(|count| *count > 800),
            "{seen:?}"
        );

        let mut lane = TiltedLoss::new(TiltSettings { begin: EpisodeStart::Natural, ..TILTING }, 10).unwrap();
        let mut passed = 0;
        for _ in 0..10_000 {
            passed += begin(&mut lane) + 1;
            lane.settle();
        }
        assert!((passed as f64 / 1e6 - 1.0).abs() < 0.04, "{passed}");
    }

    #[test]
    fn control_frames_start_no_forced_episode() {
        let mut lane = TiltedLoss::new(TILTING, 14).unwrap();
        assert!((0..1_000).all(|_| !lane.corrupts(&CONTROL)));
        assert!(begin(&mut lane) < 6);
    }

    /// Two lanes of one link: the product of the weights gives the true probability of an event on both
    /// lanes.
    #[test]
    fn lanes_that_join_multiply_their_weights() {
        let mut there = TiltedLoss::new(TILTING, 12).unwrap();
        let mut back = TiltedLoss::new(TiltSettings { begin: EpisodeStart::Joined, ..TILTING }, 13).unwrap();
        let (rounds, mut sum) = (50_000, 0.0);
        for _ in 0..rounds {
            assert!(!back.corrupts(&CONTROL), "nothing happens between episodes");
            begin(&mut there);
            back.join();
            back.join();
            let both = there.corrupts(&COPY) & back.corrupts(&CONTROL);
            sum += f64::from(both) * there.weight() * back.weight();
            there.settle();
            back.settle();
            let ends = [there.poll_finished().unwrap().losses, back.poll_finished().unwrap().losses];
            assert_eq!((there.poll_finished(), back.poll_finished()), (None, None));
            assert!(ends[0] >= 1 && ends[1] <= 1);
        }
        assert!((sum / f64::from(rounds) / 1e-4 - 1.0).abs() < 0.08, "{sum}");
    }

    #[test]
    fn an_episode_ends_after_quiet_frames_and_each_loss_restarts_the_count() {
        let mut lane =
            TiltedLoss::new(TiltSettings { raised_copies: 0.999_999, plain_share: 0.0, ..TILTING }, 11)
                .unwrap();
        begin(&mut lane);
        let mut quiet = 0;
        for step in 0.. {
            let lost = if step == 10 { lane.corrupts(&COPY) } else { lane.corrupts(&FRESH) };
            quiet = if lost { 0 } else { quiet + 1 };
            assert_eq!(lane.is_in_episode(), quiet < 20);
            if !lane.is_in_episode() {
                assert!(step >= 30, "{step}");
                break;
            }
        }
    }

    #[test]
    fn tilts_that_exclude_outcomes_are_refused() {
        let refused = |tilting| TiltedLoss::new(tilting, 0).unwrap_err().to_string();
        assert!(refused(TiltSettings { raised_copies: 1.0, ..TILTING }).contains("below 1"));
        assert!(refused(TiltSettings { raised_control: 0.0, ..TILTING }).contains("above 0"));
        assert!(
            refused(TiltSettings { raised_copies: 1.5, ..TILTING }).contains("raised loss of copies 1.5")
        );
        assert!(refused(TiltSettings { plain_share: -0.1, ..TILTING }).contains("untilted"));
        assert!(refused(TiltSettings { quiet_frames: 0, ..TILTING }).contains("at least one frame"));
        assert!(
            refused(TiltSettings { begin: EpisodeStart::Forced { after: 0 }, ..TILTING })
                .contains("at least one frame")
        );
    }
}
