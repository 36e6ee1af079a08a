//! Does this link corrupt? Judged by how many frames came and how many of them were bad (LG appendix C).
//!
//! Loss is 1 − ok/all over a moving window of frames. A window of 100 million does not have to fill first: a link that loses one
//! frame in a thousand is known after a handful of losses. What decides is how sure the count makes us. The verdict is raised
//! when even the lower confidence bound lies above the threshold, and taken back only after so many frames without an error
//! that the upper bound lies below.

use std::fmt;

use serde::{Deserialize, Serialize};
use wiremend_measure::interval;

use crate::window::{Sample, Window};

/// What counts as corruption.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// Loss from which a link is corrupting (LG appendix C: 1e-8).
    pub loss: f64,
    /// Frames that are judged together (LG appendix C: 100 million).
    pub window_frames: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { loss: 1e-8, window_frames: 100_000_000 }
    }
}

/// Thresholds that cannot be used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Unusable {
    /// The loss is no probability, or so small that no year has enough frames to see it.
    Loss(f64),
    /// The window is too short to see the loss at all.
    Window {
        /// Frames of it.
        frames: u64,
        /// Frames that it needs.
        least: u64,
    },
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(loss) => write!(f, "a loss threshold of {loss} is not between 1e-15 and 0.5"),
            Self::Window { frames, least } => {
                write!(
                    f,
                    "a window of {frames} frames is too short for this threshold; it needs at least {least}"
                )
            }
        }
    }
}

impl std::error::Error for Unusable {}

impl Thresholds {
    /// Whether a detector can work with them.
    pub fn check(&self) -> Result<(), Unusable> {
        if !(1e-15..=0.5).contains(&self.loss) {
            return Err(Unusable::Loss(self.loss));
        }
        // With the fewest errors that raise it, a full window must not look better than the threshold.
        let least = (bounds(Detector::ERRORS_MIN).low / self.loss).ceil() as u64;
        if self.window_frames < least {
            return Err(Unusable::Window { frames: self.window_frames, least });
        }
        Ok(())
    }

    /// Frames without an error after which a link counts as clean: the upper bound at 95 % is then the threshold.
    pub fn clean_frames(&self) -> u64 {
        (3.0 / self.loss).ceil() as u64
    }
}

/// Loss as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Estimate {
    /// Frames that it rests on.
    pub frames: u64,
    /// Those of them that were lost.
    pub errors: u64,
    /// The ratio.
    pub loss: f64,
    /// It is hardly less than this.
    pub low: f64,
    /// It is hardly more than this.
    pub high: f64,
}

impl Estimate {
    /// Of these frames. Without frames nothing is known: from 0 to 1.
    pub fn of(sample: Sample) -> Self {
        let Sample { frames, errors } = sample;
        if frames == 0 {
            return Self { frames, errors, loss: 0.0, low: 0.0, high: 1.0 };
        }
        let (all, count) = (frames as f64, bounds(errors));
        Self {
            frames,
            errors,
            loss: errors as f64 / all,
            low: (count.low / all).min(1.0),
            high: (count.high / all).min(1.0),
        }
    }
}

/// What the mean may be when so many errors were seen, at 98 %: one in a hundred on either side.
fn bounds(errors: u64) -> interval::Interval {
    // Nearly all ports, nearly all the time.
    if errors == 0 {
        return interval::Interval { low: 0.0, high: NONE_HIGH };
    }
    interval::poisson(errors, 0.98)
}

/// ln 100: with this mean, nothing happens one time in a hundred.
const NONE_HIGH: f64 = 4.605_170_185_988_092;

/// What is new about a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// It corrupts.
    Raised(Estimate),
    /// It corrupts at another rate than was last said: at least twice or at most half of it, for sure.
    Moved(Estimate),
    /// It does not corrupt any more.
    Cleared {
        /// Frames since the last error.
        clean_frames: u64,
    },
}

/// Watches one direction of one link.
#[derive(Clone, Debug)]
pub struct Detector {
    thresholds: Thresholds,
    window: Window,
    /// Frames since the last error.
    clean: u64,
    /// The loss that was last said, if the link counts as corrupting.
    said: Option<f64>,
}

impl Detector {
    /// The fewest errors that raise it.
    pub const ERRORS_MIN: u64 = 3;
    /// The loss of now is that over the newest so many errors, which is known to a quarter; older ones tell of the past.
    const ERRORS_OF_NOW: u64 = 64;

    /// Knows nothing yet.
    pub fn new(thresholds: Thresholds) -> Self {
        let window = Window::new(thresholds.window_frames);
        Self { thresholds, window, clean: 0, said: None }
    }

    /// More frames came.
    pub fn on_sample(&mut self, sample: Sample) -> Option<Verdict> {
        assert!(sample.errors <= sample.frames, "bad frames are frames");
        if sample.frames == 0 {
            return None;
        }
        self.window.push(sample);
        self.clean = if sample.errors == 0 { self.clean.saturating_add(sample.frames) } else { 0 };
        let estimate = self.estimate();
        match self.said {
            None if estimate.errors >= Self::ERRORS_MIN && estimate.low > self.thresholds.loss => {
                self.said = Some(estimate.loss);
                Some(Verdict::Raised(estimate))
            }
            Some(_) if self.clean >= self.thresholds.clean_frames() => {
                let clean_frames = self.clean;
                self.reset();
                Some(Verdict::Cleared { clean_frames })
            }
            Some(said) if sample.errors > 0 && (estimate.low > 2.0 * said || estimate.high < said / 2.0) => {
                self.said = Some(estimate.loss);
                Some(Verdict::Moved(estimate))
            }
            _ => None,
        }
    }

    /// The link was repaired: what was seen before tells nothing any more.
    pub fn on_repair(&mut self) -> Option<Verdict> {
        let clean_frames = self.clean;
        let was = self.said;
        self.reset();
        was.map(|_| Verdict::Cleared { clean_frames })
    }

    /// The loss of now.
    pub fn estimate(&self) -> Estimate {
        Estimate::of(self.window.newest(Self::ERRORS_OF_NOW))
    }

    /// Whether it counts as corrupting.
    pub fn is_corrupting(&self) -> bool {
        self.said.is_some()
    }

    /// Frames since the last error.
    pub fn clean_frames(&self) -> u64 {
        self.clean
    }

    /// Goes on as one that had raised a link of this loss, after its daemon began anew.
    pub fn resume(&mut self, said: f64) {
        self.said = Some(said);
    }

    fn reset(&mut self) {
        self.window.clear();
        self.clean = 0;
        self.said = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortcut_for_no_errors_is_none() {
        let (shortcut, exact) = (bounds(0), interval::poisson(0, 0.98));
        assert!((shortcut.high / exact.high - 1.0).abs() < 1e-9, "{shortcut:?} {exact:?}");
        assert!(exact.low.abs() < 1e-12);
    }
}
