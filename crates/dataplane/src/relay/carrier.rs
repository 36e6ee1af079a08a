//! Telling one side that the other has lost its carrier, as a cable would: by taking its port down.

use wiremend_units::{Span, Time};

/// Which port was taken down, and when to look again. Ports are 0, the LAN's, and 1, the link's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carrier {
    taken: Option<usize>,
    /// A port that was just brought up has until then to find its carrier.
    settled_at: [Time; 2],
}

/// How a port stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Standing {
    pub(super) up: bool,
    pub(super) carrier: bool,
}

/// What to do with a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub(super) port: usize,
    pub(super) up: bool,
}

/// Longer than two ends take to agree on how they speak.
const SETTLE: Span = Span::from_ms(5000);

impl Carrier {
    /// Both ports have one.
    pub(super) fn new() -> Self {
        Self { taken: None, settled_at: [Time::ZERO; 2] }
    }

    /// What follows from how the ports stand now. At most one of them is ever down on our account: of the one that is, nobody knows
    /// what its carrier would be, so it follows the other one alone.
    pub(super) fn follow(&mut self, now: Time, ports: [Standing; 2]) -> Option<Change> {
        let alive = ports.map(|port| port.up && port.carrier);
        if let Some(port) = self.taken {
            if alive[1 - port] || ports[port].up {
                self.taken = None;
                self.settled_at[port] = now + SETTLE;
                // If somebody else has brought it up already, that is theirs to know.
                return (!ports[port].up).then_some(Change { port, up: true });
            }
            return None;
        }
        let lost = (0..2).find(|port| !alive[*port] && alive[1 - *port] && self.settled_at[*port] <= now)?;
        self.taken = Some(1 - lost);
        Some(Change { port: 1 - lost, up: false })
    }

    /// Whether to look again although nothing changes: a port was brought up, and has not found its carrier yet or has just had the time
    /// for it.
    pub(super) fn is_unsettled(&self, now: Time) -> bool {
        self.settled_at.into_iter().any(|at| now < at + SETTLE && at > Time::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Standing = Standing { up: true, carrier: true };
    const DEAD: Standing = Standing { up: true, carrier: false };
    const DOWN: Standing = Standing { up: false, carrier: false };

    #[test]
    fn a_port_follows_the_other_and_comes_back() {
        for lost in [0, 1] {
            let mut carrier = Carrier::new();
            let with = |a, b| if lost == 0 { [a, b] } else { [b, a] };
            assert_eq!(carrier.follow(Time::ZERO, [UP, UP]), None);
            let down = carrier.follow(Time::ZERO, with(DEAD, UP));
            assert_eq!(down, Some(Change { port: 1 - lost, up: false }));
            assert_eq!(carrier.follow(Time::ZERO, with(DEAD, DOWN)), None, "what we did is no news");
            let up = carrier.follow(Time::ZERO, with(UP, DOWN));
            assert_eq!(up, Some(Change { port: 1 - lost, up: true }));
            assert_eq!(carrier.follow(Time::ZERO, with(UP, DEAD)), None, "it may take a while");
            assert!(carrier.is_unsettled(Time::ZERO + SETTLE));
            assert_eq!(
                carrier.follow(Time::ZERO + SETTLE, with(UP, DEAD)),
                Some(Change { port: lost, up: false })
            );
        }
    }

    #[test]
    fn two_that_are_both_lost_are_left_alone() {
        let mut carrier = Carrier::new();
        assert_eq!(carrier.follow(Time::ZERO, [DEAD, DEAD]), None);
        assert_eq!(carrier.follow(Time::ZERO, [DEAD, UP]), Some(Change { port: 1, up: false }));
    }

    #[test]
    fn what_somebody_else_brings_up_is_not_ours_any_more() {
        let mut carrier = Carrier::new();
        carrier.follow(Time::ZERO, [UP, DEAD]);
        assert_eq!(carrier.follow(Time::ZERO, [DEAD, DEAD]), None);
        assert_eq!(carrier.follow(Time::ZERO, [DEAD, UP]), None, "it has time to settle");
    }
}
