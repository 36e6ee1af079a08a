//! Carrier propagation: when one port loses its carrier, the relay takes the other port down.

use wiremend_units::{Span, Time};

/// Decides which port to take down or bring up. Port 0 is the LAN, port 1 the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carrier {
    taken_down: Option<usize>,
    /// Time by which a port that was brought up must have a carrier.
    settle_until: [Time; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PortState {
    pub(super) up: bool,
    pub(super) carrier: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PortChange {
    pub(super) port: usize,
    pub(super) up: bool,
}

/// Longer than auto-negotiation takes.
const SETTLE_TIME: Span = Span::from_ms(5000);

impl Carrier {
    /// Creates the state in which both ports have a carrier.
    pub(super) fn new() -> Self {
        Self { taken_down: None, settle_until: [Time::ZERO; 2] }
    }

    /// Returns the change that the state of the ports requires. The relay takes down at most one port at a
    /// time. The carrier of a port that is down is unknown, so that port follows the other one.
    pub(super) fn update(&mut self, now: Time, ports: [PortState; 2]) -> Option<PortChange> {
        let alive = ports.map(|port| port.up && port.carrier);
        for (settle_until, _) in self.settle_until.iter_mut().zip(alive).filter(|(_, alive)| *alive) {
            // It has found its carrier: from now on a loss is a loss.
            *settle_until = Time::ZERO;
        }
        if let Some(port) = self.taken_down {
            if alive[1 - port] || ports[port].up {
                self.taken_down = None;
                self.settle_until[port] = now + SETTLE_TIME;
                // Another program may have brought it up already.
                return (!ports[port].up).then_some(PortChange { port, up: true });
            }
            return None;
        }
        let lost =
            (0..2).find(|port| !alive[*port] && alive[1 - *port] && self.settle_until[*port] <= now)?;
        self.taken_down = Some(1 - lost);
        Some(PortChange { port: 1 - lost, up: false })
    }

    /// Returns whether to check the ports without an event: a port was brought up, and its time to find a
    /// carrier is running or has just ended.
    pub(super) fn needs_check(&self, now: Time) -> bool {
        self.settle_until.into_iter().any(|at| now < at + SETTLE_TIME && at > Time::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: PortState = PortState { up: true, carrier: true };
    const DEAD: PortState = PortState { up: true, carrier: false };
    const DOWN: PortState = PortState { up: false, carrier: false };

    #[test]
    fn port_goes_down_and_up_with_the_other() {
        for lost in [0, 1] {
            let mut carrier = Carrier::new();
            let with = |a, b| if lost == 0 { [a, b] } else { [b, a] };
            assert_eq!(carrier.update(Time::ZERO, [UP, UP]), None);
            let down = carrier.update(Time::ZERO, with(DEAD, UP));
            assert_eq!(down, Some(PortChange { port: 1 - lost, up: false }));
            assert_eq!(
                carrier.update(Time::ZERO, with(DEAD, DOWN)),
                None,
                "own changes cause no further change"
            );
            let up = carrier.update(Time::ZERO, with(UP, DOWN));
            assert_eq!(up, Some(PortChange { port: 1 - lost, up: true }));
            assert_eq!(carrier.update(Time::ZERO, with(UP, DEAD)), None, "it has time to find a carrier");
            assert!(carrier.needs_check(Time::ZERO + SETTLE_TIME));
            assert_eq!(
                carrier.update(Time::ZERO + SETTLE_TIME, with(UP, DEAD)),
                Some(PortChange { port: lost, up: false })
            );
        }
    }

    #[test]
    fn loss_right_after_a_return_is_passed_on() {
        let mut carrier = Carrier::new();
        carrier.update(Time::ZERO, [UP, DEAD]);
        assert_eq!(carrier.update(Time::ZERO, [DOWN, UP]), Some(PortChange { port: 0, up: true }));
        assert_eq!(carrier.update(Time::ZERO, [DEAD, UP]), None, "it has time to find a carrier");
        assert_eq!(carrier.update(Time::ZERO, [UP, UP]), None);
        let lost = carrier.update(Time::ZERO + Span::from_ms(1), [DEAD, UP]);
        assert_eq!(lost, Some(PortChange { port: 1, up: false }));
    }

    #[test]
    fn ports_are_unchanged_if_both_lost_their_carrier() {
        let mut carrier = Carrier::new();
        assert_eq!(carrier.update(Time::ZERO, [DEAD, DEAD]), None);
        assert_eq!(carrier.update(Time::ZERO, [DEAD, UP]), Some(PortChange { port: 1, up: false }));
    }

    #[test]
    fn port_that_another_program_brings_up_is_left_up() {
        let mut carrier = Carrier::new();
        carrier.update(Time::ZERO, [UP, DEAD]);
        assert_eq!(carrier.update(Time::ZERO, [DEAD, DEAD]), None);
        assert_eq!(carrier.update(Time::ZERO, [DEAD, UP]), None, "it has time to find a carrier");
    }
}
