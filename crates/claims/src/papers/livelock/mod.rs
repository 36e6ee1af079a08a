//! V: Guo et al., RDMA over Commodity Ethernet at Scale (SIGCOMM 2016), section 4.1: livelock.

mod full_link;
mod random_loss;
mod waste;

use wiremend_report::ledger::Source;

use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[full_link::CLAIM, waste::CLAIM, random_loss::CLAIM];

const SOURCE: Source = Source {
    name: "Guo et al. 2016",
    citation: "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016",
    place: "section 4.1",
};

/// Utilisation of the link with the data, which is the busier one: the other carries ACKs or requests.
fn busy(outcome: &Outcome) -> f64 {
    outcome.utilisation("h0>tor").max(outcome.utilisation("h1>tor"))
}
