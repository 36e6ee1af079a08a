//! Years of fabrics, many side by side, and how they are drawn.

pub mod figures;

use wiremend_fabric::tiers::Tiers;
use wiremend_fleet::{Effect, Generator, Moment, Outcome, Policy, Repair, Setting, Trace, Window, run_while};

use crate::error::Error;
use crate::pool::Runner;

/// Years of one fabric under the same policies.
pub struct Years<'a> {
    /// The fabric.
    pub tiers: &'a Tiers,
    /// Where corruption comes from.
    pub source: Source<'a>,
    /// The share of its ways to the top that every ToR keeps.
    pub constraint: f64,
    /// What is done about links that corrupt, one year for each.
    pub policies: &'a [Policy],
    /// What protection leaves of loss and speed.
    pub effect: &'a Effect,
    /// How repairs go.
    pub repair: Repair,
    /// The days that are played.
    pub window: Window,
    /// A year for each.
    pub seeds: std::ops::Range<u64>,
}

/// Where traces come from.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// It is known.
    Given(&'a Trace),
    /// It is drawn, another for each seed.
    Drawn(Generator),
}

impl Years<'_> {
    /// Plays a year for each seed, and keeps of it what `take` makes of it. The order is that of the seeds, whatever the number of
    /// threads.
    pub fn play<T: Send>(
        &self,
        runner: &Runner<'_>,
        take: impl Fn(u64, Vec<Outcome>) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let seeds: Vec<u64> = self.seeds.clone().collect();
        runner.each(&vec![1.0; seeds.len()], |slot| {
            let seed = seeds[slot.number()];
            let outcomes = self.one(seed, &|share| slot.advance(share)).ok_or(Error::Interrupted)?;
            Ok(take(seed, outcomes))
        })
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
