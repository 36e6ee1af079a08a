//! The scripted pauses of a scenario, port by port.

use wiremend_scenario::Scenario;
use wiremend_units::Time;

use super::BuildError;
use super::topology::lanes;
use crate::network::Network;
use crate::port::{PauseWindow, PortPause};

/// Returns all pauses of all ports. Overlapping pauses of one class are merged.
pub(super) fn place(scenario: &Scenario, net: &Network) -> Result<Vec<PortPause>, BuildError> {
    let mut pauses = Vec::new();
    for pause in &scenario.pauses {
        let window = PauseWindow { from: pause.start, until: pause.stop.unwrap_or(Time::MAX) };
        let class = pause.class.get();
        let lanes = lanes(&net.graph, &pause.links, pause.direction)?;
        pauses.extend(lanes.into_iter().map(|lane| PortPause { lane, class, window }));
    }
    pauses.sort_unstable_by_key(|pause| (pause.lane, pause.class, pause.window.from));
    pauses.dedup_by(|later, earlier| {
        let meet = (later.lane, later.class) == (earlier.lane, earlier.class)
            && later.window.from <= earlier.window.until;
        if meet {
            earlier.window.until = earlier.window.until.max(later.window.until);
        }
        meet
    });
    Ok(pauses)
}
