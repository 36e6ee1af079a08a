//! Who notices deadlocks and loops, and what they do about them.

use wiremend_fabric::Graph;
use wiremend_scenario::Scenario;

use super::Options;
use crate::switch::deadlock::{Care, Observer, Passage, PauseLog, Probes, Watchdog};

/// The observer with full sight; none without lossless switches.
pub(super) fn observer(scenario: &Scenario) -> Option<Observer> {
    let table = &scenario.deadlock;
    let switch = &scenario.switch;
    // What keeps a deadlock from forming does not end one that has.
    let ends_deadlocks = switch.watchdog.is_some() || switch.probes.is_some();
    let ends_run = table.ends_run.unwrap_or(!ends_deadlocks);
    switch.lossless.as_ref().map(|_| Observer { every: table.every, still: table.still, ends_run })
}

/// What switches look for in frames on their way through; none if there is nothing to look for.
pub(super) fn passage(scenario: &Scenario, graph: &Graph) -> Option<Passage> {
    let switch = &scenario.switch;
    let mask = switch.lossless.as_ref().map_or(0, |lossless| lossless.mask());
    let demotion = switch.demotion.as_ref().map(|table| (&table.value, mask));
    let loops = switch.loops.as_ref().map(|table| &table.value);
    Passage::new(graph, demotion, loops)
}

/// What lossless switches do about deadlocks themselves.
pub(super) fn care(scenario: &Scenario, options: &Options, graph: &Graph) -> Care {
    let (switch, switches) = (&scenario.switch, graph.switch_count() as usize);
    Care {
        watchdog: switch.watchdog.as_ref().map(|table| Box::new(Watchdog::new(table, switches))),
        probes: switch.probes.as_ref().map(|table| Box::new(Probes::new(table, switches))),
        log: options.pauses.then(|| Box::new(PauseLog::new(graph.lane_count() as usize))),
        ..Care::default()
    }
}
