//! Too much at once: when a good part of a fabric turns bad within minutes, it is more likely that counters lie.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

/// Counts links that turn bad, and says when they are too many to be believed.
#[derive(Clone, Debug)]
pub struct Brake {
    links_max: usize,
    turned: VecDeque<Time>,
    on: bool,
}

impl Brake {
    /// The time over which they are counted.
    pub const WITHIN: Span = Span::from_ms(300_000);
    /// The part of all links that may turn bad within it.
    pub const PART: f64 = 0.01;
    /// So many may, however small a fabric is: a cable of two links, and one more.
    pub const LINKS_MIN: usize = 3;

    /// For a fabric of so many links.
    pub fn new(links: u32) -> Self {
        let part = (f64::from(links) * Self::PART).floor() as usize;
        Self { links_max: part.max(Self::LINKS_MIN), turned: VecDeque::new(), on: false }
    }

    /// How many links may turn bad within [`Self::WITHIN`].
    pub fn links_max(&self) -> usize {
        self.links_max
    }

    /// How many have.
    pub fn turned(&mut self, now: Time) -> usize {
        while self.turned.front().is_some_and(|&at| at.saturating_add(Self::WITHIN) < now) {
            self.turned.pop_front();
        }
        self.turned.len()
    }

    /// A link turned bad. Whether that was one too many.
    pub fn on_turn(&mut self, now: Time) -> bool {
        if self.turned.len() <= self.links_max {
            self.turned.push_back(now);
        }
        if self.turned(now) > self.links_max {
            return !std::mem::replace(&mut self.on, true);
        }
        false
    }

    /// It holds, until somebody releases it.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Somebody else had set it, or somebody releases it: what has turned bad so far is believed.
    pub fn set(&mut self, on: bool) {
        self.on = on;
        if !on {
            self.turned.clear();
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
    fn one_in_a_hundred_within_five_minutes_is_too_many() {
        let mut brake = Brake::new(1_000);
        for number in 0..10 {
            assert!(!brake.on_turn(second(number)));
        }
        assert!(brake.on_turn(second(10)), "the eleventh");
        assert!(!brake.on_turn(second(11)), "said once");
        assert!(brake.is_on());
        assert_eq!(brake.turned(second(1_000)), 0);
        assert!(brake.is_on(), "it does not let go by itself");
        brake.set(false);
        assert!(!brake.on_turn(second(1_001)));
    }

    #[test]
    fn links_that_turn_bad_now_and_then_are_believed() {
        let mut brake = Brake::new(100_224);
        assert!((0..10_000).all(|number| !brake.on_turn(second(number))));
    }

    #[test]
    fn a_small_fabric_is_not_stopped_by_one_link() {
        let mut brake = Brake::new(2);
        assert!(!brake.on_turn(second(1)) && !brake.on_turn(second(2)));
    }
}
