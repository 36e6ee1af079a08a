//! P: a draft on the resilience of RDMA data centres (2015): routing loops that become deadlocks, and what it left to be added.

mod rate;
mod remedies;
mod spread;
mod time;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[rate::CLAIM, time::CLAIM, spread::CLAIM, remedies::CLAIM];

/// The draft, for which the place in it follows.
macro_rules! source {
    ($place:literal) => {
        concat!("Improving resilience of RDMA data centers, draft, November 2015, ", $place)
    };
}
use source;
