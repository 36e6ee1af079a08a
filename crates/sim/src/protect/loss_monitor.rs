//! Counts losses at the receiving end of a dormant link, like the counters of a port, and starts the sending
//! end when there are too many.
//!
//! Only a corrupted frame can raise the loss ratio, and the number of frames before it is counted anyway. So
//! the monitor costs only memory for the last few losses, and links without one cost nothing.

use std::collections::VecDeque;

use wiremend_scenario::LossSample;
use wiremend_units::{Span, Time};

/// Measures the loss ratio of a lane until it is too high.
pub(crate) struct LossMonitor {
    /// Earlier losses do not count.
    from: Time,
    sample: LossSample,
    /// Delay from the last loss until the sending end starts.
    pub(super) notify_delay: Span,
    /// The last losses, by frame number, oldest first; at most as many as start protection.
    losses: VecDeque<u64>,
}

impl LossMonitor {
    pub(crate) fn new(from: Time, sample: LossSample, notify_delay: Span) -> Self {
        Self { from, sample, notify_delay, losses: VecDeque::new() }
    }

    /// Records that frame number `frames` is corrupted. Returns whether the last sample has too many losses.
    /// Later frames cannot reduce their number, so a sample need not be complete.
    pub(super) fn on_loss(&mut self, now: Time, frames: u64) -> bool {
        if now < self.from {
            return false;
        }
        self.losses.push_back(frames);
        while self.losses.pop_front_if(|number| *number + self.sample.frames <= frames).is_some() {}
        self.losses.len() as u64 >= self.sample.corrupted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns for each loss whether it starts protection at 3 losses in 100 frames.
    fn judge(losses: &[u64]) -> Vec<bool> {
        let sample = LossSample { frames: 100, corrupted: 3 };
        let mut loss_monitor = LossMonitor::new(Time::ZERO, sample, Span::ZERO);
        losses.iter().map(|number| loss_monitor.on_loss(Time::ZERO, *number)).collect()
    }

    #[test]
    fn protection_starts_at_the_configured_number_of_losses() {
        assert_eq!(judge(&[1, 2, 3]), [false, false, true], "97 more frames cannot reduce the losses");
        assert_eq!(judge(&[1, 100, 101]), [false; 3], "the first loss is not among the last 100 frames");
        assert_eq!(judge(&[1, 99, 100]), [false, false, true]);
        assert_eq!(judge(&[10, 70, 120, 175, 230, 260]), [false, false, false, false, false, true]);
    }

    #[test]
    fn losses_before_the_start_do_not_count() {
        let sample = LossSample { frames: 1_000, corrupted: 2 };
        let mut loss_monitor = LossMonitor::new(Time::from_ns(50), sample, Span::ZERO);
        let losses = [(10, 1), (49, 2), (50, 3), (70, 4)];
        let started = losses.map(|(ns, number)| loss_monitor.on_loss(Time::from_ns(ns), number));
        assert_eq!(started, [false, false, false, true]);
    }
}
