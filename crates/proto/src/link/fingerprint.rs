//! What a state comes to in a number, so that an exploration of all that can happen knows where it has been.

use std::hash::{Hash, Hasher};

use wiremend_units::Time;

/// Takes in a state at a time. Times count from there on: what is the same but later is the same.
pub(super) struct Print<'a, H> {
    now: Time,
    hasher: &'a mut H,
}

impl<'a, H: Hasher> Print<'a, H> {
    pub(super) fn new(now: Time, hasher: &'a mut H) -> Self {
        Self { now, hasher }
    }

    pub(super) fn add(&mut self, part: impl Hash) {
        part.hash(self.hasher);
    }

    /// A time to come, or never.
    pub(super) fn add_time(&mut self, time: Time) {
        let ahead = if time == Time::MAX { u64::MAX } else { time.as_ps().wrapping_sub(self.now.as_ps()) };
        self.add(ahead);
    }

    /// A time that means nothing once it is past.
    pub(super) fn add_limit(&mut self, time: Time) {
        self.add_time(time.max(self.now));
    }
}
