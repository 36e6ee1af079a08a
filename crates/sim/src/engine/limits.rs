//! What limits a run and its windows.

use wiremend_measure::JobPlan;
use wiremend_units::{Span, Time};

use crate::switch::deadlock;

pub(crate) struct Limits {
    /// Groups of flows that form jobs.
    pub(crate) jobs: Vec<JobPlan>,
    pub(crate) stop_at: Time,
    pub(crate) lookahead: Span,
    pub(crate) sample_every: Option<Span>,
    /// When to check for deadlocks; `None`: never.
    pub(crate) deadlock: Option<deadlock::DeadlockCheck>,
    /// Memory limit for frames and flows in flight.
    pub(crate) memory: MemoryLimit,
    /// Events for each lane and frame in flight until a pattern is looked for; `None`: no time is skipped.
    pub(crate) fast_forward_events: Option<u64>,
    /// Events after which the number of threads is reconsidered; `None`: all threads simulate.
    pub(crate) thread_choice_events: Option<u64>,
}

/// Available bytes, and worst-case bytes of a frame and of a flow in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLimit {
    pub(crate) bytes_max: u64,
    pub(crate) frame_bytes: u64,
    pub(crate) flow_bytes: u64,
}

impl MemoryLimit {
    pub(crate) fn fits(&self, frames: u64, flows: u64) -> bool {
        let [frames, flows] =
            [frames.saturating_mul(self.frame_bytes), flows.saturating_mul(self.flow_bytes)];
        frames.saturating_add(flows) <= self.bytes_max
    }
}

impl Limits {
    /// Returns the end of the window with the next event.
    pub(super) fn next_window_end(&self, now: Time, next: Time) -> Time {
        let mut end = next_multiple(next, self.lookahead).min(self.stop_at);
        for every in [self.sample_every, self.deadlock.map(|check| check.every)].into_iter().flatten() {
            end = end.min(next_multiple(now, every));
        }
        end
    }

    /// Returns whether a sample is taken at a time.
    pub(super) fn is_sample(&self, at: Time) -> bool {
        self.sample_every.is_some_and(|every| at > Time::ZERO && at.as_ps().is_multiple_of(every.as_ps()))
    }
}

/// Returns the first multiple of `step` after `time`.
fn next_multiple(time: Time, step: Span) -> Time {
    let step = step.as_ps();
    Time::from_ps((time.as_ps() / step + 1).saturating_mul(step))
}
