//! Burst losses: the channel of Gilbert (1960) and Elliott (1963).

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::gaps::{Gaps, draw, uniform};
use crate::{BadImpairment, FrameFacts, probability};

/// A channel with a good and a bad state. Each frame is lost with the probability of the current state. The
/// state may change after each frame.
///
/// The first state is drawn from the stationary distribution, so that the mean holds from the first frame on.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    good: State,
    bad: State,
    in_bad: bool,
    /// Frames until the state changes.
    left: u64,
    rng: Xoshiro256PlusPlus,
}

#[derive(Clone, Debug)]
struct State {
    losses: Gaps,
    /// ln(1 − probability to leave the state after a frame).
    ln_stay: f64,
}

impl GilbertElliott {
    /// Creates a channel from its four probabilities; `seed` is the seed of its random stream.
    pub fn new(channel: Channel, seed: u64) -> Result<Self, BadImpairment> {
        let to_bad = probability("probability good to bad", channel.good_to_bad)?;
        let to_good = probability("probability bad to good", channel.bad_to_good)?;
        let loss_good = probability("loss probability in the good state", channel.loss_good)?;
        let loss_bad = probability("loss probability in the bad state", channel.loss_bad)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let good = State { losses: Gaps::new(loss_good, &mut rng), ln_stay: libm::log1p(-to_bad) };
        let bad = State { losses: Gaps::new(loss_bad, &mut rng), ln_stay: libm::log1p(-to_good) };
        // A channel that never changes its state is good. `uniform` is never 0, so a fraction of 0 stays 0.
        let share_bad = if to_bad == 0.0 { 0.0 } else { to_bad / (to_bad + to_good) };
        let in_bad = uniform(&mut rng) <= share_bad;
        let mut made = Self { good, bad, in_bad, left: 0, rng };
        made.left = made.draw_stay();
        Ok(made)
    }

    /// Creates Gilbert's channel, which loses all frames in the bad state and none in the good one, from
    /// measurable values: the loss ratio and the mean number of consecutive losses.
    pub fn from_bursts(mean_loss: f64, mean_burst_frames: f64, seed: u64) -> Result<Self, BadImpairment> {
        let loss = probability("mean loss", mean_loss)?;
        if !(1.0..f64::INFINITY).contains(&mean_burst_frames) {
            return Err(BadImpairment::Burst(mean_burst_frames));
        }
        let bad_to_good = 1.0 / mean_burst_frames;
        // Stationary fraction of the bad state p / (p + r) = loss, solved for p.
        let good_to_bad = bad_to_good * loss / (1.0 - loss);
        if good_to_bad > 1.0 {
            return Err(BadImpairment::LossOfBursts { loss, burst_frames: mean_burst_frames });
        }
        Self::new(Channel { good_to_bad, bad_to_good, loss_good: 0.0, loss_bad: 1.0 }, seed)
    }

    /// Whether this frame is lost.
    #[inline]
    pub fn corrupts(&mut self, _frame: &FrameFacts) -> bool {
        let state = if self.in_bad { &mut self.bad } else { &mut self.good };
        let lost = state.losses.hit(1, &mut self.rng);
        self.left -= 1;
        if self.left == 0 {
            self.in_bad = !self.in_bad;
            self.left = self.draw_stay();
        }
        lost
    }

    /// Draws the number of consecutive frames in the current state: at least one.
    #[cold]
    fn draw_stay(&mut self) -> u64 {
        let state = if self.in_bad { &self.bad } else { &self.good };
        draw(state.ln_stay, &mut self.rng).saturating_add(1)
    }
}

/// The four probabilities of a [`GilbertElliott`] channel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Channel {
    /// Probability to change to the bad state after a frame in the good state.
    pub good_to_bad: f64,
    /// Probability to change to the good state after a frame in the bad state.
    pub bad_to_good: f64,
    /// Probability to lose a frame in the good state.
    pub loss_good: f64,
    /// Probability to lose a frame in the bad state.
    pub loss_bad: f64,
}
