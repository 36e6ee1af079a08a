//! Monitoring of one direction of a link: from counter readings to samples and verdicts.

use wiremend_units::Time;

use crate::counter_delta::{CounterDelta, MaxFrameRate, counter_delta};
use crate::detector::{Detector, LinkVerdict, LossEstimate, Thresholds};
use crate::forecast::FecCounts;
use crate::frame_window::FrameSample;

/// Counters of received frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameCounts {
    /// Separate counters of good and corrupted frames.
    GoodAndBad {
        /// Frames without errors.
        good: u64,
        /// Frames with errors.
        bad: u64,
    },
    /// Counters of good frames, of frames with any error, and of those with an illegal length among them.
    GoodAndErrors {
        /// Frames without errors.
        good: u64,
        /// Frames with errors.
        errors: u64,
        /// Frames of illegal length, which are no corruption.
        lengths: u64,
    },
    /// Counters of good frames and of all frames. `all` must be read first, so that frames that arrive
    /// between the two reads do not look corrupted.
    OkAndAll {
        /// Frames without errors.
        ok: u64,
        /// All frames.
        all: u64,
    },
}

/// The state of a port at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortReading {
    /// Time of the reading, by a monotonic clock.
    pub at: Time,
    /// Whether the port has a carrier.
    pub up: bool,
    /// Number of carrier changes so far, if counted. Only this counter shows a flap between two readings.
    pub carrier_changes: Option<u64>,
    /// Frame counters.
    pub counted: FrameCounts,
    /// FEC counters, as far as they exist.
    pub fec: FecCounts,
}

/// Number of readings that gave no sample, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnusedReadings {
    /// The port was down.
    pub down: u64,
    /// The carrier changed since the previous reading. Errors during link training are not corruption.
    pub flapped: u64,
    /// A counter restarted, or changed faster than the port can count.
    pub reset: u64,
    /// No counter changed: no traffic, or the driver updates its counters late.
    pub unchanged: u64,
}

/// Monitors the frames that a port receives.
#[derive(Clone, Debug)]
pub struct PortMonitor {
    detector: Detector,
    max_rate: MaxFrameRate,
    last: Option<PortReading>,
    /// Good frames already counted in `ok` but not yet in `all`.
    ok_ahead: u64,
    /// Frames already counted in `lengths` but not yet in `errors`.
    lengths_ahead: u64,
    unused_readings: UnusedReadings,
    /// All frames judged so far.
    total: FrameSample,
}

impl PortMonitor {
    /// Creates a monitor of a port that receives at most `max_rate` frames.
    pub fn new(thresholds: Thresholds, max_rate: MaxFrameRate) -> Self {
        Self {
            detector: Detector::new(thresholds),
            max_rate,
            last: None,
            ok_ahead: 0,
            lengths_ahead: 0,
            unused_readings: UnusedReadings::default(),
            total: FrameSample::default(),
        }
    }

    /// Processes a reading. Readings that are not newer than the previous one are ignored.
    pub fn on_reading(&mut self, reading: PortReading) -> Option<LinkVerdict> {
        if self.last.is_some_and(|last| reading.at <= last.at) {
            return None;
        }
        let last = self.last.replace(reading)?;
        let sample = self.sample_between(&last, &reading)?;
        self.total = self.total.plus(sample);
        self.detector.on_sample(sample)
    }

    /// Resets the detector after a repair of the link.
    pub fn on_repair(&mut self) -> Option<LinkVerdict> {
        self.detector.on_repair()
    }

    /// Returns the current loss.
    pub fn estimate(&self) -> LossEstimate {
        self.detector.estimate()
    }

    /// Returns whether the link counts as corrupting.
    pub fn is_corrupting(&self) -> bool {
        self.detector.is_corrupting()
    }

    /// Returns the number of all judged frames and of the corrupted ones among them.
    pub fn total(&self) -> FrameSample {
        self.total
    }

    /// Returns the number of readings that gave no sample.
    pub fn unused_readings(&self) -> UnusedReadings {
        self.unused_readings
    }

    /// Restores the verdict of an earlier daemon: the link corrupts with this loss.
    pub fn resume(&mut self, reported_loss: f64) {
        self.detector.resume(reported_loss);
    }

    fn sample_between(&mut self, earlier: &PortReading, later: &PortReading) -> Option<FrameSample> {
        if !later.up {
            self.unused_readings.down += 1;
            return None;
        }
        let has_flapped = match (earlier.carrier_changes, later.carrier_changes) {
            (Some(before), Some(after)) => before != after,
            _ => false,
        };
        if !earlier.up || has_flapped {
            self.unused_readings.flapped += 1;
            (self.ok_ahead, self.lengths_ahead) = (0, 0);
            return None;
        }
        let Some(sample) = self.frames_between(earlier, later) else {
            self.unused_readings.reset += 1;
            (self.ok_ahead, self.lengths_ahead) = (0, 0);
            return None;
        };
        self.unused_readings.unchanged += u64::from(sample.frames == 0);
        Some(sample)
    }

    fn frames_between(&mut self, earlier: &PortReading, later: &PortReading) -> Option<FrameSample> {
        let elapsed = later.at.since(earlier.at);
        let between = |before, after| match counter_delta(before, after, elapsed, self.max_rate) {
            CounterDelta::Counted(counted) => Some(counted),
            CounterDelta::Unknown => None,
        };
        match (earlier.counted, later.counted) {
            (
                FrameCounts::GoodAndBad { good: good_before, bad: bad_before },
                FrameCounts::GoodAndBad { good, bad },
            ) => {
                let errors = between(bad_before, bad)?;
                Some(FrameSample { frames: between(good_before, good)? + errors, errors })
            }
            (
                FrameCounts::GoodAndErrors {
                    good: good_before,
                    errors: errors_before,
                    lengths: lengths_before,
                },
                FrameCounts::GoodAndErrors { good, errors, lengths },
            ) => {
                let errors = between(errors_before, errors)?;
                let lengths = between(lengths_before, lengths)? + self.lengths_ahead;
                // A device that does not count illegal lengths as errors must not save them up.
                self.lengths_ahead = if self.lengths_ahead > 0 { 0 } else { lengths.saturating_sub(errors) };
                let errors = errors.saturating_sub(lengths);
                Some(FrameSample { frames: between(good_before, good)? + errors, errors })
            }
            (FrameCounts::OkAndAll { ok: ok_before, all: all_before }, FrameCounts::OkAndAll { ok, all }) => {
                let ok = between(ok_before, ok)? + self.ok_ahead;
                let all = between(all_before, all)?;
                self.ok_ahead = ok.saturating_sub(all);
                Some(FrameSample { frames: all, errors: all.saturating_sub(ok) })
            }
            _ => None,
        }
    }
}
