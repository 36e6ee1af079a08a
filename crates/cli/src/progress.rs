//! How far the runs of a batch have come, on stderr: only on a terminal, and only if it takes longer than a moment.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wiremend_scenario::{App, Scenario, Within};
use wiremend_sim::Progress as Simulated;

/// What takes less time than this shows no progress.
const PATIENCE: Duration = Duration::from_secs(2);
/// Steps of the bar for each run, on average.
const STEPS: u64 = 1000;

/// The progress of several runs.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    runs: Vec<Steps>,
}

/// A run's part of the bar.
struct Steps {
    done: AtomicU64,
    all: f64,
}

/// What a run is expected to come to.
pub(crate) struct Expected {
    flows: Option<u64>,
    stop_ps: u64,
}

impl Progress {
    /// Of runs that take about as long as each other.
    pub(crate) fn new(runs: usize) -> Self {
        Self::weighted(&vec![1.0; runs])
    }

    /// Of runs that take about so long, compared with each other.
    pub(crate) fn weighted(weights: &[f64]) -> Self {
        let whole: f64 = weights.iter().sum();
        let steps_max = weights.len() as f64 * STEPS as f64;
        let steps =
            |weight: &f64| Steps { done: AtomicU64::new(0), all: (weight / whole * steps_max).round() };
        let runs: Vec<_> = weights.iter().map(steps).collect();
        let all: f64 = runs.iter().map(|run| run.all).sum();
        let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::hidden());
        let style =
            ProgressStyle::with_template("{bar:40} {percent:>3} %  {elapsed} passed, about {eta} to go");
        bar.set_style(style.expect("the template is right").progress_chars("█▓░"));
        Self { bar, started: Instant::now(), runs }
    }

    /// A run has come this far.
    pub(crate) fn note(&self, run: usize, expected: &Expected, simulated: &Simulated) {
        self.set(run, expected.share(simulated));
    }

    /// A run has come to its end.
    pub(crate) fn done(&self, run: usize) {
        self.set(run, 1.0);
    }

    /// A run has come this part of its way.
    pub(crate) fn set(&self, run: usize, share: f64) {
        let steps = &self.runs[run];
        steps.done.store((share * steps.all) as u64, Ordering::Relaxed);
        if !stderr().is_terminal() || self.started.elapsed() < PATIENCE {
            return;
        }
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(self.runs.iter().map(|run| run.done.load(Ordering::Relaxed)).sum());
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Expected {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let flows = scenario.workloads.iter().map(|workload| match &workload.app {
            App::Poisson(app) => app.flows.map(Within::get),
            App::Flows(app) => {
                let pairs = app.endpoints().pairs(&scenario.topology).ok()?;
                Some(pairs.len() * app.per_pair())
            }
            App::PingPong(app) => Some(app.iterations.get()),
            App::Stream(app) => app.count.map(Within::get),
            // An open-loop load has no flows.
            App::Cbr(_) => Some(0),
            App::List(_) | App::Allreduce(_) | App::Alltoall(_) => None,
        });
        Self { flows: flows.sum(), stop_ps: scenario.stop.after.as_ps() }
    }

    /// The part of the run that is behind it, by flows where their number is known and by time otherwise.
    fn share(&self, simulated: &Simulated) -> f64 {
        let by_time = simulated.now.as_ps() as f64 / self.stop_ps as f64;
        let by_flows =
            self.flows.filter(|flows| *flows > 0).map(|flows| simulated.flows as f64 / flows as f64);
        by_flows.unwrap_or(0.0).max(by_time).min(1.0)
    }
}
