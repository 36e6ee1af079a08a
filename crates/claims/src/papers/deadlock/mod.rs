//! P: a draft on the resilience of RDMA data centres (2015): routing loops that become deadlocks, and the
//! remedies that it left open.

mod rate;
mod remedies;
mod spread;
mod time;

use wiremend_report::ledger::Source;

use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[rate::CLAIM, time::CLAIM, spread::CLAIM, remedies::CLAIM];

/// The draft, and a place in it.
const fn source(place: &'static str) -> Source {
    Source {
        name: "draft of 2015",
        citation: "Improving resilience of RDMA data centers, draft, November 2015",
        place,
    }
}
