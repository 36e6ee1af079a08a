//! The pauses of a port's classes.
//!
//! Whether a frame may start depends on time alone. A pause names the first instant at which no frame may
//! start, and that instant is later than the one at which the port gets the pause. So of a pause and a
//! departure at one instant the departure always happens, whichever event is handled first. A pause is over
//! at its end for all events of that instant. An early resume takes effect at its instant, in the usual order
//! of events, like an arriving frame.

use wiremend_units::{LaneId, Span, Time};

use crate::port::CLASSES;

/// The time in which a class is paused: from `from`, before `until`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PauseWindow {
    pub(crate) from: Time,
    /// [`Time::MAX`]: until resumed.
    pub(crate) until: Time,
}

impl PauseWindow {
    /// The shortest time from the receipt of a pause to its start.
    pub(crate) const MIN_LEAD: Span = Span::from_ps(1);

    /// No pause.
    pub(crate) const NONE: Self = Self { from: Time::ZERO, until: Time::ZERO };

    #[inline]
    pub(crate) fn covers(self, at: Time) -> bool {
        self.from <= at && at < self.until
    }

    /// Replaces this pause by a new one. If this one is still active, the pause continues without a gap.
    pub(crate) fn followed_by(self, window: Self) -> Self {
        let from =
            if self.from <= window.from && window.from <= self.until { self.from } else { window.from };
        Self { from, until: window.until }
    }

    /// Returns the length of the pause before `now`.
    pub(crate) fn elapsed(self, now: Time) -> Span {
        self.until.min(now).since(self.from)
    }
}

/// A pause of a class at the port that sends over a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PortPause {
    pub(crate) lane: LaneId,
    pub(crate) class: u8,
    pub(crate) window: PauseWindow,
}

impl PortPause {
    /// Returns the time of a scripted pause's event: just before the pause, so that the pause includes its first
    /// instant.
    pub(crate) fn due(&self) -> Time {
        Time::from_ps(self.window.from.as_ps().saturating_sub(PauseWindow::MIN_LEAD.as_ps()))
    }
}

/// The pauses of a port's classes.
#[derive(Clone, Debug)]
pub(crate) struct ClassPauses {
    windows: [PauseWindow; CLASSES],
}

impl ClassPauses {
    pub(crate) const fn new() -> Self {
        Self { windows: [PauseWindow::NONE; CLASSES] }
    }

    /// Replaces the pause of a class, like the timer of a PFC frame (IEEE 802.1Qbb). A pause that ends
    /// immediately resumes the class. If the old pause is still active, it continues without a gap.
    pub(crate) fn pause(&mut self, class: u8, window: PauseWindow) {
        let old = &mut self.windows[usize::from(class)];
        *old = old.followed_by(window);
    }

    /// Returns whether the class is paused at `at` or later, as far as is known.
    #[inline]
    pub(crate) fn ends_after(&self, class: u8, at: Time) -> bool {
        self.windows[usize::from(class)].until > at
    }

    #[inline]
    pub(crate) fn is_paused(&self, class: u8, at: Time) -> bool {
        self.windows[usize::from(class)].covers(at)
    }

    /// Returns when the class may send: `at`, or the end of the pause that covers it.
    #[inline]
    pub(crate) fn earliest_start(&self, class: u8, at: Time) -> Time {
        let window = self.windows[usize::from(class)];
        if window.covers(at) { window.until } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn a_pause_includes_its_start_and_not_its_end() {
        let mut pauses = ClassPauses::new();
        pauses.pause(3, PauseWindow { from: at(10), until: at(50) });
        let paused = |ns| pauses.is_paused(3, at(ns));
        assert_eq!([0, 9, 10, 49, 50, 99].map(paused), [false, false, true, true, false, false]);
        assert!(!pauses.is_paused(2, at(20)));
        assert_eq!(
            [0, 10, 50, 60].map(|ns| pauses.earliest_start(3, at(ns))),
            [at(0), at(50), at(50), at(60)]
        );
    }

    #[test]
    fn a_renewed_pause_has_no_gap_and_a_later_one_has() {
        let mut pauses = ClassPauses::new();
        pauses.pause(0, PauseWindow { from: at(10), until: at(50) });
        pauses.pause(0, PauseWindow { from: at(40), until: at(90) });
        // Events of the instant of the second pause may still ask.
        assert!(pauses.is_paused(0, at(39)));
        assert_eq!(pauses.earliest_start(0, at(39)), at(90));
        pauses.pause(0, PauseWindow { from: at(91), until: at(95) });
        assert!(!pauses.is_paused(0, at(90)), "the old pause is over at its end");
    }

    #[test]
    fn a_pause_that_ends_immediately_resumes() {
        let mut pauses = ClassPauses::new();
        pauses.pause(7, PauseWindow { from: at(10), until: Time::MAX });
        assert_eq!(pauses.earliest_start(7, at(20)), Time::MAX);
        pauses.pause(7, PauseWindow { from: at(21), until: at(20) });
        assert!(!pauses.is_paused(7, at(20)) && !pauses.is_paused(7, at(21)));
    }
}
