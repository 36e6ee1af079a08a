//! Errors without memory: of single bits, and of whole frames.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::gaps::Gaps;
use crate::{BadImpairment, FrameFacts, probability};

/// Independent bit errors: a frame of n bytes is corrupt with probability 1 − (1 − α)^8n.
///
/// The bits are those from MAC header to FCS; preamble and gap carry nothing that an error could harm.
#[derive(Clone, Debug)]
pub struct BitErrors {
    gaps: Gaps,
    rng: Xoshiro256PlusPlus,
}

impl BitErrors {
    /// Errors at the given rate per bit, with the luck of `seed`.
    pub fn new(bit_error_rate: f64, seed: u64) -> Result<Self, BadImpairment> {
        let alpha = probability("bit error rate", bit_error_rate)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Ok(Self { gaps: Gaps::new(alpha, &mut rng), rng })
    }

    /// Whether an error falls into this frame.
    #[inline]
    pub fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        self.gaps.hit(u64::from(frame.frame_bytes) * 8, &mut self.rng)
    }
}

/// Independent losses of frames, whatever their length: what many papers mean by a loss rate.
#[derive(Clone, Debug)]
pub struct FrameLoss {
    gaps: Gaps,
    rng: Xoshiro256PlusPlus,
}

impl FrameLoss {
    /// Losses with the given probability per frame, with the luck of `seed`.
    pub fn new(loss: f64, seed: u64) -> Result<Self, BadImpairment> {
        let loss = probability("loss probability", loss)?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Ok(Self { gaps: Gaps::new(loss, &mut rng), rng })
    }

    /// Whether this frame is lost.
    #[inline]
    pub fn corrupts(&mut self, _frame: &FrameFacts) -> bool {
        self.gaps.hit(1, &mut self.rng)
    }
}
