//! What a session is doing now.

use std::collections::BTreeMap;

use crate::drops::StallCause;
use crate::endpoint::Endpoint;
use crate::queue_pair::{PairCounters, PairId};

/// The state of a running session.
pub struct Live<'a> {
    /// Messages that have completed; of a server: that have come into receive buffers.
    pub done: u64,
    /// Timeouts so far.
    pub causes: &'a BTreeMap<StallCause, u64>,
    pub(super) endpoint: &'a Endpoint,
}

impl Live<'_> {
    /// The queue pairs with their counters.
    pub fn pairs(&self) -> impl Iterator<Item = (PairId, PairCounters)> {
        self.endpoint.pairs()
    }
}
