//! Skips time in which the network only repeats a pattern, exactly.
//!
//! In long messages the state of the network often repeats, shifted in time and sequence numbers. This module finds a
//! period, simulates it once while it watches for events whose order the seed decides, and compares the states at
//! both ends. If they differ only by the shift, it writes the state that the network has after as many periods as
//! no boundary interrupts: the end of a message, a timeout, an error of a link, a sample, the end of the run.
//! `docs/internals/engine.md` says why this is exact.

mod eligibility;
mod period;
mod recorded_state;
mod ties;

use wiremend_measure::SkippedTime;
use wiremend_proto::engine::{StateKind, StateVisitor};
use wiremend_units::{HostId, Span, Time};

use self::period::PeriodFinder;
use self::recorded_state::RecordedState;
use crate::engine::{Limits, Partition};
use crate::link::Lanes;

/// Finds patterns that repeat, and skips their repetitions.
pub(crate) struct FastForward {
    skipped: SkippedTime,
    /// Why the run cannot skip time, if so.
    obstacle: Option<&'static str>,
    finder: PeriodFinder,
    before: RecordedState,
    /// Lanes of the network and frames in flight: the cost of an attempt.
    parts: u64,
    /// Events since the last attempt, and until the next one.
    events: u64,
    wait: u64,
    /// Until when no window may be skipped.
    stop_at: Time,
    sample_every: Option<Span>,
}

/// All partitions, and how they exchange frames.
pub(crate) trait Partitions {
    fn all(&mut self) -> impl Iterator<Item = &mut Partition>;

    /// Hands over the frames that have left each partition.
    fn exchange(&mut self);
}

/// A time between two windows, and the end of the next window.
#[derive(Clone, Copy)]
pub(crate) struct Gap {
    pub(crate) now: Time,
    pub(crate) window_end: Time,
}

/// Events between attempts that fail, for each lane and each frame in flight. An attempt visits each of them twice,
/// and a visit costs about a fifth of an event. So attempts cost less than 1 %, and most fail before the first visit.
const WAIT_FIRST: u64 = 64;
const WAIT_MAX: u64 = 256;
/// The same after a jump: the boundary that has ended it is soon past, and a similar pattern follows.
const WAIT_MIN: u64 = 1;
/// A jump over fewer events, for each lane and frame in flight, is not worth its cost.
const GAIN_MIN: u64 = 4;

impl FastForward {
    pub(crate) fn new(partitions: &[Partition], limits: &Limits) -> Self {
        let obstacle = if limits.may_skip_time {
            eligibility::obstacle(partitions, limits)
        } else {
            Some("it is off")
        };
        let parts = partitions[0].net.lanes.len() as u64;
        Self {
            skipped: SkippedTime::default(),
            obstacle,
            finder: PeriodFinder::default(),
            before: RecordedState::default(),
            parts,
            events: 0,
            wait: parts * WAIT_FIRST,
            stop_at: limits.stop_at,
            sample_every: limits.sample_every,
        }
    }

    /// Returns the skipped time, and why the run could not skip time, if so.
    pub(crate) const fn outcome(&self) -> (SkippedTime, Option<&'static str>) {
        (self.skipped, self.obstacle)
    }

    /// Handles a window with so many events.
    #[inline]
    pub(crate) const fn on_window(&mut self, events: u64) {
        self.events += events;
    }

    /// Returns whether to look for a pattern before the next window.
    #[inline]
    pub(crate) const fn is_due(&self) -> bool {
        self.events >= self.wait && self.obstacle.is_none()
    }

    /// Looks for a pattern, and skips its repetitions if there is one. Returns the time after the jump. Without one, the
    /// first part of the next window may have been simulated.
    pub(crate) fn attempt(&mut self, partitions: &mut impl Partitions, gap: Gap) -> Option<Time> {
        let in_flight: u64 = partitions.all().map(|partition| partition.lanes.in_flight()).sum();
        let lanes = partitions.all().next().map_or(0, |first| first.lanes.ports.len());
        (self.parts, self.events) = (lanes as u64 + in_flight, 0);
        let after = self.jump(partitions, gap);
        self.wait = match after {
            Some(_) => self.parts * WAIT_MIN,
            None => (self.wait * 2).min(self.parts * WAIT_MAX),
        };
        after
    }

    fn jump(&mut self, partitions: &mut impl Partitions, gap: Gap) -> Option<Time> {
        let period = self.finder.find(partitions.all().map(|partition| &*partition))?;
        let now = gap.now + period;
        if now > gap.window_end {
            return None;
        }
        visit_state(partitions, &mut self.before.record(gap.now));
        let events = all_events(partitions);
        let mut is_regular = true;
        partitions.all().for_each(|partition| is_regular &= partition.run_checked(now));
        partitions.exchange();
        if !is_regular {
            return None;
        }
        let mut comparer = self.before.compare(now);
        visit_state(partitions, &mut comparer);
        let (periods_max, horizon) = comparer.outcome()?;
        let last = horizon.min(self.stop_at).min(self.before_sample(gap.now));
        let periods = periods_max.min(last.since(now).as_ps() / period.as_ps());
        if periods * (all_events(partitions) - events) < self.parts * GAIN_MIN {
            return None;
        }
        visit_state(partitions, &mut self.before.advance(now, periods));
        let skipped = period * periods;
        partitions.all().for_each(|partition| partition.jump(now + skipped, skipped));
        self.skipped.jumps += 1;
        self.skipped.skipped_ps += skipped.as_ps();
        Some(now + skipped)
    }

    /// Returns the last time before the next sample.
    fn before_sample(&self, now: Time) -> Time {
        let Some(every) = self.sample_every else { return Time::MAX };
        let next = (now.as_ps() / every.as_ps() + 1).saturating_mul(every.as_ps());
        Time::from_ps(next - 1)
    }
}

fn all_events(partitions: &mut impl Partitions) -> u64 {
    partitions.all().map(|partition| partition.events).sum()
}

/// Visits hosts first: the names of sequences belong to them.
fn visit_state(partitions: &mut impl Partitions, visitor: &mut impl StateVisitor) {
    partitions.all().for_each(|partition| partition.visit_hosts(visitor));
    partitions.all().for_each(|partition| partition.visit_network(visitor));
}

impl Partition {
    fn visit_hosts(&mut self, visitor: &mut impl StateVisitor) {
        visitor.exact(self.tally.open);
        visitor.exact(self.tally.dropped_ttl);
        visitor.length(self.tally.rows.len());
        for number in 0..self.hosts.len() {
            if visitor.is_over() {
                return;
            }
            if !self.owns(HostId(number as u32)) {
                continue;
            }
            self.hosts[number].visit_state(visitor);
            for source in self.hosts[number].boundaries(&self.lanes) {
                let mut due = self.lanes.queue.due(source).unwrap_or(Time::MAX);
                visitor.time(StateKind::Boundary, &mut due);
            }
        }
    }

    fn visit_network(&mut self, visitor: &mut impl StateVisitor) {
        self.lanes.visit_state(visitor);
        self.ports.visit_state(&mut self.lanes, visitor);
    }

    /// Moves events and timers to a later time, after the rest of the state.
    fn jump(&mut self, now: Time, by: Span) {
        let Lanes { queue, sources, .. } = &mut self.lanes;
        queue.jump(now, by, sources.app(HostId(0)));
        for number in 0..self.hosts.len() {
            let source = self.lanes.sources.timer(HostId(number as u32));
            if let Some(first) = self.hosts[number].renew_timers(now) {
                self.lanes.queue.rearm(source, first);
            }
        }
    }
}
