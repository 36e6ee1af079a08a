//! Visits the state of a simulation word by word, to find out that it repeats and to move it ahead.
//!
//! A simulator may skip time in which nothing but a regular pattern happens: if the state at two times differs only
//! by a shift of times and sequence numbers, the pattern repeats with that shift. Every struct that takes part
//! passes all fields on which its future depends to a [`StateVisitor`], each with the way in which it may change.
//! One method per struct serves all purposes: to record the state, to compare it, and to write the state after more
//! repetitions.

use wiremend_units::{Psn, Time};

/// How a word of the state may change from one repetition to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StateKind {
    /// It must not change.
    Exact,
    /// The time of something to come. It moves with the pattern.
    Event,
    /// A time that is compared with the current one and no longer matters when it is past. It moves with the
    /// pattern, or is past.
    Time,
    /// A time at which something else than the pattern happens, unless the pattern moves it before.
    Deadline,
    /// A time at which something else than the pattern happens.
    Boundary,
    /// A number in the sequence `of` that all words with this name share. It may grow by `room` at most.
    Sequence {
        /// The name of the sequence.
        of: u64,
        /// Low bits that the word has.
        bits: u32,
        /// By how much it may still grow.
        room: u64,
    },
    /// It grows by the same number each time, and at most by `room`.
    Growing {
        /// By how much it may still grow.
        room: u64,
    },
    /// It falls by the same number each time, and not below zero.
    Falling,
    /// Something for which no repetition is known.
    Unknown,
}

/// Visits words of state in a fixed order.
pub trait StateVisitor {
    /// Visits a word. Returns its new value.
    fn visit(&mut self, kind: StateKind, value: u64) -> u64;

    /// The current time.
    fn now(&self) -> Time;

    /// Returns whether the rest of the state need not be visited.
    fn is_over(&self) -> bool {
        false
    }

    /// Visits a value that must not change.
    #[inline]
    fn exact(&mut self, value: impl Into<u64>) {
        self.visit(StateKind::Exact, value.into());
    }

    /// Visits a length, which must not change.
    #[inline]
    fn length(&mut self, length: usize) {
        self.visit(StateKind::Exact, length as u64);
    }

    /// Requires that something which cannot repeat is absent.
    #[inline]
    fn absent(&mut self, is_absent: bool) {
        if !is_absent {
            self.visit(StateKind::Unknown, 0);
        }
    }

    /// Visits a time of the given kind.
    #[inline]
    fn time(&mut self, kind: StateKind, time: &mut Time) {
        *time = Time::from_ps(self.visit(kind, time.as_ps()));
    }

    /// Visits a counter that nothing but results depends on.
    #[inline]
    fn counter(&mut self, value: &mut u64) {
        *value = self.visit(StateKind::Growing { room: u64::MAX }, *value);
    }

    /// Visits a sequence number of full width.
    #[inline]
    fn sequence(&mut self, of: u64, value: &mut u64, room: u64) {
        *value = self.visit(StateKind::Sequence { of, bits: 64, room }, *value);
    }

    /// Visits a PSN.
    #[inline]
    fn psn(&mut self, of: u64, psn: &mut Psn) {
        let kind = StateKind::Sequence { of, bits: 24, room: u64::MAX };
        *psn = Psn::new(self.visit(kind, psn.get().into()) as u32);
    }
}
