//! Loss episodes on a protected link with importance sampling ([`wiremend_measure::rare`]).

use wiremend_impair::TiltedLoss;
use wiremend_measure::rare::{Episode, Episodes};
use wiremend_units::LaneId;

use super::ProtectedId;

pub(crate) struct LossEpisodes {
    pub(super) lane: LaneId,
    /// The link end that receives over the lane.
    pub(super) far_end: ProtectedId,
    /// Frames given up in the episodes so far.
    lost: u64,
    pub(crate) episodes: Episodes,
}

impl LossEpisodes {
    pub(crate) fn new(lane: LaneId, far_end: ProtectedId) -> Self {
        Self { lane, far_end, lost: 0, episodes: Episodes::default() }
    }

    /// If the frame just sent ended an episode, records the frames that the far end gave up in it, with the
    /// weight of the episode. An episode lasts until all its losses are recovered or given up, so episodes do
    /// not overlap. `lost` returns all frames that the far end has given up.
    pub(super) fn on_sent(&mut self, tilted: &mut TiltedLoss, lost: impl FnOnce() -> u64) {
        let Some(settled) = tilted.poll_finished() else { return };
        let lost = lost();
        let given_up = lost - std::mem::replace(&mut self.lost, lost);
        self.episodes.add(Episode {
            lost: given_up as f64 * settled.weight,
            weight: settled.weight,
            frames: settled.frames,
        });
    }
}
