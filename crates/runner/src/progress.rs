//! How far runs have come.

use wiremend_scenario::{App, Scenario, Within};
use wiremend_sim::Progress as Simulated;

/// Is told how far runs have come, by the threads that run them.
pub trait Progress: Sync {
    /// Runs are about to start; they take about so long, compared with each other.
    fn on_start(&self, weights: &[f64]) {
        let _ = weights;
    }

    /// This part of a run is done, from 0 to 1.
    fn on_progress(&self, run: usize, share: f64);

    /// All have ended, or will not.
    fn on_end(&self) {}
}

/// Tells nobody.
impl Progress for () {
    fn on_progress(&self, _: usize, _: f64) {}
}

/// What a run is expected to come to.
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

    /// The part of the run that is behind it, by flows where their number is known and by time otherwise.
    pub(crate) fn share(&self, simulated: &Simulated) -> f64 {
        let by_time = simulated.now.as_ps() as f64 / self.stop_ps as f64;
        let by_flows =
            self.flows.filter(|flows| *flows > 0).map(|flows| simulated.flows as f64 / flows as f64);
        by_flows.unwrap_or(0.0).max(by_time).min(1.0)
    }
}
