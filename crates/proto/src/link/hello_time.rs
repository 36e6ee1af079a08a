//! How long the sender takes to answer during the handshake: a first estimate of how long recoveries take.

use std::hash::Hasher;

use wiremend_units::{Span, Time};

use super::fingerprint::Fingerprint;
use super::response_time::ResponseTime;

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct HelloTime {
    /// When the last `Accept` left, until the next `Open` arrives.
    accepted_at: Option<Time>,
    /// Shortest time between these two. The others were of a process that was late, or of a lost hello.
    shortest: Option<Span>,
}

impl HelloTime {
    pub(super) fn on_open(&mut self, now: Time) {
        if let Some(at) = self.accepted_at.take() {
            let took = now.since(at);
            self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
        }
    }

    pub(super) fn on_accept_sent(&mut self, now: Time) {
        self.accepted_at = Some(now);
    }

    /// Returns the estimate for the epoch that starts.
    pub(super) fn take_estimate(&mut self) -> ResponseTime {
        let mut estimate = ResponseTime::default();
        if let Some(shortest) = std::mem::take(self).shortest {
            estimate.add(shortest);
        }
        estimate
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Fingerprint<H>) {
        print.add_time(self.accepted_at.unwrap_or(Time::MAX));
        print.add(self.shortest);
    }
}
