//! What it costs that links corrupt.

use wiremend_fabric::tiers::Tiers;

use super::state::Corrupting;
use crate::effect::Effect;

/// How much links carry.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// The part of their rate.
    pub part: f64,
    /// Bytes of a frame on the wire, with preamble and gap.
    pub frame_bytes: f64,
}

/// Full frames of 1518 bytes, and links that are used to three tenths.
impl Default for Load {
    fn default() -> Self {
        Self { part: 0.3, frame_bytes: 1538.0 }
    }
}

/// What it costs that some links corrupt.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// The sum of their loss rates.
    pub penalty: f64,
    /// Frames that are lost every second.
    pub frames_per_s: f64,
    /// The same if all of them were protected.
    pub protected_penalty: f64,
    /// Frames that are then lost every second.
    pub protected_frames_per_s: f64,
    /// What protection takes of their capacity, in bit/s.
    pub protected_bps: f64,
}

impl Cost {
    /// Of these links.
    pub fn of<'a>(
        tiers: &Tiers,
        corrupting: impl Iterator<Item = &'a Corrupting>,
        effect: &Effect,
        load: Load,
    ) -> Self {
        let mut cost = Self::default();
        for Corrupting { link, loss } in corrupting {
            let bps = tiers.link(*link).rate.bits_per_s() as f64;
            let frames = bps * load.part / (8.0 * load.frame_bytes);
            let left = effect.of(*loss);
            cost.penalty += loss;
            cost.frames_per_s += frames * loss;
            cost.protected_penalty += left.left;
            cost.protected_frames_per_s += frames * left.left;
            cost.protected_bps += bps * (1.0 - left.speed);
        }
        cost
    }
}
