//! Which classes a port must not send now, by time.
//!
//! Whether a frame may start is judged by the instant alone: a hold names the first instant at which nothing may
//! start, and that lies after the instant at which the port learns of it. So of a pause and a departure at one
//! instant the departure always goes, whichever event is handled first; and at its end a hold is over for all. A
//! class that is let go early counts from that instant on, among other events of the instant in their usual order,
//! like a frame that arrives.

use wiremend_units::{Span, Time};

use crate::port::CLASSES;

/// When a class is held: from an instant on and before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hold {
    pub(crate) from: Time,
    /// [`Time::MAX`]: until told otherwise.
    pub(crate) until: Time,
}

impl Hold {
    /// The shortest time: a hold that is announced begins at least so much later.
    pub(crate) const NOTICE: Span = Span::from_ps(1);

    /// None at all.
    pub(crate) const NONE: Self = Self { from: Time::ZERO, until: Time::ZERO };

    #[inline]
    pub(crate) fn covers(self, at: Time) -> bool {
        self.from <= at && at < self.until
    }

    /// A new hold in the place of this one; where this one still lasts, it goes on without a gap.
    pub(crate) fn followed_by(self, hold: Self) -> Self {
        let from = if self.from <= hold.from && hold.from <= self.until { self.from } else { hold.from };
        Self { from, until: hold.until }
    }

    /// How much of it lies before an instant.
    pub(crate) fn lasted(self, now: Time) -> Span {
        self.until.min(now).since(self.from)
    }
}

/// What holds the classes of a port.
#[derive(Clone, Debug)]
pub(crate) struct Pauses {
    holds: [Hold; CLASSES],
}

impl Pauses {
    pub(crate) const fn new() -> Self {
        Self { holds: [Hold::NONE; CLASSES] }
    }

    /// A new hold takes the place of the old one, as the timer of a PAUSE frame does (IEEE 802.1Qbb). One that ends
    /// at once lets the class go. Where the old one still lasts, it goes on without a gap.
    pub(crate) fn pause(&mut self, class: u8, hold: Hold) {
        let old = &mut self.holds[usize::from(class)];
        *old = old.followed_by(hold);
    }

    /// Whether the class is held at an instant or at a later one, as far as is known.
    #[inline]
    pub(crate) fn lasts(&self, class: u8, at: Time) -> bool {
        self.holds[usize::from(class)].until > at
    }

    #[inline]
    pub(crate) fn is_paused(&self, class: u8, at: Time) -> bool {
        self.holds[usize::from(class)].covers(at)
    }

    /// When the class may send: `at`, or the end of the hold that covers it.
    #[inline]
    pub(crate) fn opens(&self, class: u8, at: Time) -> Time {
        let hold = self.holds[usize::from(class)];
        if hold.covers(at) { hold.until } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn a_hold_includes_its_start_and_not_its_end() {
        let mut pauses = Pauses::new();
        pauses.pause(3, Hold { from: at(10), until: at(50) });
        let paused = |ns| pauses.is_paused(3, at(ns));
        assert_eq!([0, 9, 10, 49, 50, 99].map(paused), [false, false, true, true, false, false]);
        assert!(!pauses.is_paused(2, at(20)));
        assert_eq!([0, 10, 50, 60].map(|ns| pauses.opens(3, at(ns))), [at(0), at(50), at(50), at(60)]);
    }

    #[test]
    fn a_renewed_hold_has_no_gap_and_a_later_one_does() {
        let mut pauses = Pauses::new();
        pauses.pause(0, Hold { from: at(10), until: at(50) });
        pauses.pause(0, Hold { from: at(40), until: at(90) });
        // Events of the instant at which the second came may still ask.
        assert!(pauses.is_paused(0, at(39)));
        assert_eq!(pauses.opens(0, at(39)), at(90));
        pauses.pause(0, Hold { from: at(91), until: at(95) });
        assert!(!pauses.is_paused(0, at(90)), "at its end the old hold was over");
    }

    #[test]
    fn a_hold_that_ends_at_once_lets_go() {
        let mut pauses = Pauses::new();
        pauses.pause(7, Hold { from: at(10), until: Time::MAX });
        assert_eq!(pauses.opens(7, at(20)), Time::MAX);
        pauses.pause(7, Hold { from: at(21), until: at(20) });
        assert!(!pauses.is_paused(7, at(20)) && !pauses.is_paused(7, at(21)));
    }
}
