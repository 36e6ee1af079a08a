//! PFC watchdogs in the style of `SONiC`: each sees only its own port.

use std::collections::BTreeMap;

use wiremend_scenario::StormAction;
use wiremend_units::{LaneId, Span, Time};

use super::poll_schedule::PollSchedule;
use crate::port::{CLASSES, PauseWindow};

/// The watchdogs of all ports of a partition.
pub(crate) struct Watchdog {
    pub(crate) polls: PollSchedule,
    detection: Span,
    restoration: Span,
    pub(crate) action: StormAction,
    /// State of each class of a port that was paused recently.
    states: BTreeMap<(LaneId, u8), ClassState>,
    /// Number of active storms.
    storms: u64,
}

#[derive(Clone, Copy, Default)]
struct ClassState {
    paused_for: Span,
    quiet_for: Span,
    is_storm: bool,
}

/// Result of polling one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WatchdogEvent {
    Storm,
    /// A storm ends. Other classes of the port may still have one.
    Restored {
        others_storm: bool,
    },
}

impl Watchdog {
    pub(crate) fn new(table: &wiremend_scenario::Watchdog, switches: usize) -> Self {
        Self {
            polls: PollSchedule::new(table.poll, switches),
            detection: table.detection,
            restoration: table.restoration,
            action: table.action,
            states: BTreeMap::new(),
            storms: 0,
        }
    }

    /// Returns whether frames to a port are dropped.
    #[inline]
    pub(super) fn drops(&self, lane: LaneId, class: u8) -> bool {
        self.storms > 0 && self.action == StormAction::Drop && self.is_storming(lane, class)
    }

    /// Returns whether a port ignores its pause.
    pub(crate) fn overrides(&self, lane: LaneId, class: u8) -> bool {
        self.storms > 0 && self.action == StormAction::Forward && self.is_storming(lane, class)
    }

    /// Returns whether a class of a port must be polled again.
    pub(crate) fn watches(&self, lane: LaneId, class: u8) -> bool {
        self.states.contains_key(&(lane, class))
    }

    fn is_storming(&self, lane: LaneId, class: u8) -> bool {
        self.states.get(&(lane, class)).is_some_and(|state| state.is_storm)
    }

    /// Polls one class of a port. Between two polls that agree, the class must have been paused without a
    /// break.
    pub(crate) fn poll(
        &mut self,
        now: Time,
        lane: LaneId,
        class: u8,
        window: PauseWindow,
    ) -> Option<WatchdogEvent> {
        let interval = self.polls.interval();
        let is_paused = window.covers(now);
        let since_last = is_paused && window.from + interval <= now;
        if !is_paused && !self.states.contains_key(&(lane, class)) {
            return None;
        }
        let state = self.states.entry((lane, class)).or_default();
        if state.is_storm {
            state.quiet_for = if is_paused { Span::ZERO } else { state.quiet_for + interval };
            if state.quiet_for < self.restoration {
                return None;
            }
            self.states.remove(&(lane, class));
            self.storms -= 1;
            let others_storm = (0..CLASSES as u8).any(|class| self.is_storming(lane, class));
            return Some(WatchdogEvent::Restored { others_storm });
        }
        state.paused_for = if since_last { state.paused_for + interval } else { Span::ZERO };
        if !is_paused {
            self.states.remove(&(lane, class));
            return None;
        }
        if state.paused_for < self.detection {
            return None;
        }
        *state = ClassState { is_storm: true, ..ClassState::default() };
        self.storms += 1;
        Some(WatchdogEvent::Storm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_ms(1);

    fn ms(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn watchdog() -> Watchdog {
        let table = wiremend_scenario::Watchdog {
            poll: MS,
            detection: MS * 2,
            restoration: MS * 3,
            action: StormAction::Drop,
        };
        Watchdog::new(&table, 1)
    }

    #[test]
    fn a_storm_needs_two_polls_and_ends_after_the_restoration_time() {
        let mut watchdog = watchdog();
        let lane = LaneId(4);
        let paused = PauseWindow { from: ms(0), until: Time::MAX };
        assert!(watchdog.poll(ms(1), lane, 3, paused).is_none() && !watchdog.drops(lane, 3));
        assert!(
            watchdog.poll(ms(2), lane, 3, paused) == Some(WatchdogEvent::Storm) && watchdog.drops(lane, 3)
        );
        assert!(!watchdog.drops(lane, 2) && !watchdog.drops(LaneId(5), 3));
        let free = PauseWindow { from: ms(2), until: ms(2) };
        assert!(watchdog.poll(ms(3), lane, 3, free).is_none());
        assert!(
            watchdog.poll(ms(4), lane, 3, PauseWindow { from: ms(3), until: ms(5) }).is_none(),
            "not quiet"
        );
        assert!((5..7).all(|at| watchdog.poll(ms(at), lane, 3, free).is_none()));
        assert!(
            watchdog.poll(ms(7), lane, 3, free) == Some(WatchdogEvent::Restored { others_storm: false })
                && !watchdog.drops(lane, 3)
        );
    }

    #[test]
    fn a_resume_between_polls_restarts_detection() {
        let mut watchdog = watchdog();
        let lane = LaneId(4);
        for at in 1..20 {
            // Paused at each poll, but only since half an interval before it.
            let window = PauseWindow { from: ms(at) - MS / 2, until: Time::MAX };
            assert!(watchdog.poll(ms(at), lane, 3, window).is_none());
        }
    }
}
