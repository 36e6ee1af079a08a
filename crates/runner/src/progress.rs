//! Progress of runs.

use wiremend_scenario::{App, Scenario, Within};
use wiremend_sim::Progress as Simulated;

/// Receives progress reports from the threads of the runs.
pub trait Progress: Sync {
    /// Runs are about to start; `weights` are their approximate relative durations.
    fn on_start(&self, weights: &[f64]) {
        let _ = weights;
    }

    /// A run has completed this fraction, from 0 to 1.
    fn on_progress(&self, run: usize, share: f64);

    /// All runs have ended or were stopped.
    fn on_end(&self) {}
}

/// Ignores all reports.
impl Progress for () {
    fn on_progress(&self, _: usize, _: f64) {}
}

/// Expected end of a run.
pub(crate) struct Expected {
    flows: Option<u64>,
    stop_ps: u64,
}

impl Expected {
    pub(crate) fn new(scenario: &Scenario) -> Self {
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
            App::List(_) | App::Allreduce(_) | App::Alltoall(_) | App::Registered(_) => None,
        });
        Self { flows: flows.sum(), stop_ps: scenario.stop.after.as_ps() }
    }

    /// Completed fraction of the run, by flows if their number is known, by time otherwise.
    pub(crate) fn share(&self, simulated: &Simulated) -> f64 {
        let by_time = simulated.now.as_ps() as f64 / self.stop_ps as f64;
        let by_flows =
            self.flows.filter(|flows| *flows > 0).map(|flows| simulated.flows as f64 / flows as f64);
        by_flows.unwrap_or(0.0).max(by_time).min(1.0)
    }
}
