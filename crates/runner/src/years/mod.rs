//! Simulated years of fabrics in parallel, and their plots.

pub mod figures;

use wiremend_fabric::tiers::Tiers;
use wiremend_fleet::{
    FleetSetup, Policy, PolicyOutcome, ProtectionEffect, RepairModel, TimeWindow, Trace, TraceGenerator,
    TraceSpan, TraceTime, run_while,
};

use crate::error::Error;
use crate::pool::Runner;

/// Years of one fabric under several policies.
pub struct Years<'a> {
    /// The fabric.
    pub tiers: &'a Tiers,
    /// Source of the corruption trace.
    pub source: TraceSource<'a>,
    /// Fraction of its paths to the top tier that every ToR switch keeps.
    pub constraint: f64,
    /// Policies; each year is simulated for all of them.
    pub policies: &'a [Policy],
    /// Loss and speed of protected links.
    pub effect: &'a ProtectionEffect,
    /// Model of repairs.
    pub repair: RepairModel,
    /// The simulated days.
    pub window: TimeWindow,
    /// One year per seed.
    pub seeds: std::ops::Range<u64>,
}

/// Source of traces.
#[derive(Clone, Copy)]
pub enum TraceSource<'a> {
    /// A given trace.
    Given(&'a Trace),
    /// A generated trace, different for each seed.
    Generated(TraceGenerator),
}

impl Years<'_> {
    /// Simulates a year for each seed and applies `take` to its outcomes. Results are in the order of the
    /// seeds, independent of the number of threads.
    pub fn run<T: Send>(
        &self,
        runner: &Runner<'_>,
        take: impl Fn(u64, Vec<PolicyOutcome>) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let seeds: Vec<u64> = self.seeds.clone().collect();
        runner.for_each(&vec![1.0; seeds.len()], |item| {
            let seed = seeds[item.number()];
            let outcomes = self.run_seed(seed, &|share| item.advance(share)).ok_or(Error::Interrupted)?;
            Ok(take(seed, outcomes))
        })
    }

    fn run_seed(&self, seed: u64, may_continue: &dyn Fn(f64) -> bool) -> Option<Vec<PolicyOutcome>> {
        let drawn;
        let trace = match self.source {
            TraceSource::Given(trace) => trace,
            TraceSource::Generated(generator) => {
                drawn = shifted(&generator.trace(self.tiers, self.length(), seed), self.window.begin);
                &drawn
            }
        };
        let Self { tiers, constraint, policies, effect, repair, window, .. } = *self;
        let setting = FleetSetup {
            repair,
            seed,
            record: true,
            ..FleetSetup::new(tiers, trace, constraint, policies, effect, window)
        };
        run_while(&setting, may_continue)
    }

    fn length(&self) -> TraceTime {
        TraceTime::from_us(self.window.end.as_us() - self.window.begin.as_us())
    }
}

/// The same trace, shifted to the begin of the window.
fn shifted(trace: &Trace, begin: TraceTime) -> Trace {
    if begin == TraceTime::default() {
        return trace.clone();
    }
    let later = |event: &wiremend_fleet::CorruptionEvent| wiremend_fleet::CorruptionEvent {
        at: event.at.after(TraceSpan::from_us(begin.as_us())),
        ..*event
    };
    Trace::new(trace.events().iter().map(later).collect())
}
