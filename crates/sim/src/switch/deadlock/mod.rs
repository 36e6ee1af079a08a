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
pub(crate) use watchdog::Watchdog;

use wiremend_measure::Deadlocks;
use wiremend_units::{LaneId, SwitchId, Time};

use crate::link::Wires;
use crate::port::{Hold, Waiting};

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
}

impl Wires {
    /// A port of a switch was told to hold something: those that watch it come back in time.
    pub(crate) fn watch_held(&mut self, now: Time, switch: SwitchId) {
        let care = &mut self.lossless.as_mut().expect("a lossless switch").care;
        let dogs = care.watchdog.as_mut().map(|watchdog| watchdog.rounds.ask(now, switch));
        let probes = care.probes.as_mut().map(|probes| probes.rounds.ask(now, switch));
        if let Some(due) = [dogs, probes].into_iter().flatten().min() {
            self.queue.arm_by(self.sources.inside(switch), due);
        }
    }

    /// The time of a round of those that watch has come, or not yet.
    pub(crate) fn on_rounds(&mut self, now: Time, switch: SwitchId) {
        let care = &mut self.lossless.as_mut().expect("a lossless switch").care;
        let dogs = care.watchdog.as_mut().map(|watchdog| watchdog.rounds.take_due(now, switch));
        let probes = care.probes.as_mut().map(|probes| probes.rounds.take_due(now, switch));
        let mut goes_on = false;
        if dogs == Some(true) || probes == Some(true) {
            self.catch_up_switch(now, switch);
        }
        if dogs == Some(true) {
            goes_on |= self.on_watchdog(now, switch);
        }
        if probes == Some(true) {
            goes_on |= self.on_probe_round(now, switch);
        }
        let care = &mut self.lossless.as_mut().expect("a lossless switch").care;
        if goes_on {
            self.watch_held(now, switch);
            return;
        }
        let pending = [
            care.watchdog.as_ref().and_then(|watchdog| watchdog.rounds.due(switch)),
            care.probes.as_ref().and_then(|probes| probes.rounds.due(switch)),
        ];
        if let Some(due) = pending.into_iter().flatten().min() {
            self.queue.arm_by(self.sources.inside(switch), due.max(now));
        }
    }

    /// Drops the first frame that waits in a class, whether or not it may leave.
    fn drop_first(&mut self, now: Time, lane: LaneId, class: u8) -> bool {
        let egress = self.egresses[lane.index()].as_mut().expect("a port with an egress");
        let Some(Waiting { frame, len, ingress, .. }) = egress.drop_first(class) else { return false };
        let is_occupied = egress.is_occupied();
        self.drop_for_remedy(now, lane, frame);
        self.lossless.as_mut().expect("a lossless switch").give_back(lane, ingress, class, len, is_occupied);
        true
    }
}
