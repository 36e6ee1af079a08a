//! Episodes of losses on a protected link whose rare outcomes are made frequent ([`wiremend_measure::rare`]).

use wiremend_impair::TiltedLoss;
use wiremend_measure::rare::{Episode, Episodes};
use wiremend_units::LaneId;

use super::ProtectedId;

/// What came of the episodes on one lane.
pub(crate) struct Rare {
    pub(super) lane: LaneId,
    /// The end that receives what comes over the lane.
    pub(super) far: ProtectedId,
    /// Frames given up in the episodes so far.
    lost: u64,
    pub(crate) episodes: Episodes,
}

impl Rare {
    pub(crate) fn new(lane: LaneId, far: ProtectedId) -> Self {
        Self { lane, far, lost: 0, episodes: Episodes::default() }
    }

    /// A frame has left over the lane: if an episode ended with it, what the far end gave up since the one before is weighed. An episode
    /// lasts until all its losses are mended or given up, so none belongs to another. `lost`: all that the far end has given up.
    pub(super) fn on_sent(&mut self, tilted: &mut TiltedLoss, lost: impl FnOnce() -> u64) {
        let Some(settled) = tilted.poll_settled() else { return };
        let lost = lost();
        let given_up = lost - std::mem::replace(&mut self.lost, lost);
        self.episodes.add(Episode {
            lost: given_up as f64 * settled.weight,
            weight: settled.weight,
            frames: settled.frames,
        });
    }
}
