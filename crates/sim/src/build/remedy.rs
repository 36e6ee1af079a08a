//! Who notices deadlocks and loops, and what they do about them.

use wiremend_scenario::Scenario;

use crate::engine::Part;
use crate::simulation::Options;
use crate::switch::deadlock::{Observer, Passage, PauseLog, Probes, Watchdog};

/// The observer with full sight; none without lossless switches.
pub(super) fn observer(scenario: &Scenario) -> Option<Observer> {
    let table = &scenario.deadlock;
    let switch = &scenario.switch;
    // What keeps a deadlock from forming does not end one that has.
    let ends_deadlocks = switch.watchdog.is_some() || switch.probes.is_some();
    let ends_run = table.ends_run.unwrap_or(!ends_deadlocks);
    switch.lossless.as_ref().map(|_| Observer { every: table.every, still: table.still, ends_run })
}

/// What the switches of a part do themselves.
pub(super) fn place(scenario: &Scenario, options: &Options, part: &mut Part) {
    let graph = &part.net.graph;
    let (switch, switches) = (&scenario.switch, graph.switch_count() as usize);
    let mask = switch.lossless.as_ref().map_or(0, |lossless| lossless.mask());
    let demotion = switch.demotion.as_ref().map(|table| (&table.value, mask));
    let loops = switch.loops.as_ref().map(|table| &table.value);
    part.passage = Passage::new(graph, demotion, loops).map(Box::new);
    if let Some(lossless) = &mut part.wires.lossless {
        let care = &mut lossless.care;
        care.watchdog = switch.watchdog.as_ref().map(|table| Box::new(Watchdog::new(table, switches)));
        care.probes = switch.probes.as_ref().map(|table| Box::new(Probes::new(table, switches)));
        care.log = options.pauses.then(|| Box::new(PauseLog::new(graph.lane_count() as usize)));
    }
}
