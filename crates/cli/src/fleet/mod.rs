//! Years of fabrics, many side by side, and how they are drawn.

pub(crate) mod figures;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use wiremend_fabric::tiers::Tiers;
use wiremend_fleet::{Effect, Generator, Moment, Outcome, Policy, Repair, Setting, Trace, Window, run_while};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::signals;

/// Years of one fabric under the same policies.
pub(crate) struct Years<'a> {
    pub(crate) tiers: &'a Tiers,
    pub(crate) source: Source<'a>,
    pub(crate) constraint: f64,
    pub(crate) policies: &'a [Policy],
    pub(crate) effect: &'a Effect,
    pub(crate) repair: Repair,
    pub(crate) window: Window,
    pub(crate) seeds: std::ops::Range<u64>,
    pub(crate) threads: usize,
}

/// Where traces come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Given(&'a Trace),
    Drawn(Generator),
}

impl Years<'_> {
    /// Plays a year for each seed, and keeps of it what `take` makes of it. The order is that of the seeds, whatever the number of
    /// threads.
    pub(crate) fn play<T: Send>(
        &self,
        take: impl Fn(u64, Vec<Outcome>) -> T + Sync,
    ) -> Result<Vec<T>, Failure> {
        let seeds: Vec<u64> = self.seeds.clone().collect();
        let progress = Progress::new(seeds.len());
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let taken: Vec<Mutex<Option<T>>> = seeds.iter().map(|_| Mutex::new(None)).collect();
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(seed) = seeds.get(number) else { return };
                let goes_on = |part: f64| {
                    progress.set(number, part);
                    signals::caught().is_none()
                };
                let Some(outcomes) = self.one(*seed, &goes_on) else {
                    stop.store(true, Ordering::Relaxed);
                    return;
                };
                *taken[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(take(*seed, outcomes));
                progress.done(number);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.clamp(1, seeds.len().max(1)) {
                scope.spawn(work);
            }
            work();
        });
        progress.clear();
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted(signals::caught().unwrap_or(0)));
        }
        Ok(taken
            .into_iter()
            .filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect())
    }

    fn one(&self, seed: u64, goes_on: &dyn Fn(f64) -> bool) -> Option<Vec<Outcome>> {
        let drawn;
        let trace = match self.source {
            Source::Given(trace) => trace,
            Source::Drawn(generator) => {
                drawn = shifted(&generator.trace(self.tiers, self.length(), seed), self.window.begin);
                &drawn
            }
        };
        let Self { tiers, constraint, policies, effect, repair, window, .. } = *self;
        let setting = Setting {
            repair,
            seed,
            record: true,
            ..Setting::new(tiers, trace, constraint, policies, effect, window)
        };
        run_while(&setting, goes_on)
    }

    fn length(&self) -> Moment {
        Moment::from_us(self.window.end.as_us() - self.window.begin.as_us())
    }
}

/// The same trace, beginning with the window.
fn shifted(trace: &Trace, begin: Moment) -> Trace {
    if begin == Moment::default() {
        return trace.clone();
    }
    let later = |event: &wiremend_fleet::Corruption| wiremend_fleet::Corruption {
        at: event.at.after(begin),
        ..*event
    };
    Trace::new(trace.events().iter().map(later).collect())
}
