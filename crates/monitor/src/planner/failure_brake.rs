//! Halts the planner when many links fail within minutes: faulty counters are then likely.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

/// Counts link failures and detects when there are too many.
#[derive(Clone, Debug)]
pub struct FailureBrake {
    links_max: usize,
    failures: VecDeque<Time>,
    on: bool,
}

impl FailureBrake {
    /// Time window of the count.
    pub const WINDOW: Span = Span::from_ms(300_000);
    /// Share of all links that may fail within the window.
    pub const FAILED_SHARE_MAX: f64 = 0.01;
    /// Number of links that may fail in a fabric of any size: a cable of two links, and one more.
    pub const LINKS_MIN: usize = 3;

    /// Creates the brake for a fabric with this number of links.
    pub fn new(links: u32) -> Self {
        let share = (f64::from(links) * Self::FAILED_SHARE_MAX).floor() as usize;
        Self { links_max: share.max(Self::LINKS_MIN), failures: VecDeque::new(), on: false }
    }

    /// Returns how many links may fail within [`Self::WINDOW`].
    pub fn links_max(&self) -> usize {
        self.links_max
    }

    /// Returns the number of failures within the window.
    pub fn failure_count(&mut self, now: Time) -> usize {
        while self.failures.front().is_some_and(|&at| at.saturating_add(Self::WINDOW) < now) {
            self.failures.pop_front();
        }
        self.failures.len()
    }

    /// Counts a failure. Returns whether it halts the planner.
    pub fn on_failure(&mut self, now: Time) -> bool {
        if self.failures.len() <= self.links_max {
            self.failures.push_back(now);
        }
        if self.failure_count(now) > self.links_max {
            return !std::mem::replace(&mut self.on, true);
        }
        false
    }

    /// Returns whether the brake is set. It stays set until an operator releases it.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Sets or releases the brake. A release clears the count.
    pub fn set(&mut self, on: bool) {
        self.on = on;
        if !on {
            self.failures.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Time {
        Time::ZERO.saturating_add(Span::from_ms(second * 1_000))
    }

    #[test]
    fn more_than_one_percent_within_five_minutes_sets_the_brake() {
        let mut brake = FailureBrake::new(1_000);
        for number in 0..10 {
            assert!(!brake.on_failure(second(number)));
        }
        assert!(brake.on_failure(second(10)), "the eleventh failure");
        assert!(!brake.on_failure(second(11)), "reported once");
        assert!(brake.is_on());
        assert_eq!(brake.failure_count(second(1_000)), 0);
        assert!(brake.is_on(), "the brake stays set");
        brake.set(false);
        assert!(!brake.on_failure(second(1_001)));
    }

    #[test]
    fn occasional_failures_do_not_set_the_brake() {
        let mut brake = FailureBrake::new(100_224);
        assert!((0..10_000).all(|number| !brake.on_failure(second(number))));
    }

    #[test]
    fn two_failures_do_not_stop_a_small_fabric() {
        let mut brake = FailureBrake::new(2);
        assert!(!brake.on_failure(second(1)) && !brake.on_failure(second(2)));
    }
}
