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

use self::period::{LaneWatch, PeriodFinder};
use self::recorded_state::RecordedState;
use crate::engine::{Limits, Partition};
use crate::link::Lanes;

/// Finds patterns that repeat, and skips their repetitions.
pub(crate) struct FastForward<'a> {
    limits: &'a Limits,
    skipped: SkippedTime,
    /// Why the run cannot skip time, if so.
    obstacle: Option<&'static str>,
    finder: PeriodFinder,
    before: RecordedState,
    /// The unit of waits, in events: in proportion to the lanes of the network and the frames in flight, and so to the
    /// cost of an attempt.
    unit: u64,
    /// Events since the last attempt, and until the next one.
    events: u64,
    wait: u64,
    /// Whether to watch lanes, because the frames that are in flight at one time did not tell the period.
    watches: bool,
    /// Attempts that have failed since the last jump or the last change of `watches`.
    failures: u32,
}

/// All partitions, and how they exchange frames.
pub(crate) trait Partitions {
    fn all(&mut self) -> impl Iterator<Item = &mut Partition>;

    /// Hands over the frames that have left each partition.
    fn exchange(&mut self);
}

/// How far all partitions are.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    /// All events before this time have been handled.
    pub(crate) now: Time,
    /// The end of the next window: `now` if the run may have to end there.
    pub(crate) window_end: Time,
}

/// Waits are multiples of [`Limits::fast_forward_events`] for each lane and frame in flight. After an attempt that has
/// found no period: at most this multiple. Most such attempts look at few lanes.
const WAIT_UNVISITED_MAX: u64 = 4;
/// After an attempt that has visited each lane and frame twice, as long as nothing was gained: at least this multiple.
const WAIT_VISITED: u64 = 8;
const WAIT_MAX: u64 = 32;
/// After a jump this part of it: the boundary that has ended it is soon past, and a similar pattern follows.
const SHARE_AFTER_JUMP: u64 = 8;
/// A jump over fewer events than this part of it is not worth its cost.
const SHARE_GAINED_MIN: u64 = 2;
/// After so many failures, lanes are watched; and after so many again, no longer. A watch takes longer.
const LOOKS_MAX: u32 = 12;
const WATCHES_MAX: u32 = 6;
/// A period with which the state does not repeat counts as so many failures.
const WRONG_PERIOD: u32 = 3;
/// Lanes are watched for so many windows at most.
const WATCHED_WINDOWS: u64 = 128;

impl<'a> FastForward<'a> {
    pub(crate) fn new(partitions: &[Partition], limits: &'a Limits) -> Self {
        let obstacle = match limits.fast_forward_events {
            Some(_) => eligibility::obstacle(partitions, limits),
            None => Some("it is off"),
        };
        let unit = partitions[0].net.lanes.len() as u64 * limits.fast_forward_events.unwrap_or(0);
        Self {
            limits,
            skipped: SkippedTime::default(),
            obstacle,
            finder: PeriodFinder::default(),
            before: RecordedState::default(),
            unit,
            events: 0,
            wait: unit,
            watches: false,
            failures: 0,
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

    /// Looks for a pattern, which simulates some windows, and skips its repetitions if there is one.
    pub(crate) fn attempt(&mut self, partitions: &mut impl Partitions, clock: &mut Clock) {
        let in_flight: u64 = partitions.all().map(|partition| partition.lanes.in_flight()).sum();
        let lanes = partitions.all().next().map_or(0, |first| first.lanes.ports.len());
        self.unit = (lanes as u64 + in_flight) * self.limits.fast_forward_events.unwrap_or(0);
        self.events = 0;
        let found = self.find_period(partitions, clock);
        if found.is_some_and(|period| self.jump(partitions, clock, period).is_some()) {
            (self.wait, self.failures) = (self.unit / SHARE_AFTER_JUMP, 0);
            return;
        }
        self.wait = match found {
            None => (self.wait + self.wait / 2).min(self.wait.max(self.unit * WAIT_UNVISITED_MAX)),
            Some(_) if self.skipped.is_none() => (self.wait * 2).max(self.unit * WAIT_VISITED),
            Some(_) => self.wait * 2,
        };
        self.wait = self.wait.min(self.unit * WAIT_MAX);
        self.failures += if found.is_some() { WRONG_PERIOD } else { 1 };
        if self.failures >= if self.watches { WATCHES_MAX } else { LOOKS_MAX } {
            (self.watches, self.failures) = (!self.watches, 0);
        }
    }

    fn find_period(&mut self, partitions: &mut impl Partitions, clock: &mut Clock) -> Option<Span> {
        if !self.watches {
            return self.finder.find(partitions.all().map(|partition| &*partition));
        }
        let mut watch = LaneWatch::new(partitions.all().map(|partition| &*partition));
        let end = clock.now + self.limits.lookahead * WATCHED_WINDOWS;
        while clock.now < end && !watch.is_over() {
            let next = clock.window_end;
            self.run(partitions, clock, next, Partition::run)?;
            partitions.all().for_each(|partition| watch.add(partition));
        }
        watch.period()
    }

    /// Simulates until `end`. Returns `None` if a window has ended with which the run may end.
    fn run(
        &self,
        partitions: &mut impl Partitions,
        clock: &mut Clock,
        end: Time,
        mut run: impl FnMut(&mut Partition, Time),
    ) -> Option<()> {
        if end > self.limits.stop_at.min(self.before_sample(clock.now)) {
            return None;
        }
        while clock.now < end {
            clock.now = clock.window_end.min(end);
            partitions.all().for_each(|partition| run(partition, clock.now));
            partitions.exchange();
            if clock.now < clock.window_end {
                break;
            }
            let open = partitions.all().map(|partition| partition.tally.open).sum();
            let in_flight = partitions.all().map(|partition| partition.lanes.in_flight()).sum();
            let next = next_event(partitions);
            if open == 0 || next >= self.limits.stop_at || !self.limits.memory.fits(in_flight, open) {
                return None;
            }
            clock.window_end = self.limits.next_window_end(clock.now, next);
        }
        Some(())
    }

    fn jump(&mut self, partitions: &mut impl Partitions, clock: &mut Clock, period: Span) -> Option<()> {
        let start = clock.now;
        visit_state(partitions, &mut self.before.record(start));
        let events = all_events(partitions);
        let mut is_regular = true;
        self.run(partitions, clock, start + period, |partition, end| {
            is_regular &= partition.run_checked(end);
        })?;
        if !is_regular {
            return None;
        }
        let mut comparer = self.before.compare(clock.now);
        visit_state(partitions, &mut comparer);
        let (periods_max, horizon) = comparer.outcome()?;
        // Of the last period before the end of the run some events remain.
        let last = horizon.min(self.limits.stop_at - period).min(self.before_sample(clock.now));
        let periods = periods_max.min(last.since(clock.now).as_ps() / period.as_ps());
        let gain = periods * (all_events(partitions) - events);
        if periods == 0 || gain < self.unit / SHARE_GAINED_MIN {
            return None;
        }
        visit_state(partitions, &mut self.before.advance(clock.now, periods));
        let skipped = period * periods;
        clock.now += skipped;
        partitions.all().for_each(|partition| partition.jump(clock.now, skipped));
        clock.window_end = self.limits.next_window_end(clock.now, next_event(partitions));
        self.skipped.jumps += 1;
        self.skipped.skipped_ps += skipped.as_ps();
        Some(())
    }

    /// Returns the last time before the next sample.
    fn before_sample(&self, now: Time) -> Time {
        let Some(every) = self.limits.sample_every else { return Time::MAX };
        let next = (now.as_ps() / every.as_ps() + 1).saturating_mul(every.as_ps());
        Time::from_ps(next - 1)
    }
}

fn all_events(partitions: &mut impl Partitions) -> u64 {
    partitions.all().map(|partition| partition.events).sum()
}

fn next_event(partitions: &mut impl Partitions) -> Time {
    let next = partitions.all().filter_map(|partition| partition.lanes.queue.next_time());
    next.min().unwrap_or(Time::MAX)
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

    /// Moves events to a later time, after the rest of the state.
    fn jump(&mut self, now: Time, by: Span) {
        let Lanes { queue, sources, .. } = &mut self.lanes;
        queue.jump(now, by, sources.app(HostId(0)));
    }
}
