//! Detection and resolution of PFC deadlocks.
//!
//! [`detector`] checks all switches together at fixed times and finds the true deadlocks. The other modules
//! use only local state of a switch: [`watchdog`] measures how long a port is paused, [`probe`] follows
//! pauses to find cycles, and [`transit`] checks frames for loops. [`pause_log`] records pause intervals for
//! a drawing.
//!
//! ```text
//!   PFC frame ──► pause state ──► pause log     forward ──► transit ──► port
//!                      └────► watchdog, probe ──► drop queued frames ──► room ──► neighbours resume
//! ```

mod detector;
mod pause_log;
mod poll_schedule;
mod probe;
mod report;
mod transit;
mod watchdog;

pub use detector::Deadlock;
pub use pause_log::PauseInterval;

pub(crate) use detector::{DeadlockCheck, update_deadlocks};
pub(crate) use pause_log::PauseLog;
pub(crate) use probe::Probes;
pub(crate) use report::{PauseReport, PausedPort};
pub(crate) use transit::{TransitChecks, TransitVerdict};
pub(crate) use watchdog::{Watchdog, WatchdogEvent};

use wiremend_measure::DeadlockCounts;
use wiremend_units::{LaneId, Time};

use crate::frame::Probe;
use crate::port::PauseWindow;

/// Deadlock remedies of the lossless switches of a partition. By default there are none.
#[derive(Default)]
pub(crate) struct DeadlockRemedies {
    pub(crate) watchdog: Option<Box<Watchdog>>,
    pub(crate) probes: Option<Box<Probes>>,
    pub(crate) log: Option<Box<PauseLog>>,
    /// Counters of dropped frames and probes.
    pub(crate) counts: DeadlockCounts,
    /// Times of detected storms, and of returned probes.
    pub(crate) storms: Vec<Time>,
    pub(crate) probe_detections: Vec<Time>,
}

impl DeadlockRemedies {
    /// Returns whether frames to a port are dropped.
    #[inline]
    pub(crate) fn drops(&self, lane: LaneId, class: u8) -> bool {
        self.watchdog.as_ref().is_some_and(|watchdog| watchdog.drops(lane, class))
    }

    /// Logs that the pause of a port has changed.
    #[inline]
    pub(crate) fn on_pause(
        &mut self,
        now: Time,
        lane: LaneId,
        class: u8,
        old: PauseWindow,
        new: PauseWindow,
    ) {
        if let Some(log) = &mut self.log {
            log.record(now, lane, class, old, new);
        }
    }

    /// Returns whether a port ignores its pause.
    pub(crate) fn overrides(&self, lane: LaneId, class: u8) -> bool {
        self.watchdog.as_ref().is_some_and(|watchdog| watchdog.overrides(lane, class))
    }

    /// Queues a probe at a port.
    pub(crate) fn push_probe(&mut self, lane: LaneId, probe: Probe) {
        if let Some(probes) = &mut self.probes {
            probes.push(lane, probe);
            self.counts.probes += 1;
        }
    }

    /// Removes the next probe of a port.
    pub(crate) fn pop_probe(&mut self, lane: LaneId) -> Option<Probe> {
        self.probes.as_mut()?.pop(lane)
    }

    /// Returns whether a port has a queued probe.
    pub(crate) fn has_probe(&self, lane: LaneId) -> bool {
        self.probes.as_ref().is_some_and(|probes| probes.is_due(lane))
    }
}
