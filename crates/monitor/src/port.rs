//! One direction of one link, from reading to reading: what may be judged of it, and what may not.

use wiremend_units::Time;

use crate::detector::{Detector, Estimate, Thresholds, Verdict};
use crate::foresight::Fec;
use crate::register::{Pace, Step, step};
use crate::window::Sample;

/// What a port has counted so far of frames that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Frames without errors, and with.
    GoodAndBad {
        /// Without.
        good: u64,
        /// With.
        bad: u64,
    },
    /// Frames without errors, and all of them. `all` has to be read first: frames that arrive in between must not look bad.
    OkOfAll {
        /// Without errors.
        ok: u64,
        /// All.
        all: u64,
    },
}

/// A port at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// When, by a clock that never jumps.
    pub at: Time,
    /// It has a carrier.
    pub up: bool,
    /// How often the carrier came or went so far, where that is counted: a flap between two readings shows nowhere else.
    pub carrier_changes: Option<u64>,
    /// Its frames.
    pub counted: Counted,
    /// Its codewords, where they are counted.
    pub fec: Fec,
}

/// Readings that told nothing, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Untold {
    /// The port was down.
    pub down: u64,
    /// The carrier came or went since the reading before: errors of training are no corruption.
    pub flapped: u64,
    /// Counters began anew, or moved as no port's do.
    pub reset: u64,
    /// Nothing was counted: no traffic, or a driver that keeps old values for a while.
    pub unchanged: u64,
}

/// Watches the frames that arrive at a port.
#[derive(Clone, Debug)]
pub struct Port {
    detector: Detector,
    pace: Pace,
    last: Option<Reading>,
    /// Good frames that were read before those that they are a part of.
    ahead: u64,
    untold: Untold,
    /// All that was ever judged.
    total: Sample,
}

impl Port {
    /// Of a port that is no faster than `pace`.
    pub fn new(thresholds: Thresholds, pace: Pace) -> Self {
        Self {
            detector: Detector::new(thresholds),
            pace,
            last: None,
            ahead: 0,
            untold: Untold::default(),
            total: Sample::default(),
        }
    }

    /// The port was read. Readings that are not newer than the last are left out.
    pub fn on_reading(&mut self, reading: Reading) -> Option<Verdict> {
        if self.last.is_some_and(|last| reading.at <= last.at) {
            return None;
        }
        let last = self.last.replace(reading)?;
        let sample = self.between(last, reading)?;
        self.total = self.total.plus(sample);
        self.detector.on_sample(sample)
    }

    /// The link was repaired.
    pub fn on_repair(&mut self) -> Option<Verdict> {
        self.detector.on_repair()
    }

    /// The loss of now.
    pub fn estimate(&self) -> Estimate {
        self.detector.estimate()
    }

    /// Whether the link counts as corrupting.
    pub fn is_corrupting(&self) -> bool {
        self.detector.is_corrupting()
    }

    /// All frames that were judged since it was begun, and how many of them were bad.
    pub fn total(&self) -> Sample {
        self.total
    }

    /// Readings that told nothing.
    pub fn untold(&self) -> Untold {
        self.untold
    }

    /// Goes on as one that had said that the link loses so much, after its daemon began anew.
    pub fn resume(&mut self, said: f64) {
        self.detector.resume(said);
    }

    fn between(&mut self, earlier: Reading, later: Reading) -> Option<Sample> {
        if !later.up {
            self.untold.down += 1;
            return None;
        }
        let counted_flap = match (earlier.carrier_changes, later.carrier_changes) {
            (Some(before), Some(after)) => before != after,
            _ => false,
        };
        if !earlier.up || counted_flap {
            self.untold.flapped += 1;
            self.ahead = 0;
            return None;
        }
        let Some(sample) = self.counted(earlier, later) else {
            self.untold.reset += 1;
            self.ahead = 0;
            return None;
        };
        self.untold.unchanged += u64::from(sample.frames == 0);
        Some(sample)
    }

    fn counted(&mut self, earlier: Reading, later: Reading) -> Option<Sample> {
        let elapsed = later.at.since(earlier.at);
        let between = |before, after| match step(before, after, elapsed, self.pace) {
            Step::Counted(counted) => Some(counted),
            Step::Unknown => None,
        };
        match (earlier.counted, later.counted) {
            (
                Counted::GoodAndBad { good: good_before, bad: bad_before },
                Counted::GoodAndBad { good, bad },
            ) => {
                let errors = between(bad_before, bad)?;
                Some(Sample { frames: between(good_before, good)? + errors, errors })
            }
            (Counted::OkOfAll { ok: ok_before, all: all_before }, Counted::OkOfAll { ok, all }) => {
                let ok = between(ok_before, ok)? + self.ahead;
                let all = between(all_before, all)?;
                self.ahead = ok.saturating_sub(all);
                Some(Sample { frames: all, errors: all.saturating_sub(ok) })
            }
            _ => None,
        }
    }
}
