//! Load balancing of switches, from a scenario.

use wiremend_scenario::{Balance, Recovery, Scenario};

use crate::network::Network;
use crate::switch::{BalancePolicy, Balancer};

/// Returns `None` for ECMP.
pub(super) fn balancer(scenario: &Scenario, net: &Network) -> Option<Balancer> {
    let policy = match scenario.switch.balance.value {
        Balance::Ecmp => return None,
        Balance::Spray => BalancePolicy::Spray,
        Balance::Adaptive => BalancePolicy::Adaptive,
        Balance::Flowlet => BalancePolicy::Flowlet { gap: scenario.switch.flowlet_gap() },
    };
    Some(Balancer::new(policy, net.seed, net.graph.switch_count() as usize))
}

/// Returns a remark if the transport takes reordering for loss.
pub(super) fn note(scenario: &Scenario) -> Option<String> {
    let how = match scenario.switch.balance.value {
        Balance::Ecmp => return None,
        Balance::Spray => "spray packets",
        Balance::Adaptive => "choose a path for each packet",
        Balance::Flowlet => "choose a path for each flowlet",
    };
    let recovery = &scenario.transport.recovery.value;
    let minds = matches!(recovery, Recovery::GoBackN | Recovery::GoBack0 | Recovery::SelectiveRepeat);
    let whose = recovery.name();
    minds.then(|| format!("switches {how}, and {whose} takes every reordered packet for a loss"))
}
