//! How switches choose ways, as a scenario says.

use wiremend_scenario::{Balance, Recovery, Scenario};

use crate::network::Network;
use crate::switch::{Balancer, Manner};

/// None if a hash chooses.
pub(super) fn balancer(scenario: &Scenario, net: &Network) -> Option<Balancer> {
    let manner = match scenario.switch.balance.value {
        Balance::Ecmp => return None,
        Balance::Spray => Manner::Spray,
        Balance::Adaptive => Manner::Adaptive,
        Balance::Flowlet => Manner::Flowlet { gap: scenario.switch.flowlet_gap() },
    };
    Some(Balancer::new(manner, net.seed, net.graph.switch_count() as usize))
}

/// What a reader should know: packets that overtake each other are losses to some.
pub(super) fn note(scenario: &Scenario) -> Option<String> {
    let how = match scenario.switch.balance.value {
        Balance::Ecmp => return None,
        Balance::Spray => "spray packets",
        Balance::Adaptive => "choose a way for each packet",
        Balance::Flowlet => "choose a way for each flowlet",
    };
    let recovery = &scenario.transport.recovery.value;
    let minds = matches!(recovery, Recovery::GoBackN | Recovery::GoBack0 | Recovery::SelectiveRepeat);
    let whose = recovery.name();
    minds.then(|| {
        format!("switches {how}, and {whose} takes every packet that another has overtaken for a loss")
    })
}
