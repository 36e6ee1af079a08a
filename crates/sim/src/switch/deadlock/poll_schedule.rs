//! Periodic polls of switches, only while there is a paused port.

use wiremend_units::{Span, SwitchId, Time};

/// The polls of one kind, by switch, on a fixed time grid.
pub(crate) struct PollSchedule {
    interval: Span,
    due: Vec<Option<Time>>,
}

impl PollSchedule {
    pub(crate) fn new(interval: Span, switches: usize) -> Self {
        Self { interval, due: vec![None; switches] }
    }

    /// Returns the time of the next poll of a switch, and schedules it.
    pub(crate) fn next_poll(&mut self, now: Time, switch: SwitchId) -> Time {
        let step = self.interval.as_ps();
        let next = || Time::from_ps((now.as_ps() / step + 1).saturating_mul(step));
        *self.due[switch.index()].get_or_insert_with(next)
    }

    pub(crate) fn due(&self, switch: SwitchId) -> Option<Time> {
        self.due[switch.index()]
    }

    /// Returns whether a poll is due. The next poll must be scheduled again.
    pub(crate) fn take_due(&mut self, now: Time, switch: SwitchId) -> bool {
        let due = &mut self.due[switch.index()];
        due.take_if(|due| *due <= now).is_some()
    }

    pub(crate) fn interval(&self) -> Span {
        self.interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_lie_on_a_grid() {
        let mut rounds = PollSchedule::new(Span::from_ns(100), 1);
        let switch = SwitchId(0);
        assert_eq!(rounds.next_poll(Time::from_ns(30), switch), Time::from_ns(100));
        assert_eq!(rounds.next_poll(Time::from_ns(99), switch), Time::from_ns(100));
        assert!(!rounds.take_due(Time::from_ns(99), switch));
        assert!(rounds.take_due(Time::from_ns(100), switch));
        assert!(!rounds.take_due(Time::from_ns(100), switch), "once");
        assert_eq!(rounds.next_poll(Time::from_ns(100), switch), Time::from_ns(200));
    }
}
