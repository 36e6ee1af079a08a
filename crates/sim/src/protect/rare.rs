//! Episodes of losses on a protected link whose rare outcomes are made frequent ([`wiremend_measure::rare`]).

use wiremend_measure::rare::{Episode, Episodes};
use wiremend_units::{LaneId, Time};

use crate::link::Wires;

/// What came of the episodes on one lane.
pub(crate) struct Rare {
    lane: LaneId,
    /// Frames given up in the episodes so far.
    lost: u64,
    pub(crate) episodes: Episodes,
}

impl Rare {
    pub(crate) fn new(lane: LaneId) -> Self {
        Self { lane, lost: 0, episodes: Episodes::default() }
    }
}

impl Wires {
    /// A frame has left over `lane`: if an episode ended with it, what the far end gave up since the one before is weighed. An episode
    /// lasts until all its losses are mended or given up, so none belongs to another.
    #[cold]
    pub(crate) fn settle_episodes(&mut self, now: Time, lane: LaneId) {
        let Some(rare) = self.rare.as_mut().filter(|rare| rare.lane == lane) else { return };
        let tilted = self.impairments[lane.index()].as_mut().and_then(|lane| lane.tilted_mut());
        let Some(settled) = tilted.and_then(wiremend_impair::TiltedLoss::poll_settled) else { return };
        let far =
            self.guards[lane.reverse().index()].as_mut().expect("a protected link is guarded at both ends");
        let lost = far.lost(now);
        let given_up = lost - std::mem::replace(&mut rare.lost, lost);
        rare.episodes.add(Episode {
            lost: given_up as f64 * settled.weight,
            weight: settled.weight,
            frames: settled.frames,
        });
    }
}
