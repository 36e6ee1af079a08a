//! Cost of corrupting links that stay in service.

use wiremend_fabric::tiers::Tiers;

use super::fabric_state::CorruptingLink;
use crate::protection_effect::ProtectionEffect;

/// Traffic of links.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkLoad {
    /// Utilization as a share of the rate.
    pub utilization: f64,
    /// Bytes of a frame on the wire, with preamble and gap.
    pub frame_bytes: f64,
}

/// Full frames of 1518 bytes at a utilization of 30 %.
impl Default for LinkLoad {
    fn default() -> Self {
        Self { utilization: 0.3, frame_bytes: 1538.0 }
    }
}

/// Cost of a set of corrupting links.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CorruptionCost {
    /// Sum of loss rates.
    pub penalty: f64,
    /// Lost frames per second.
    pub frames_per_s: f64,
    /// Sum of loss rates if all links were protected.
    pub protected_penalty: f64,
    /// Lost frames per second if all links were protected.
    pub protected_frames_per_s: f64,
    /// Capacity lost by protection, in bit/s.
    pub protected_bps: f64,
}

impl CorruptionCost {
    /// Computes the cost of these links.
    pub fn for_links<'a>(
        tiers: &Tiers,
        corrupting: impl Iterator<Item = &'a CorruptingLink>,
        effect: &ProtectionEffect,
        load: LinkLoad,
    ) -> Self {
        let mut cost = Self::default();
        for CorruptingLink { link, loss } in corrupting {
            let bps = tiers.link(*link).rate.bits_per_s() as f64;
            let frames = bps * load.utilization / (8.0 * load.frame_bytes);
            let effect = effect.at_loss(*loss);
            cost.penalty += loss;
            cost.frames_per_s += frames * loss;
            cost.protected_penalty += effect.residual_loss;
            cost.protected_frames_per_s += frames * effect.residual_loss;
            cost.protected_bps += bps * (1.0 - effect.speed);
        }
        cost
    }
}
