//! Detection and remedies of deadlocks and loops, from a scenario.

use wiremend_fabric::Graph;
use wiremend_scenario::Scenario;

use super::Options;
use crate::switch::deadlock::{DeadlockCheck, DeadlockRemedies, PauseLog, Probes, TransitChecks, Watchdog};

/// Returns the schedule of the deadlock detector; `None` without lossless switches.
pub(super) fn check(scenario: &Scenario) -> Option<DeadlockCheck> {
    let table = &scenario.deadlock;
    let switch = &scenario.switch;
    // Remedies that prevent deadlocks do not resolve existing ones.
    let ends_deadlocks = switch.watchdog.is_some() || switch.probes.is_some();
    let ends_run = table.ends_run.unwrap_or(!ends_deadlocks);
    switch.lossless.as_ref().map(|_| DeadlockCheck { every: table.every, still: table.still, ends_run })
}

/// Returns the checks of frames in transit; `None` if there are none.
pub(super) fn transit_checks(scenario: &Scenario, graph: &Graph) -> Option<TransitChecks> {
    let switch = &scenario.switch;
    let mask = switch.lossless.as_ref().map_or(0, |lossless| lossless.mask());
    let demotion = switch.demotion.as_ref().map(|table| (&table.value, mask));
    let loops = switch.loops.as_ref().map(|table| &table.value);
    TransitChecks::new(graph, demotion, loops)
}

pub(super) fn remedies(scenario: &Scenario, options: &Options, graph: &Graph) -> DeadlockRemedies {
    let (switch, switches) = (&scenario.switch, graph.switch_count() as usize);
    DeadlockRemedies {
        watchdog: switch.watchdog.as_ref().map(|table| Box::new(Watchdog::new(table, switches))),
        probes: switch.probes.as_ref().map(|table| Box::new(Probes::new(table, switches))),
        log: options.log_pauses.then(|| Box::new(PauseLog::new(graph.lane_count() as usize))),
        ..DeadlockRemedies::default()
    }
}
