//! The newest frames that came over a link: how many, and how many of them were bad.

use std::collections::VecDeque;

/// Frames, and those of them that were lost to corruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sample {
    /// All, good and bad.
    pub frames: u64,
    /// The bad ones.
    pub errors: u64,
}

impl Sample {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            frames: self.frames.saturating_add(other.frames),
            errors: self.errors.saturating_add(other.errors),
        }
    }
}

/// A moving window of frames, in memory that does not grow.
#[derive(Clone, Debug)]
pub struct Window {
    /// Oldest first. Neighbours are joined when there are too many.
    samples: VecDeque<Sample>,
    total: Sample,
    frames_max: u64,
}

impl Window {
    /// So many samples are kept apart: 64 errors that came one by one can be told from their age to within one part in 64.
    const SAMPLES_MAX: usize = 128;

    /// Of the newest `frames_max` frames.
    pub fn new(frames_max: u64) -> Self {
        Self { samples: VecDeque::new(), total: Sample::default(), frames_max }
    }

    /// Newer frames. The oldest leave as soon as the window is full without them.
    pub fn push(&mut self, sample: Sample) {
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

    /// All that is in it.
    pub fn total(&self) -> Sample {
        self.total
    }

    /// The newest stretch that holds at least `errors` of them, or everything.
    pub fn newest(&self, errors: u64) -> Sample {
        let mut stretch = Sample::default();
        for &sample in self.samples.iter().rev() {
            stretch = stretch.plus(sample);
            if stretch.errors >= errors {
                break;
            }
        }
        stretch
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.samples.clear();
        self.total = Sample::default();
    }

    /// Joins the two neighbours that hold the fewest frames together: old and new alike stay as fine as they can.
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
    fn the_oldest_leave_first() {
        let mut window = Window::new(100);
        window.push(Sample { frames: 60, errors: 6 });
        window.push(Sample { frames: 60, errors: 0 });
        assert_eq!(window.total(), Sample { frames: 120, errors: 6 });
        window.push(Sample { frames: 60, errors: 1 });
        assert_eq!(window.total(), Sample { frames: 120, errors: 1 });
    }

    #[test]
    fn the_newest_stretch_ends_at_its_errors() {
        let mut window = Window::new(1_000);
        for errors in [9, 0, 2, 0, 3] {
            window.push(Sample { frames: 100, errors });
        }
        assert_eq!(window.newest(3), Sample { frames: 100, errors: 3 });
        assert_eq!(window.newest(4), Sample { frames: 300, errors: 5 });
        assert_eq!(window.newest(99), Sample { frames: 500, errors: 14 });
    }

    proptest! {
        /// Whatever is pushed: full windows hold what they should, not much more, and in bounded memory.
        #[test]
        fn it_is_as_long_as_said(frames in prop::collection::vec(1_u64..1_000, 1..2_000)) {
            let mut window = Window::new(50_000);
            for &frames in &frames {
                window.push(Sample { frames, errors: frames / 10 });
            }
            let all: u64 = frames.iter().sum();
            let total = window.total();
            prop_assert!(total.frames >= all.min(50_000), "{total:?} of {all}");
            // Joined samples leave together: half of the window is more than any of them can hold.
            prop_assert!(total.frames < 75_000, "{total:?}");
            prop_assert!(window.samples.len() <= Window::SAMPLES_MAX);
            prop_assert_eq!(window.newest(u64::MAX), total);
        }
    }
}
