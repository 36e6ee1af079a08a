//! A moving window over the newest received frames.

use std::collections::VecDeque;

/// Number of frames, and of the corrupted frames among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameSample {
    /// All frames.
    pub frames: u64,
    /// Corrupted frames.
    pub errors: u64,
}

impl FrameSample {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            frames: self.frames.saturating_add(other.frames),
            errors: self.errors.saturating_add(other.errors),
        }
    }
}

/// A moving window of frames with bounded memory.
#[derive(Clone, Debug)]
pub struct FrameWindow {
    /// Oldest first. Adjacent samples are merged when there are too many.
    samples: VecDeque<FrameSample>,
    total: FrameSample,
    frames_max: u64,
}

impl FrameWindow {
    /// Maximum number of samples. With twice as many samples as errors of interest (64), the age of an
    /// error is known to one part in 64.
    const SAMPLES_MAX: usize = 128;

    /// Creates a window of the newest `frames_max` frames.
    pub fn new(frames_max: u64) -> Self {
        Self { samples: VecDeque::new(), total: FrameSample::default(), frames_max }
    }

    /// Adds newer frames. The oldest sample is removed as soon as the window is full without it.
    pub fn push(&mut self, sample: FrameSample) {
        self.samples.push_back(sample);
        self.total = self.total.plus(sample);
        while let Some(oldest) = self.samples.front()
            && self.samples.len() > 1
            && self.total.frames - oldest.frames >= self.frames_max
        {
            self.total.frames -= oldest.frames;
            self.total.errors -= oldest.errors;
            self.samples.pop_front();
        }
        if self.samples.len() > Self::SAMPLES_MAX {
            self.join();
        }
    }

    /// Returns the sum over the whole window.
    pub fn total(&self) -> FrameSample {
        self.total
    }

    /// Returns the shortest newest part that contains at least `errors` errors, or the whole window.
    pub fn newest(&self, errors: u64) -> FrameSample {
        let mut newest = FrameSample::default();
        for &sample in self.samples.iter().rev() {
            newest = newest.plus(sample);
            if newest.errors >= errors {
                break;
            }
        }
        newest
    }

    /// Removes all samples.
    pub fn clear(&mut self) {
        self.samples.clear();
        self.total = FrameSample::default();
    }

    /// Merges the two adjacent samples with the fewest frames, so that all samples keep similar sizes.
    fn join(&mut self) {
        let together = |at: &usize| self.samples[*at].frames.saturating_add(self.samples[*at + 1].frames);
        let Some(at) = (0..self.samples.len() - 1).min_by_key(together) else { return };
        let joined = self.samples[at].plus(self.samples[at + 1]);
        self.samples[at] = joined;
        self.samples.remove(at + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_oldest_samples_leave_first() {
        let mut window = FrameWindow::new(100);
        window.push(FrameSample { frames: 60, errors: 6 });
        window.push(FrameSample { frames: 60, errors: 0 });
        assert_eq!(window.total(), FrameSample { frames: 120, errors: 6 });
        window.push(FrameSample { frames: 60, errors: 1 });
        assert_eq!(window.total(), FrameSample { frames: 120, errors: 1 });
    }

    #[test]
    fn newest_returns_the_part_with_enough_errors() {
        let mut window = FrameWindow::new(1_000);
        for errors in [9, 0, 2, 0, 3] {
            window.push(FrameSample { frames: 100, errors });
        }
        assert_eq!(window.newest(3), FrameSample { frames: 100, errors: 3 });
        assert_eq!(window.newest(4), FrameSample { frames: 300, errors: 5 });
        assert_eq!(window.newest(99), FrameSample { frames: 500, errors: 14 });
    }

    proptest! {
        /// A full window holds at least its nominal length, at most half more, in bounded memory.
        #[test]
        fn a_full_window_has_its_nominal_length(frames in prop::collection::vec(1_u64..1_000, 1..2_000)) {
            let mut window = FrameWindow::new(50_000);
            for &frames in &frames {
                window.push(FrameSample { frames, errors: frames / 10 });
            }
            let all: u64 = frames.iter().sum();
            let total = window.total();
            prop_assert!(total.frames >= all.min(50_000), "{total:?} of {all}");
            // Merged samples leave together. No merged sample holds more than half of the window.
            prop_assert!(total.frames < 75_000, "{total:?}");
            prop_assert!(window.samples.len() <= FrameWindow::SAMPLES_MAX);
            prop_assert_eq!(window.newest(u64::MAX), total);
        }
    }
}
