//! Numbers far ahead count only if a second frame confirms them: an intruder who does not read the link hardly
//! guesses two that match.

use std::hash::Hasher;

use super::Config;
use super::fingerprint::Fingerprint;

#[derive(Clone, Debug)]
pub(super) struct JumpCheck {
    /// Numbers that a frame may skip without confirmation; `None`: any.
    free: Option<u64>,
    unconfirmed: Option<Jump>,
}

/// A claim that all positions before `end` were sent.
#[derive(Clone, Copy, Hash, Debug)]
struct Jump {
    end: u64,
    /// What had been sent before, as far as was known.
    seen: u64,
}

impl JumpCheck {
    pub(super) fn new(config: &Config) -> Self {
        Self { free: config.unconfirmed_jump_max.map(u64::from), unconfirmed: None }
    }

    /// Whether a frame that claims that all positions before `end` were sent is believed. If not, it counts as
    /// lost, and the next one confirms it, unless another frame shows before that less was sent. No sender is
    /// at `end_max`.
    pub(super) fn is_believed(&mut self, end: u64, seen: u64, end_max: u64) -> bool {
        let Some(free) = self.free else { return true };
        if end <= seen + free {
            return true;
        }
        if end >= end_max {
            return false;
        }
        let before = self.unconfirmed.replace(Jump { end, seen });
        before.is_some_and(|jump| jump.seen == seen && (jump.end..=jump.end + free).contains(&end))
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Fingerprint<H>) {
        if self.free.is_some() {
            print.add(self.unconfirmed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiremend_units::{Bytes, Rate, Span};

    fn check() -> JumpCheck {
        let config = Config::for_link(Rate::gbps(1), Bytes::new(1518), Span::from_us(100));
        JumpCheck::new(&Config { unconfirmed_jump_max: Some(32), ..config })
    }

    #[test]
    fn second_frame_confirms_a_jump() {
        let mut check = check();
        assert!(check.is_believed(1032, 1000, 5000), "a short jump needs no confirmation");
        assert!(!check.is_believed(2000, 1000, 5000) && check.is_believed(2001, 1000, 5000));
    }

    #[test]
    fn unrelated_frames_confirm_nothing() {
        let mut check = check();
        assert!(!check.is_believed(2000, 1000, 5000) && !check.is_believed(3000, 1000, 5000));
        assert!(!check.is_believed(2000, 1000, 5000), "only the last one counts");
        assert!(!check.is_believed(2001, 1001, 5000), "another frame was in order meanwhile");
        assert!(!check.is_believed(5000, 1001, 5000) && !check.is_believed(5001, 1001, 5000), "out of reach");
    }
}
