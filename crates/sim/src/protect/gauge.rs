//! The receiving end of a dormant link counts losses, as the counters of its port do, and has the sending end start when there are too many.
//!
//! Only a corrupted frame makes the loss rise, and how many frames came before it is counted anyway: so it costs nothing but memory of the
//! last few losses, and links without it cost nothing at all.

use std::collections::VecDeque;

use wiremend_scenario::Sample;
use wiremend_units::{Span, Time};

/// Measures the loss of a lane until it is too high.
pub(crate) struct Gauge {
    /// What is lost before does not count.
    from: Time,
    sample: Sample,
    /// From the last of the losses until the sending end starts.
    pub(super) told_after: Span,
    /// The last losses, by the number of their frame, oldest first; at most as many as are too many.
    losses: VecDeque<u64>,
}

impl Gauge {
    pub(crate) fn new(from: Time, sample: Sample, told_after: Span) -> Self {
        Self { from, sample, told_after, losses: VecDeque::new() }
    }

    /// The last of so many frames is corrupted: whether these are now too many of the last. Frames that have not come yet cannot
    /// make them fewer, so that a sample need not be full.
    pub(super) fn on_loss(&mut self, now: Time, frames: u64) -> bool {
        if now < self.from {
            return false;
        }
        self.losses.push_back(frames);
        while self.losses.pop_front_if(|number| *number + self.sample.over <= frames).is_some() {}
        self.losses.len() as u64 >= self.sample.corrupted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of these losses starts it, if 3 of 100 frames do.
    fn judge(losses: &[u64]) -> Vec<bool> {
        let sample = Sample { over: 100, corrupted: 3 };
        let mut gauge = Gauge::new(Time::ZERO, sample, Span::ZERO);
        losses.iter().map(|number| gauge.on_loss(Time::ZERO, *number)).collect()
    }

    #[test]
    fn so_many_losses_of_the_last_frames_are_too_many() {
        assert_eq!(judge(&[1, 2, 3]), [false, false, true], "97 more cannot make them fewer");
        assert_eq!(judge(&[1, 100, 101]), [false; 3], "the first is no longer among the last hundred");
        assert_eq!(judge(&[1, 99, 100]), [false, false, true]);
        assert_eq!(judge(&[10, 70, 120, 175, 230, 260]), [false, false, false, false, false, true]);
    }

    #[test]
    fn what_is_lost_before_it_measures_does_not_count() {
        let sample = Sample { over: 1_000, corrupted: 2 };
        let mut gauge = Gauge::new(Time::from_ns(50), sample, Span::ZERO);
        let losses = [(10, 1), (49, 2), (50, 3), (70, 4)];
        let started = losses.map(|(ns, number)| gauge.on_loss(Time::from_ns(ns), number));
        assert_eq!(started, [false, false, false, true]);
    }
}
