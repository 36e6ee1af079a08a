//! Looking at a switch every so often, as long as there is something to see.

use wiremend_units::{Span, SwitchId, Time};

/// The rounds of one kind, by switch: on a grid of time that depends on nothing else.
pub(crate) struct Rounds {
    every: Span,
    due: Vec<Option<Time>>,
}

impl Rounds {
    pub(crate) fn new(every: Span, switches: usize) -> Self {
        Self { every, due: vec![None; switches] }
    }

    /// When the next round at a switch is, from now on.
    pub(crate) fn ask(&mut self, now: Time, switch: SwitchId) -> Time {
        let step = self.every.as_ps();
        let next = || Time::from_ps((now.as_ps() / step + 1).saturating_mul(step));
        *self.due[switch.index()].get_or_insert_with(next)
    }

    pub(crate) fn due(&self, switch: SwitchId) -> Option<Time> {
        self.due[switch.index()]
    }

    /// Whether it is time; then the next round has to be asked for again.
    pub(crate) fn take_due(&mut self, now: Time, switch: SwitchId) -> bool {
        let due = &mut self.due[switch.index()];
        due.take_if(|due| *due <= now).is_some()
    }

    pub(crate) fn every(&self) -> Span {
        self.every
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_lie_on_a_grid() {
        let mut rounds = Rounds::new(Span::from_ns(100), 1);
        let switch = SwitchId(0);
        assert_eq!(rounds.ask(Time::from_ns(30), switch), Time::from_ns(100));
        assert_eq!(rounds.ask(Time::from_ns(99), switch), Time::from_ns(100));
        assert!(!rounds.take_due(Time::from_ns(99), switch));
        assert!(rounds.take_due(Time::from_ns(100), switch));
        assert!(!rounds.take_due(Time::from_ns(100), switch), "once");
        assert_eq!(rounds.ask(Time::from_ns(100), switch), Time::from_ns(200));
    }
}
