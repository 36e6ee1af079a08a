//! A watchdog at each port, in the manner of `SONiC`: it sees its own port and nothing else.

use std::collections::BTreeMap;

use wiremend_scenario::StormAction;
use wiremend_units::{LaneId, Span, SwitchId, Time};

use super::round::Rounds;
use crate::link::{PortFlags, Wires};
use crate::port::{CLASSES, Hold};

/// The watchdogs of all ports of a part.
pub(crate) struct Watchdog {
    pub(super) rounds: Rounds,
    detection: Span,
    restoration: Span,
    action: StormAction,
    /// Of ports that had to hold something lately.
    dogs: BTreeMap<(LaneId, u8), Dog>,
    /// Storms that go on.
    storms: u64,
}

#[derive(Clone, Copy, Default)]
struct Dog {
    held_for: Span,
    quiet_for: Span,
    storms: bool,
}

/// What a poll of one class came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Poll {
    Storm,
    Restored,
    Nothing,
}

impl Watchdog {
    pub(crate) fn new(table: &wiremend_scenario::Watchdog, switches: usize) -> Self {
        Self {
            rounds: Rounds::new(table.poll, switches),
            detection: table.detection,
            restoration: table.restoration,
            action: table.action,
            dogs: BTreeMap::new(),
            storms: 0,
        }
    }

    /// Whether all that comes for a port is dropped.
    #[inline]
    pub(super) fn drops(&self, lane: LaneId, class: u8) -> bool {
        self.storms > 0 && self.action == StormAction::Drop && self.is_storming(lane, class)
    }

    /// Whether a port sends although it was told to hold.
    pub(crate) fn overrides(&self, lane: LaneId, class: u8) -> bool {
        self.storms > 0 && self.action == StormAction::Forward && self.is_storming(lane, class)
    }

    fn is_storming(&self, lane: LaneId, class: u8) -> bool {
        self.dogs.get(&(lane, class)).is_some_and(|dog| dog.storms)
    }

    /// Looks at one class of a port. Between two polls that agree the class must never have been let go.
    fn poll(&mut self, now: Time, lane: LaneId, class: u8, hold: Hold) -> Poll {
        let every = self.rounds.every();
        let is_held = hold.covers(now);
        let since_last = is_held && hold.from + every <= now;
        if !is_held && !self.dogs.contains_key(&(lane, class)) {
            return Poll::Nothing;
        }
        let dog = self.dogs.entry((lane, class)).or_default();
        if dog.storms {
            dog.quiet_for = if is_held { Span::ZERO } else { dog.quiet_for + every };
            if dog.quiet_for < self.restoration {
                return Poll::Nothing;
            }
            self.dogs.remove(&(lane, class));
            self.storms -= 1;
            return Poll::Restored;
        }
        dog.held_for = if since_last { dog.held_for + every } else { Span::ZERO };
        if !is_held {
            self.dogs.remove(&(lane, class));
            return Poll::Nothing;
        }
        if dog.held_for < self.detection {
            return Poll::Nothing;
        }
        *dog = Dog { storms: true, ..Dog::default() };
        self.storms += 1;
        Poll::Storm
    }
}

impl Wires {
    /// Polls all ports of a switch. Returns whether there is reason to come back.
    pub(super) fn on_watchdog(&mut self, now: Time, switch: SwitchId) -> bool {
        let lanes = self.lossless.as_ref().expect("a lossless switch").lanes_of(switch).to_vec();
        let mut goes_on = false;
        for lane in lanes {
            for class in 0..CLASSES as u8 {
                let lossless = self.lossless.as_mut().expect("a lossless switch");
                let hold = lossless.hold(lane, class);
                let watchdog = lossless.care.watchdog.as_mut().expect("a watchdog polls");
                let poll = watchdog.poll(now, lane, class, hold);
                let action = watchdog.action;
                let still_storms = (0..CLASSES as u8).any(|class| watchdog.is_storming(lane, class));
                goes_on |= watchdog.dogs.contains_key(&(lane, class));
                match poll {
                    Poll::Storm => self.on_storm(now, lane, class, action),
                    // What the port was told meanwhile counts again.
                    Poll::Restored if action == StormAction::Forward => self.pause(now, lane, class, hold),
                    Poll::Restored if !still_storms => {
                        self.ports[lane.index()].flags.clear(PortFlags::STORMING);
                    }
                    Poll::Restored | Poll::Nothing => {}
                }
            }
        }
        goes_on
    }

    fn on_storm(&mut self, now: Time, lane: LaneId, class: u8, action: StormAction) {
        let care = &mut self.lossless.as_mut().expect("a lossless switch").care;
        care.counts.storms += 1;
        care.storms.push(now);
        match action {
            StormAction::Drop => {
                self.ports[lane.index()].flags.set(PortFlags::STORMING);
                let mut dropped = 0;
                while self.drop_first(now, lane, class) {
                    dropped += 1;
                }
                self.lossless.as_mut().expect("a lossless switch").care.counts.flushed_frames += dropped;
                self.announce(now, lane);
            }
            StormAction::Forward => {
                self.pause(now, lane, class, Hold { from: now + Hold::NOTICE, until: now });
            }
            StormAction::Alert => {}
        }
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
    fn a_storm_takes_two_polls_that_agree_and_ends_after_quiet() {
        let mut dog = watchdog();
        let lane = LaneId(4);
        let held = Hold { from: ms(0), until: Time::MAX };
        assert!(dog.poll(ms(1), lane, 3, held) == Poll::Nothing && !dog.drops(lane, 3));
        assert!(dog.poll(ms(2), lane, 3, held) == Poll::Storm && dog.drops(lane, 3));
        assert!(!dog.drops(lane, 2) && !dog.drops(LaneId(5), 3));
        let free = Hold { from: ms(2), until: ms(2) };
        assert!(dog.poll(ms(3), lane, 3, free) == Poll::Nothing);
        assert!(dog.poll(ms(4), lane, 3, Hold { from: ms(3), until: ms(5) }) == Poll::Nothing, "not quiet");
        assert!((5..7).all(|at| dog.poll(ms(at), lane, 3, free) == Poll::Nothing));
        assert!(dog.poll(ms(7), lane, 3, free) == Poll::Restored && !dog.drops(lane, 3));
    }

    #[test]
    fn a_port_that_was_let_go_in_between_starts_over() {
        let mut dog = watchdog();
        let lane = LaneId(4);
        for at in 1..20 {
            // Held at each poll, but only since half of a poll before it.
            let hold = Hold { from: ms(at) - MS / 2, until: Time::MAX };
            assert!(dog.poll(ms(at), lane, 3, hold) == Poll::Nothing);
        }
    }
}
