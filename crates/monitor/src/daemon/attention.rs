//! What a daemon knows of its links.

use super::Daemon;
use crate::redis::{LinkAction, Observation};

impl Daemon {
    /// Returns what link number `at` observes; `None` if it was never read.
    pub fn observation(&self, at: usize) -> Option<Observation> {
        let state = &self.links[at];
        state.known.then_some(state.observation)
    }

    /// Returns whether one of both ends of link number `at` observes corruption, predicts it or has no carrier, or
    /// whether this end protects the link or should.
    pub fn needs_attention(&self, at: usize) -> bool {
        let state = &self.links[at];
        let is_bad = |seen: &Observation| seen.corrupting.is_some() || seen.forecast.is_some() || seen.down;
        let acts = self.action(at).is_some_and(|action| *action != LinkAction::Nothing);
        is_bad(&state.observation)
            || state.peer_observation.as_ref().is_some_and(|peer| is_bad(&peer.record))
            || acts
    }
}
