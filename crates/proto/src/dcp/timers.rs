//! Timers of a requester: the timeout, probes, and when they stop.

use wiremend_units::Time;

use super::config::{Config, Parameters};
use super::requester::{PROBE_DOUBLINGS_MAX, Requester, after};
use super::send_units::SendUnit;
use crate::engine::Status;

impl Requester {
    /// Returns the oldest unit, if its timers run.
    #[inline]
    pub(super) fn timed_unit(&self) -> Option<&SendUnit> {
        self.units.oldest().filter(|unit| unit.timer_start != Time::MAX && self.held_since.is_none())
    }

    /// Time of the next probe for a unit whose last activity was at `last_activity`. An early probe causes
    /// duplicates, so the wait also grows with the recounts that they cost.
    pub(super) fn probe_at(&self, last_activity: Time) -> Time {
        let Some(quiet) = self.quiet_time else { return Time::MAX };
        if self.probe_due {
            return Time::MAX;
        }
        last_activity
            .max(self.last_probe)
            .saturating_add(quiet * (1 << (self.unanswered_probes + self.recounts).min(PROBE_DOUBLINGS_MAX)))
    }

    /// Handles a quiet time of the oldest unit. Packets that wait in the sender are not lost, and a probe
    /// would cause duplicates. It is therefore delayed until they are sent, unless the window is full and
    /// they cannot be sent.
    pub(super) fn on_quiet(&mut self, config: &Config, now: Time) {
        if self.is_open(config) && self.oldest_is_sendable(&config.parameters) {
            if let Some(unit) = self.units.get_mut(self.units.acknowledged) {
                unit.last_activity = now;
            }
            return;
        }
        self.probe_due = true;
    }

    /// Stops the timers while nothing is in flight and packets wait for congestion control or the port: no
    /// response can arrive meanwhile.
    pub(super) fn update_hold(&mut self, config: &Config, now: Time) {
        let waits = self.credit.in_flight() == 0
            && self.is_open(config)
            && self.oldest_is_sendable(&config.parameters);
        match self.held_since {
            None if waits => self.held_since = Some(now),
            Some(_) if !waits => self.end_hold(now),
            _ => {}
        }
    }

    /// Returns whether the oldest unit was started and has a packet to send.
    pub(super) fn oldest_is_sendable(&self, parameters: &Parameters) -> bool {
        let Some(unit) = self.units.oldest().filter(|unit| unit.timer_start != Time::MAX) else {
            return false;
        };
        let new = self.units.next < unit.end() && self.has_new(parameters);
        new || unit.replay_next != u64::MAX || self.queue.has_unit(self.units.acknowledged)
    }

    pub(super) fn end_hold(&mut self, now: Time) {
        let Some(since) = self.held_since.take() else { return };
        let span = now.since(since);
        if let Some(unit) = self.units.get_mut(self.units.acknowledged) {
            unit.timer_start = unit.timer_start.saturating_add(span);
            unit.last_activity = unit.last_activity.saturating_add(span);
        }
    }

    /// Resends every unit without any response for a timeout: after a link failure, all of them are affected.
    pub(super) fn restart_timed_out(&mut self, config: &Config, now: Time) {
        let quiet = |unit: &SendUnit| after(unit.timer_start, config.base.timeout) <= now;
        let numbers: Vec<u64> =
            self.units.in_flight().filter(|(_, unit)| quiet(unit)).map(|(number, _)| number).collect();
        for number in numbers {
            self.dcp_counters.restarts += 1;
            self.restart(config, now, number);
        }
        self.credit.reset();
    }

    pub(super) fn fail(&mut self, status: Status) {
        self.failed = Some(status);
        self.probe_due = false;
    }
}
