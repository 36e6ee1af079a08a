//! Memoryless errors of single bits and of whole frames.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::gaps::Gaps;
use crate::{BadImpairment, FrameFacts, probability};

/// Independent bit errors: a frame of n bytes is corrupt with probability 1 − (1 − α)^8n.
///
/// The bits are those from MAC header to FCS; preamble and gap carry no data.
#[derive(Clone, Debug)]
pub struct BitErrors {
    gaps: Gaps,
    rng: Xoshiro256PlusPlus,
}

impl BitErrors {
    /// Creates errors at this rate per bit; `seed` is the seed of the random stream.
    pub fn new(bit_error_rate: f64, seed: u64) -> Result<Self, BadImpairment> {
        let alpha = probability("bit error rate", bit_error_rate)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Ok(Self { gaps: Gaps::new(alpha, &mut rng), rng })
    }

    /// Whether the rate is zero.
    pub(crate) const fn is_zero(&self) -> bool {
        self.gaps.is_zero()
    }

    pub(crate) const fn gaps(&mut self) -> &mut Gaps {
        &mut self.gaps
    }

    /// Whether this frame has a bit error.
    #[inline]
    pub fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        self.gaps.hit(u64::from(frame.frame_bytes) * 8, &mut self.rng)
    }
}

/// Independent losses of frames with the same probability for all lengths: the loss rate of many papers.
#[derive(Clone, Debug)]
pub struct FrameLoss {
    gaps: Gaps,
    rng: Xoshiro256PlusPlus,
}

impl FrameLoss {
    /// Creates losses with this probability per frame; `seed` is the seed of the random stream.
    pub fn new(loss: f64, seed: u64) -> Result<Self, BadImpairment> {
        let loss = probability("loss probability", loss)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Ok(Self { gaps: Gaps::new(loss, &mut rng), rng })
    }

    /// Whether the rate is zero.
    pub(crate) const fn is_zero(&self) -> bool {
        self.gaps.is_zero()
    }

    pub(crate) const fn gaps(&mut self) -> &mut Gaps {
        &mut self.gaps
    }

    /// Whether this frame is lost.
    #[inline]
    pub fn corrupts(&mut self, _frame: &FrameFacts) -> bool {
        self.gaps.hit(1, &mut self.rng)
    }
}
