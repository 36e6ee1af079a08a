//! A watchdog at each port, in the manner of `SONiC`: it sees its own port and nothing else.

use std::collections::BTreeMap;

use wiremend_scenario::StormAction;
use wiremend_units::{LaneId, Span, Time};

use super::round::Rounds;
use crate::port::{CLASSES, Hold};

/// The watchdogs of all ports of a part.
pub(crate) struct Watchdog {
    pub(crate) rounds: Rounds,
    detection: Span,
    restoration: Span,
    pub(crate) action: StormAction,
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

/// What a poll of one class has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A storm begins.
    Storm,
    /// A storm is over; other classes of the port may go on with theirs.
    Restored { others_storm: bool },
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

    /// Whether a class of a port is to be looked at again.
    pub(crate) fn watches(&self, lane: LaneId, class: u8) -> bool {
        self.dogs.contains_key(&(lane, class))
    }

    fn is_storming(&self, lane: LaneId, class: u8) -> bool {
        self.dogs.get(&(lane, class)).is_some_and(|dog| dog.storms)
    }

    /// Looks at one class of a port. Between two polls that agree the class must never have been let go.
    pub(crate) fn poll(&mut self, now: Time, lane: LaneId, class: u8, hold: Hold) -> Option<Found> {
        let every = self.rounds.every();
        let is_held = hold.covers(now);
        let since_last = is_held && hold.from + every <= now;
        if !is_held && !self.dogs.contains_key(&(lane, class)) {
            return None;
        }
        let dog = self.dogs.entry((lane, class)).or_default();
        if dog.storms {
            dog.quiet_for = if is_held { Span::ZERO } else { dog.quiet_for + every };
            if dog.quiet_for < self.restoration {
                return None;
            }
            self.dogs.remove(&(lane, class));
            self.storms -= 1;
            let others_storm = (0..CLASSES as u8).any(|class| self.is_storming(lane, class));
            return Some(Found::Restored { others_storm });
        }
        dog.held_for = if since_last { dog.held_for + every } else { Span::ZERO };
        if !is_held {
            self.dogs.remove(&(lane, class));
            return None;
        }
        if dog.held_for < self.detection {
            return None;
        }
        *dog = Dog { storms: true, ..Dog::default() };
        self.storms += 1;
        Some(Found::Storm)
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
        assert!(dog.poll(ms(1), lane, 3, held).is_none() && !dog.drops(lane, 3));
        assert!(dog.poll(ms(2), lane, 3, held) == Some(Found::Storm) && dog.drops(lane, 3));
        assert!(!dog.drops(lane, 2) && !dog.drops(LaneId(5), 3));
        let free = Hold { from: ms(2), until: ms(2) };
        assert!(dog.poll(ms(3), lane, 3, free).is_none());
        assert!(dog.poll(ms(4), lane, 3, Hold { from: ms(3), until: ms(5) }).is_none(), "not quiet");
        assert!((5..7).all(|at| dog.poll(ms(at), lane, 3, free).is_none()));
        assert!(
            dog.poll(ms(7), lane, 3, free) == Some(Found::Restored { others_storm: false })
                && !dog.drops(lane, 3)
        );
    }

    #[test]
    fn a_port_that_was_let_go_in_between_starts_over() {
        let mut dog = watchdog();
        let lane = LaneId(4);
        for at in 1..20 {
            // Held at each poll, but only since half of a poll before it.
            let hold = Hold { from: ms(at) - MS / 2, until: Time::MAX };
            assert!(dog.poll(ms(at), lane, 3, hold).is_none());
        }
    }
}
