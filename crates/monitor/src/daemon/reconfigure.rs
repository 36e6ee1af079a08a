//! Another configuration for a running daemon.

use super::Daemon;
use crate::decision::{ActionConfig, LinkConfig};
use crate::detector::Thresholds;

impl Daemon {
    /// Continues with another configuration. A link that it still has, and whose measurement `keeps` accepts,
    /// keeps its state; the state of the others is restored from Redis, as after a restart. Protection stays
    /// as it is until the next decision.
    pub fn reconfigured(
        self,
        links: Vec<LinkConfig>,
        thresholds: Thresholds,
        act: ActionConfig,
        keeps: impl Fn(&LinkConfig) -> bool,
    ) -> Self {
        let mut new = Self::new(links, thresholds, act, self.holder);
        new.counts = self.counts;
        let mut old = self.links;
        for state in &mut new.links {
            let same = old.iter().position(|old| old.link == state.link);
            if let Some(at) = same.filter(|_| keeps(&state.link)) {
                *state = old.swap_remove(at);
            }
        }
        new.on_connection_change();
        new
    }
}
