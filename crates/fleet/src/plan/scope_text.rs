//! Capacities as text.

use wiremend_fabric::tiers::{Scope, Tiers};

use super::drain_planner::ScopeCapacity;
use crate::capacity::CapacityCount;

impl ScopeCapacity {
    /// Returns the name of the scope: `ToR t1`, `pod p1 with all its ToRs sending`.
    pub fn name(&self, tiers: &Tiers) -> String {
        match self.scope {
            Scope::Tor(tor) => format!("ToR {}", tiers.name(tor)),
            Scope::Pod(pod) => format!("pod {} with all its ToRs sending", tiers.pod_name(pod)),
            Scope::Domain(tor) => {
                format!("the fabric with all ToRs sending that share switches with {}", tiers.name(tor))
            }
        }
    }

    /// Returns the capacity, and what is required: `300 of 700 Gb/s to the top tier, and needs 525 Gb/s`.
    pub fn numbers(&self, count: CapacityCount) -> String {
        let Self { amount, required, total, .. } = *self;
        match count {
            CapacityCount::Paths => {
                format!("{amount} of {total} paths to the top tier, and needs {required}")
            }
            CapacityCount::Bandwidth => format!(
                "{} of {} Gb/s to the top tier, and needs {} Gb/s",
                gbps(amount),
                gbps(total),
                gbps(required)
            ),
        }
    }
}

/// Renders bit/s in Gb/s with up to three decimals: `525`, `52.5`.
fn gbps(bps: u64) -> String {
    let text = format!("{:.3}", bps as f64 / 1e9);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
