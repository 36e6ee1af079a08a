//! Losses of which the rare ones are made frequent and weighed for it, so that what survives two or three losses in a row can
//! be counted without waiting for it.
//!
//! Whoever protects a link loses a frame only if the frame is lost and then its copies too. The copies are few and known as such,
//! so raising *their* loss is enough; the losses of all other frames keep their rate and their weight of one. (Raising every
//! frame behind a loss would be unbiased as well, but the weight of a hundred clean frames swamps what it is about.)

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::gaps::{Gaps, uniform};
use crate::{BadImpairment, FrameFacts, FrameKind, probability};

/// Independent losses of frames that come in *episodes*. An episode begins with a loss and ends when no loss has followed for a
/// while, or when it is [settled](Self::settle). Within it the frames that a recovery depends on are lost more often than they
/// should be; [`weight`](Self::weight) says by how much what has happened since its begin is less likely in truth.
///
/// What is counted within an episode counts times the weight *at that moment*: its expectation is then that of the untilted
/// lane, whatever is raised and by how much (the weight is a martingale, the count a stopping time). It is only required
/// that an episode does not end while something is still to come of its losses.
#[derive(Clone, Debug)]
pub struct TiltedLoss {
    tilting: Tilting,
    copies: Factor,
    control: Factor,
    /// When the next loss of a frame that is not raised comes, at the true rate.
    natural: Gaps,
    /// Frames to the next begin, if begins are set.
    left: u64,
    episode: Option<Episode>,
    settled: VecDeque<Settled>,
    rng: Xoshiro256PlusPlus,
}

/// How losses are tilted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tilting {
    /// The true probability of each loss.
    pub loss: f64,
    /// The probability of losing a frame that was sent before, within an episode.
    pub raised_copies: f64,
    /// The same for frames of kind [`FrameKind::Other`]: link control among them.
    pub raised_control: f64,
    /// The share of episodes that are left untilted. Whatever the tilt makes unlikely is then still seen, and no weight
    /// exceeds the inverse of this share.
    pub plain_share: f64,
    /// Frames in an episode that may be raised; what follows them is not.
    pub raised_max: u32,
    /// Frames without a loss that end an episode.
    pub quiet_frames: u64,
    /// When episodes begin.
    pub begin: Begin,
}

/// When episodes begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// With the first loss that comes by itself, at the true rate.
    Natural,
    /// Between `after` and twice `after` frames that are not drawn but pass, control frames not counted, which begin nothing: what the lane does for most of its time is not
    /// worth simulating. The begin is spread so that it does not fall in step with a periodic traffic.
    Set {
        /// At least one.
        after: u64,
    },
    /// Never by themselves, only by [`TiltedLoss::join`]; frames between episodes pass.
    Joined,
}

/// An episode that is over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settled {
    /// How likely all of it was in truth, against how likely it was made.
    pub weight: f64,
    /// Frames behind the one that began it which were not subject to a raise.
    pub frames: u64,
    /// All frames lost, the one that began it included.
    pub losses: u64,
}

#[derive(Clone, Debug)]
struct Episode {
    /// Draws with the raised probabilities, rather than only being weighed as if it might have.
    is_tilted: bool,
    /// The logarithm of true over raised probability, of all draws that may be raised.
    ln_ratio: f64,
    raised_left: u32,
    quiet: u64,
    frames: u64,
    losses: u64,
}

/// A raised probability, and what either outcome adds to the logarithm of true over raised.
#[derive(Clone, Copy, Debug)]
struct Factor {
    raised: f64,
    ln_lost: f64,
    ln_kept: f64,
}

impl TiltedLoss {
    /// Losses tilted as said, with the luck of `seed`.
    pub fn new(tilting: Tilting, seed: u64) -> Result<Self, BadImpairment> {
        let loss = probability("loss probability", tilting.loss)?;
        probability("share of untilted episodes", tilting.plain_share)?;
        if tilting.quiet_frames == 0 || tilting.begin == (Begin::Set { after: 0 }) {
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

    /// What something counts that happens now: 1 between episodes.
    pub fn weight(&self) -> f64 {
        self.episode.as_ref().map_or(1.0, |episode| episode.weight(self.tilting.plain_share))
    }

    /// Whether an episode is open.
    pub fn is_in_episode(&self) -> bool {
        self.episode.is_some()
    }

    /// An episode has begun on another lane of the same link: frames are raised here too until both are settled, and the weights of
    /// both lanes multiply. Nothing, if one is open here.
    pub fn join(&mut self) {
        if self.episode.is_none() {
            self.open(0);
        }
    }

    /// Ends the episode, if there is one. The host knows that nothing more comes of its losses.
    pub fn settle(&mut self) {
        if let Some(episode) = self.episode.take() {
            let weight = episode.weight(self.tilting.plain_share);
            self.settled.push_back(Settled { weight, frames: episode.frames, losses: episode.losses });
            self.left = self.draw_begin();
        }
    }

    /// The episodes that have ended, in their order, until there are none.
    pub fn poll_settled(&mut self) -> Option<Settled> {
        self.settled.pop_front()
    }

    /// The tilt.
    pub fn tilting(&self) -> &Tilting {
        &self.tilting
    }

    fn between(&mut self, frame: &FrameFacts) -> bool {
        let begins = match self.tilting.begin {
            Begin::Natural => self.natural.hit(1, &mut self.rng),
            // What nobody would miss begins nothing.
            Begin::Set { .. } if frame.kind == FrameKind::Other => false,
            Begin::Set { .. } => {
                self.left -= 1;
                self.left == 0
            }
            Begin::Joined => false,
        };
        if begins {
            self.open(1);
        }
        begins
    }

    fn open(&mut self, losses: u64) {
        // `uniform` is never 0: a share of 0 stays 0.
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
            Begin::Natural | Begin::Joined => 0,
            // (0, 1] times n, rounded up, is a number from 1 to n.
            Begin::Set { after } => {
                after.saturating_add(libm::ceil(uniform(&mut self.rng) * after as f64) as u64)
            }
        }
    }
}

impl Episode {
    /// True over drawn probability: an episode is tilted with a chance of `1 - plain_share`, so what it was drawn from is
    /// the mixture of both.
    fn weight(&self, plain_share: f64) -> f64 {
        1.0 / (plain_share + (1.0 - plain_share) * libm::exp(-self.ln_ratio))
    }
}

impl Factor {
    fn new(loss: f64, raised: f64) -> Result<Self, BadImpairment> {
        // Something that can happen in truth must not be made impossible.
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

    const TILTING: Tilting = Tilting {
        loss: 0.01,
        raised_copies: 0.5,
        raised_control: 0.2,
        plain_share: 0.1,
        raised_max: 8,
        quiet_frames: 20,
        begin: Begin::Set { after: 3 },
    };

    const FRESH: FrameFacts =
        FrameFacts { frame_bytes: 64, ip_id: None, kind: FrameKind::Data, psn: None, copy: 0, link: None };
    const COPY: FrameFacts = FrameFacts { copy: 1, ..FRESH };
    const CONTROL: FrameFacts = FrameFacts { kind: FrameKind::Other, ..FRESH };

    /// Drives a lane to the begin of its next episode; how many frames passed before the one that is lost.
    fn begin(lane: &mut TiltedLoss) -> u64 {
        assert!(!lane.is_in_episode());
        (0..1_000_000).find(|_| lane.corrupts(&FRESH)).unwrap()
    }

    /// The true chance of every pattern of two copies and a control frame comes out of the weights, whatever the tilt.
    #[test]
    fn weighed_frequencies_are_the_true_ones() {
        for plain_share in [0.0, 0.1, 1.0] {
            let mut lane = TiltedLoss::new(Tilting { plain_share, ..TILTING }, 5).unwrap();
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
                lane.poll_settled().unwrap();
            }
            for (pattern, (sum, square)) in sums.iter().zip(squares).enumerate() {
                let losses = (pattern as u32).count_ones() as i32;
                let truth = 0.01_f64.powi(losses) * 0.99_f64.powi(3 - losses);
                // Untilted, three losses in a row are not seen at all: one in a million. Their spread is that of one hit.
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
            TiltedLoss::new(Tilting { raised_copies: 0.95, raised_max: 1_000, ..TILTING }, 6).unwrap();
        let mut heaviest: f64 = 0.0;
        for _ in 0..20_000 {
            lane.corrupts(&COPY);
            heaviest = heaviest.max(lane.weight());
            assert!(lane.weight() <= 1.0 / TILTING.plain_share);
            while lane.poll_settled().is_some() {}
        }
        assert!(heaviest > 5.0, "{heaviest}");
    }

    #[test]
    fn frames_that_are_not_raised_keep_their_rate_and_weigh_nothing() {
        let mut lane = TiltedLoss::new(Tilting { quiet_frames: u64::MAX, ..TILTING }, 7).unwrap();
        begin(&mut lane);
        let lost = (0..1_000_000).filter(|_| lane.corrupts(&FRESH)).count() as f64;
        assert!((lost - 10_000.0).abs() < 4.0 * 9_900_f64.sqrt(), "{lost}");
        assert!((lane.weight() - 1.0).abs() < 1e-12);
        lane.settle();
        let settled = lane.poll_settled().unwrap();
        assert_eq!((settled.frames, settled.losses), (1_000_000, lost as u64 + 1));
        assert!((settled.weight - 1.0).abs() < 1e-12);
        assert_eq!(lane.poll_settled(), None);
    }

    #[test]
    fn raises_are_bounded_in_an_episode() {
        let tilting = Tilting { raised_max: 3, quiet_frames: u64::MAX, plain_share: 0.0, ..TILTING };
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
    fn set_begins_are_spread_and_natural_ones_come_at_the_true_rate() {
        let mut lane = TiltedLoss::new(Tilting { begin: Begin::Set { after: 4 }, ..TILTING }, 9).unwrap();
        let mut seen = [0; 9];
        for _ in 0..4_000 {
            seen[begin(&mut lane) as usize + 1] += 1;
            lane.settle();
        }
        assert!(
            seen[..5].iter().all(|count| *count == 0) && seen[5..].iter().all(|count| *count > 800),
            "{seen:?}"
        );

        let mut lane = TiltedLoss::new(Tilting { begin: Begin::Natural, ..TILTING }, 10).unwrap();
        let mut passed = 0;
        for _ in 0..10_000 {
            passed += begin(&mut lane) + 1;
            lane.settle();
        }
        assert!((passed as f64 / 1e6 - 1.0).abs() < 0.04, "{passed}");
    }

    #[test]
    fn control_frames_begin_nothing_on_purpose() {
        let mut lane = TiltedLoss::new(TILTING, 14).unwrap();
        assert!((0..1_000).all(|_| !lane.corrupts(&CONTROL)));
        assert!(begin(&mut lane) < 6);
    }

    /// Two lanes of one link: what depends on a copy there and a control frame back has the true chance by the product.
    #[test]
    fn lanes_that_join_multiply_their_weights() {
        let mut there = TiltedLoss::new(TILTING, 12).unwrap();
        let mut back = TiltedLoss::new(Tilting { begin: Begin::Joined, ..TILTING }, 13).unwrap();
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
            let ends = [there.poll_settled().unwrap().losses, back.poll_settled().unwrap().losses];
            assert_eq!((there.poll_settled(), back.poll_settled()), (None, None));
            assert!(ends[0] >= 1 && ends[1] <= 1);
        }
        assert!((sum / f64::from(rounds) / 1e-4 - 1.0).abs() < 0.08, "{sum}");
    }

    #[test]
    fn an_episode_ends_after_quiet_that_every_loss_begins_anew() {
        let mut lane =
            TiltedLoss::new(Tilting { raised_copies: 0.999_999, plain_share: 0.0, ..TILTING }, 11).unwrap();
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
    fn tilts_that_hide_something_are_refused() {
        let refused = |tilting| TiltedLoss::new(tilting, 0).unwrap_err().to_string();
        assert!(refused(Tilting { raised_copies: 1.0, ..TILTING }).contains("below 1"));
        assert!(refused(Tilting { raised_control: 0.0, ..TILTING }).contains("above 0"));
        assert!(refused(Tilting { raised_copies: 1.5, ..TILTING }).contains("raised loss of copies 1.5"));
        assert!(refused(Tilting { plain_share: -0.1, ..TILTING }).contains("untilted"));
        assert!(refused(Tilting { quiet_frames: 0, ..TILTING }).contains("at least one frame"));
        assert!(
            refused(Tilting { begin: Begin::Set { after: 0 }, ..TILTING }).contains("at least one frame")
        );
    }
}
