//! Decides whether a link corrupts frames, from the numbers of received and corrupted frames (LG appendix
//! C).
//!
//! The loss ratio is 1 − ok/all over a moving window of frames. The window of 100 million frames does not
//! have to be full: a few losses suffice to detect a loss of one frame in a thousand. The verdict is raised
//! when the lower confidence bound of the loss exceeds the threshold. It is cleared after as many frames
//! without an error as bring the upper bound below the threshold.

use std::fmt;

use serde::{Deserialize, Serialize};
use wiremend_measure::interval;

use crate::frame_window::{FrameSample, FrameWindow};

/// Thresholds of the detector.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// Loss ratio from which a link counts as corrupting (LG appendix C: 1e-8).
    pub loss: f64,
    /// Length of the window in frames (LG appendix C: 100 million).
    pub window_frames: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { loss: 1e-8, window_frames: 100_000_000 }
    }
}

/// Why thresholds cannot be used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum BadThresholds {
    /// The loss is not a probability, or so small that a year has too few frames to measure it.
    Loss(f64),
    /// The window is too short for the loss threshold.
    Window {
        /// Configured window in frames.
        frames: u64,
        /// Required window in frames.
        frames_min: u64,
    },
}

impl fmt::Display for BadThresholds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(loss) => write!(f, "a loss threshold of {loss} is not between 1e-15 and 0.5"),
            Self::Window { frames, frames_min } => {
                write!(
                    f,
                    "a window of {frames} frames is too short for this threshold; use at least {frames_min}"
                )
            }
        }
    }
}

impl std::error::Error for BadThresholds {}

impl Thresholds {
    /// Checks whether a detector can work with these thresholds.
    pub fn check(&self) -> Result<(), BadThresholds> {
        if !(1e-15..=0.5).contains(&self.loss) {
            return Err(BadThresholds::Loss(self.loss));
        }
        // A full window with the minimum number of errors must not have a lower bound below the threshold.
        let frames_min = (poisson_bounds(Detector::ERRORS_MIN).low / self.loss).ceil() as u64;
        if self.window_frames < frames_min {
            return Err(BadThresholds::Window { frames: self.window_frames, frames_min });
        }
        Ok(())
    }

    /// Returns the number of frames without an error after which a link counts as clean: the upper 95 %
    /// bound then equals the threshold.
    pub fn clean_frames(&self) -> u64 {
        (3.0 / self.loss).ceil() as u64
    }
}

/// A measured loss ratio with its confidence bounds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LossEstimate {
    /// Number of measured frames.
    pub frames: u64,
    /// Number of corrupted frames.
    pub errors: u64,
    /// Loss ratio.
    pub loss: f64,
    /// Lower 99 % confidence bound of the loss ratio.
    pub low: f64,
    /// Upper 99 % confidence bound of the loss ratio.
    pub high: f64,
}

impl LossEstimate {
    /// Computes loss and bounds. Without frames the bounds are 0 and 1.
    pub fn from_sample(sample: FrameSample) -> Self {
        let FrameSample { frames, errors } = sample;
        if frames == 0 {
            return Self { frames, errors, loss: 0.0, low: 0.0, high: 1.0 };
        }
        let (all, count) = (frames as f64, poisson_bounds(errors));
        Self {
            frames,
            errors,
            loss: errors as f64 / all,
            low: (count.low / all).min(1.0),
            high: (count.high / all).min(1.0),
        }
    }
}

/// Returns the 98 % confidence interval of a Poisson mean (1 % outside on each side).
fn poisson_bounds(errors: u64) -> interval::Interval {
    // Shortcut for the usual case.
    if errors == 0 {
        return interval::Interval { low: 0.0, high: NONE_HIGH };
    }
    interval::poisson(errors, 0.98)
}

/// ln 100: a Poisson variable with this mean is zero with probability 1 %.
const NONE_HIGH: f64 = 4.605_170_185_988_092;

/// A change of the verdict on a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LinkVerdict {
    /// The link corrupts.
    Raised(LossEstimate),
    /// The loss surely differs from the last reported one by a factor of at least two.
    Moved(LossEstimate),
    /// The link does not corrupt any more.
    Cleared {
        /// Number of frames since the last error.
        clean_frames: u64,
    },
}

/// Detects corruption in one direction of a link.
#[derive(Clone, Debug)]
pub struct Detector {
    thresholds: Thresholds,
    window: FrameWindow,
    /// Number of frames since the last error.
    clean_frames: u64,
    /// The last reported loss, if the link counts as corrupting.
    reported_loss: Option<f64>,
}

impl Detector {
    /// Minimum number of errors that raise the verdict.
    pub const ERRORS_MIN: u64 = 3;
    /// The current loss covers this many newest errors: enough for an accuracy of a quarter.
    const RECENT_ERRORS: u64 = 64;

    /// Creates a detector without samples.
    pub fn new(thresholds: Thresholds) -> Self {
        let window = FrameWindow::new(thresholds.window_frames);
        Self { thresholds, window, clean_frames: 0, reported_loss: None }
    }

    /// Processes newly received frames.
    pub fn on_sample(&mut self, sample: FrameSample) -> Option<LinkVerdict> {
        assert!(sample.errors <= sample.frames, "corrupted frames are counted in all frames");
        if sample.frames == 0 {
            return None;
        }
        self.window.push(sample);
        self.clean_frames =
            if sample.errors == 0 { self.clean_frames.saturating_add(sample.frames) } else { 0 };
        let estimate = self.estimate();
        match self.reported_loss {
            None if estimate.errors >= Self::ERRORS_MIN && estimate.low > self.thresholds.loss => {
                self.reported_loss = Some(estimate.loss);
                Some(LinkVerdict::Raised(estimate))
            }
            Some(_) if self.clean_frames >= self.thresholds.clean_frames() => {
                let clean_frames = self.clean_frames;
                self.reset();
                Some(LinkVerdict::Cleared { clean_frames })
            }
            Some(reported_loss)
                if sample.errors > 0
                    && (estimate.low > 2.0 * reported_loss || estimate.high < reported_loss / 2.0) =>
            {
                self.reported_loss = Some(estimate.loss);
                Some(LinkVerdict::Moved(estimate))
            }
            _ => None,
        }
    }

    /// Clears the verdict and all samples after a repair of the link.
    pub fn on_repair(&mut self) -> Option<LinkVerdict> {
        let clean_frames = self.clean_frames;
        let was = self.reported_loss;
        self.reset();
        was.map(|_| LinkVerdict::Cleared { clean_frames })
    }

    /// Returns the current loss.
    pub fn estimate(&self) -> LossEstimate {
        LossEstimate::from_sample(self.window.newest(Self::RECENT_ERRORS))
    }

    /// Returns whether the link counts as corrupting.
    pub fn is_corrupting(&self) -> bool {
        self.reported_loss.is_some()
    }

    /// Returns the number of frames since the last error.
    pub fn clean_frames(&self) -> u64 {
        self.clean_frames
    }

    /// Restores the verdict of an earlier daemon: the link corrupts with this loss.
    pub fn resume(&mut self, reported_loss: f64) {
        self.reported_loss = Some(reported_loss);
    }

    fn reset(&mut self) {
        self.window.clear();
        self.clean_frames = 0;
        self.reported_loss = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortcut_for_zero_errors_equals_the_formula() {
        let (shortcut, exact) = (poisson_bounds(0), interval::poisson(0, 0.98));
        assert!((shortcut.high / exact.high - 1.0).abs() < 1e-9, "{shortcut:?} {exact:?}");
        assert!(exact.low.abs() < 1e-12);
    }
}
