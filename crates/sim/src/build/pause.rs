//! The pauses of a scenario, port by port.

use wiremend_scenario::Scenario;
use wiremend_units::Time;

use super::BuildError;
use super::topology::lanes;
use crate::engine::ScriptedPause;
use crate::network::Network;
use crate::port::Hold;

/// Every pause of every port. Where several of one class meet, they are one.
pub(super) fn place(scenario: &Scenario, net: &Network) -> Result<Vec<ScriptedPause>, BuildError> {
    let mut pauses = Vec::new();
    for pause in &scenario.pauses {
        let hold = Hold { from: pause.start, until: pause.stop.unwrap_or(Time::MAX) };
        let class = pause.class.get();
        let lanes = lanes(&net.graph, &pause.links, pause.direction)?;
        pauses.extend(lanes.into_iter().map(|lane| ScriptedPause { lane, class, hold }));
    }
    pauses.sort_unstable_by_key(|pause| (pause.lane, pause.class, pause.hold.from));
    pauses.dedup_by(|later, earlier| {
        let meet = (later.lane, later.class) == (earlier.lane, earlier.class)
            && later.hold.from <= earlier.hold.until;
        if meet {
            earlier.hold.until = earlier.hold.until.max(later.hold.until);
        }
        meet
    });
    Ok(pauses)
}
