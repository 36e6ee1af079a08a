//! Deadlocks of lossless switches: how they are noticed, and what is done about them.
//!
//! [`observer`] sees all switches at once, at fixed instants, and says what is true. The others are what a switch can do with what it sees by
//! itself: [`watchdog`] looks at how long a port had to hold, [`probe`] asks along the pauses whether they lead back, and [`passage`]
//! looks at frames on their way through. [`log`] remembers who paused whom, for a picture.
//!
//! ```text
//!   PFC frame ──► told ──► log            forward ──► passage ──► port
//!                   └────► watchdog, probe ──► drop what waits ──► room ──► neighbours go on
//! ```

mod log;
mod observer;
mod passage;
mod probe;
mod report;
mod round;
mod watchdog;

pub use log::PauseInterval;
pub use observer::Deadlock;

pub(crate) use log::PauseLog;
pub(crate) use observer::{Watch as Observer, judge};
pub(crate) use passage::{Passage, Verdict};
pub(crate) use probe::Probes;
pub(crate) use report::Report;
pub(crate) use watchdog::{Found, Watchdog};

use wiremend_measure::Deadlocks;
use wiremend_units::{LaneId, Time};

use crate::frame::Probe;
use crate::port::Hold;

/// What the lossless switches of a part do beside their duty. Nothing, if nothing is asked for.
#[derive(Default)]
pub(crate) struct Care {
    pub(crate) watchdog: Option<Box<Watchdog>>,
    pub(crate) probes: Option<Box<Probes>>,
    pub(crate) log: Option<Box<PauseLog>>,
    /// What they dropped and sent.
    pub(crate) counts: Deadlocks,
    /// When a watchdog called a storm, and when a probe came back.
    pub(crate) storms: Vec<Time>,
    pub(crate) proofs: Vec<Time>,
}

impl Care {
    /// Whether all that comes for a port is dropped.
    #[inline]
    pub(crate) fn drops(&self, lane: LaneId, class: u8) -> bool {
        self.watchdog.as_ref().is_some_and(|watchdog| watchdog.drops(lane, class))
    }

    /// A port was told to hold a class, or to let it go.
    #[inline]
    pub(crate) fn on_told(&mut self, now: Time, lane: LaneId, class: u8, old: Hold, new: Hold) {
        if let Some(log) = &mut self.log {
            log.note(now, lane, class, old, new);
        }
    }

    /// Whether a port sends although it was told to hold.
    pub(crate) fn overrides(&self, lane: LaneId, class: u8) -> bool {
        self.watchdog.as_ref().is_some_and(|watchdog| watchdog.overrides(lane, class))
    }

    /// A port is to send a probe.
    pub(crate) fn push_probe(&mut self, lane: LaneId, probe: Probe) {
        if let Some(probes) = &mut self.probes {
            probes.push(lane, probe);
            self.counts.probes += 1;
        }
    }

    /// The next probe that leaves a port.
    pub(crate) fn pop_probe(&mut self, lane: LaneId) -> Option<Probe> {
        self.probes.as_mut()?.pop(lane)
    }

    /// Whether a port has a probe to send.
    pub(crate) fn has_probe(&self, lane: LaneId) -> bool {
        self.probes.as_ref().is_some_and(|probes| probes.is_due(lane))
    }
}
