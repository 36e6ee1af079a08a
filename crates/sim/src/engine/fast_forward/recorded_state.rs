//! Recorded words of state, their comparison one period later, and the state after more periods.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use wiremend_proto::engine::{StateKind, StateVisitor};
use wiremend_units::{Span, Time};

use crate::memory::MixHasher;

/// Words of the state at one time, in the order of visits.
#[derive(Default)]
pub(super) struct RecordedState {
    at: Time,
    words: Vec<u64>,
}

/// Records the words of a state.
pub(super) struct StateRecorder<'a>(&'a mut RecordedState);

/// Compares a state with the one that was recorded a period before.
pub(super) struct StateComparer<'a> {
    before: &'a RecordedState,
    now: Time,
    place: usize,
    /// Growth of each sequence per period, by name.
    growth: HashMap<u64, u64, BuildHasherDefault<MixHasher>>,
    /// The last sequence of these, and its growth.
    last: (u64, u64),
    repeats: bool,
    /// Further periods until the first boundary.
    periods_max: u64,
    /// The first fixed time.
    horizon: Time,
}

/// Writes the state after more periods.
pub(super) struct StateMover<'a> {
    before: &'a RecordedState,
    now: Time,
    place: usize,
    periods: u64,
    shift: Span,
}

impl RecordedState {
    /// Forgets the words. The next ones are those of the state at `at`.
    pub(super) fn record(&mut self, at: Time) -> StateRecorder<'_> {
        self.at = at;
        self.words.clear();
        StateRecorder(self)
    }

    pub(super) fn compare(&self, now: Time) -> StateComparer<'_> {
        StateComparer {
            before: self,
            now,
            place: 0,
            growth: HashMap::default(),
            last: (u64::MAX, 0),
            repeats: true,
            periods_max: u64::MAX,
            horizon: Time::MAX,
        }
    }

    /// `now` is the time of the comparison.
    pub(super) fn advance(&self, now: Time, periods: u64) -> StateMover<'_> {
        let shift = now.since(self.at) * periods;
        StateMover { before: self, now, place: 0, periods, shift }
    }
}

/// Returns the word that is recorded for a value.
#[inline]
fn word(kind: StateKind, value: u64, now: Time) -> u64 {
    match kind {
        StateKind::Event | StateKind::Time if value == NEVER => NEVER,
        StateKind::Event => value - now.as_ps(),
        StateKind::Time => value.saturating_sub(now.as_ps()),
        _ => value,
    }
}

const NEVER: u64 = Time::MAX.as_ps();

const fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

impl StateVisitor for StateRecorder<'_> {
    #[inline]
    fn visit(&mut self, kind: StateKind, value: u64) -> u64 {
        self.0.words.push(word(kind, value, self.0.at));
        value
    }

    fn now(&self) -> Time {
        self.0.at
    }
}

impl StateVisitor for StateComparer<'_> {
    #[inline]
    fn visit(&mut self, kind: StateKind, value: u64) -> u64 {
        let Some(&old) = self.before.words.get(self.place) else {
            self.repeats = false;
            return value;
        };
        self.place += 1;
        let new = word(kind, value, self.now);
        match kind {
            StateKind::Exact | StateKind::Event | StateKind::Time => self.repeats &= new == old,
            StateKind::Sequence { of, bits, room } => {
                self.compare_sequence(of, bits, new.wrapping_sub(old), room);
            }
            StateKind::Growing { room } => self.bound(new.checked_sub(old), room),
            StateKind::Falling => self.bound(old.checked_sub(new), new),
            StateKind::Deadline if new.checked_sub(old) == Some(self.now.since(self.before.at).as_ps()) => {}
            StateKind::Deadline | StateKind::Boundary => {
                self.repeats &= new == old;
                self.horizon = self.horizon.min(Time::from_ps(new));
            }
            StateKind::Unknown => self.repeats = false,
        }
        value
    }

    fn now(&self) -> Time {
        self.now
    }

    fn is_over(&self) -> bool {
        !self.repeats
    }
}

impl StateComparer<'_> {
    /// Returns how many periods later the pattern still repeats, and before which time; `None` if the state is another
    /// one.
    pub(super) fn outcome(&self) -> Option<(u64, Time)> {
        let is_whole = self.place == self.before.words.len();
        (self.repeats && is_whole).then_some((self.periods_max, self.horizon))
    }

    /// Handles a value that changes by `step` per period, and by `room` at most.
    #[inline]
    fn bound(&mut self, step: Option<u64>, room: u64) {
        match step {
            Some(0) => {}
            Some(step) => self.periods_max = self.periods_max.min(room / step),
            None => self.repeats = false,
        }
    }

    #[inline]
    fn compare_sequence(&mut self, of: u64, bits: u32, step: u64, room: u64) {
        if self.last.0 != of {
            // Words of full width come first: those of shorter ones alone do not tell by how much they grew.
            let growth = match self.growth.get(&of) {
                Some(growth) => *growth,
                None if bits == 64 && step <= STEP_MAX => step,
                None => {
                    self.repeats = false;
                    return;
                }
            };
            self.growth.insert(of, growth);
            self.last = (of, growth);
        }
        let growth = self.last.1;
        self.repeats &= (growth ^ step) & mask(bits) == 0;
        self.bound(Some(growth), room);
    }
}

/// No sequence grows by more in a period. More means that it fell.
const STEP_MAX: u64 = 1 << 40;

impl StateVisitor for StateMover<'_> {
    #[inline]
    fn visit(&mut self, kind: StateKind, value: u64) -> u64 {
        let old = self.before.words[self.place];
        self.place += 1;
        let grown = |step: u64| value.wrapping_add(step.wrapping_mul(self.periods));
        match kind {
            StateKind::Exact | StateKind::Boundary | StateKind::Unknown => value,
            StateKind::Event | StateKind::Time | StateKind::Deadline if value == NEVER => value,
            // A past time, and a deadline that stays.
            StateKind::Time if old == 0 => value,
            StateKind::Deadline if old == value => value,
            StateKind::Event | StateKind::Time | StateKind::Deadline => value + self.shift.as_ps(),
            StateKind::Sequence { bits, .. } => grown(value.wrapping_sub(old)) & mask(bits),
            StateKind::Growing { .. } | StateKind::Falling => grown(value.wrapping_sub(old)),
        }
    }

    fn now(&self) -> Time {
        self.now
    }
}
