//! When a link's protection begins (L20): the rule of LinkGuardian's daemon (LG appendix C), with what its program gets wrong put right.
//!
//! Frames that a port has received are polled; the part that was bad among the last hundred million says the loss, since fewer say nothing of
//! a loss of 1e-8. Once protection is on, it stays until somebody says that the link was repaired: a link that is mended by retransmission still
//! corrupts as before, and nothing on it says when it stops.

use std::collections::VecDeque;

/// A port's frames over a moving window.
#[derive(Clone, Debug)]
pub struct Watch {
    frames_max: u64,
    threshold: f64,
    target: f64,
    polls: VecDeque<(u64, u64)>,
    all: u64,
    bad: u64,
    active: Option<Activation>,
}

/// What the sender at the other end is asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Activation {
    /// The loss that was seen.
    pub loss: f64,
    /// Copies of each frame that is sent again (LG Eq. 2).
    pub copies: u32,
}

/// As published: 100 M frames, from 1e-8.
impl Default for Watch {
    fn default() -> Self {
        Self::new(100_000_000, 1e-8, 1e-8)
    }
}

impl Watch {
    /// Over so many frames; protection begins at this loss and aims at that target.
    pub fn new(frames_max: u64, threshold: f64, target: f64) -> Self {
        let polls = VecDeque::new();
        Self { frames_max, threshold, target, polls, all: 0, bad: 0, active: None }
    }

    /// A poll has seen so many frames since the last, so many of them bad. Says if protection is to begin, or to send more copies.
    pub fn on_poll(&mut self, frames: u64, bad: u64) -> Option<Activation> {
        self.polls.push_back((frames, bad));
        self.all += frames;
        self.bad += bad.min(frames);
        // The oldest go, as long as a whole window stays.
        while let Some((frames, bad)) =
            self.polls.front().copied().filter(|(frames, _)| self.all - frames >= self.frames_max)
        {
            self.polls.pop_front();
            self.all -= frames;
            self.bad -= bad.min(frames);
        }
        let loss = self.loss()?;
        if loss < self.threshold {
            return None;
        }
        let wanted = Activation { loss, copies: copies_for(loss, self.target) };
        if self.active.is_some_and(|now| now.copies >= wanted.copies) {
            return None;
        }
        self.active = Some(wanted);
        self.active
    }

    /// The loss over the window; `None` until there were enough frames.
    pub fn loss(&self) -> Option<f64> {
        (self.all >= self.frames_max).then(|| self.bad as f64 / self.all as f64)
    }

    /// The link was repaired: all that was seen is of the past.
    pub fn on_repaired(&mut self) {
        *self = Self::new(self.frames_max, self.threshold, self.target);
    }
}

/// How many copies of a lost frame leave no more than `target` (LG Eq. 2): each is lost too with the same chance.
pub fn copies_for(loss: f64, target: f64) -> u32 {
    if !(loss > 0.0 && loss < 1.0 && target > 0.0) {
        return 1;
    }
    let copies = libm::log(target) / libm::log(loss) - 1.0;
    (libm::ceil(copies - 1e-9)).clamp(1.0, 64.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_those_of_the_equation() {
        assert_eq!([1e-8, 1e-5, 1e-4, 1e-3, 1e-2].map(|loss| copies_for(loss, 1e-8)), [1, 1, 1, 2, 3]);
    }

    #[test]
    fn protection_begins_when_a_whole_window_says_so() {
        let mut watch = Watch::new(1000, 1e-2, 1e-8);
        assert_eq!(watch.on_poll(400, 40), None);
        assert_eq!(watch.on_poll(400, 0), None, "half a window says nothing");
        let begun = watch.on_poll(400, 0).expect("40 of 1200");
        assert_eq!((begun.copies, begun.loss), (5, 40.0 / 1200.0));
        assert_eq!(watch.on_poll(400, 0), None, "once is enough");
        assert!(watch.loss().unwrap() < 1e-2, "the oldest poll has gone");
        watch.on_repaired();
        assert_eq!(watch.loss(), None);
    }

    #[test]
    fn a_worse_loss_asks_for_more_copies_and_a_better_one_for_none_less() {
        let mut watch = Watch::new(100, 1e-3, 1e-8);
        assert_eq!(watch.on_poll(100, 1).map(|on| on.copies), Some(3));
        assert_eq!(watch.on_poll(100, 50).map(|on| on.copies), Some(26));
        assert_eq!(watch.on_poll(100, 1), None);
    }
}
