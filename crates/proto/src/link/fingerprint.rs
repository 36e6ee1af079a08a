//! Hashes of states, for the exploration of all reachable states.

use std::hash::{Hash, Hasher};

use wiremend_units::Time;

/// Hashes a state relative to the current time, so that equal states at different times are equal.
pub(super) struct Fingerprint<'a, H> {
    now: Time,
    hasher: &'a mut H,
}

impl<'a, H: Hasher> Fingerprint<'a, H> {
    pub(super) fn new(now: Time, hasher: &'a mut H) -> Self {
        Self { now, hasher }
    }

    pub(super) fn add(&mut self, part: impl Hash) {
        part.hash(self.hasher);
    }

    /// Adds a future time, or `Time::MAX`.
    pub(super) fn add_time(&mut self, time: Time) {
        let ahead = if time == Time::MAX { u64::MAX } else { time.as_ps().wrapping_sub(self.now.as_ps()) };
        self.add(ahead);
    }

    /// Adds a time that has no meaning once it is past.
    pub(super) fn add_limit(&mut self, time: Time) {
        self.add_time(time.max(self.now));
    }
}
