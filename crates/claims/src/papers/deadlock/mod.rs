//! P: a draft on the resilience of RDMA data centres (2015): routing loops that become deadlocks, and the
//! remedies that it left open.

mod contained;
mod convergence;
mod core_loop;
mod crossing;
mod lossy;
mod rate;
mod remedies;
mod rings;
mod spread;
mod time;

use wiremend_report::ledger::Source;

use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[
    rate::CLAIM,
    time::CLAIM,
    spread::CLAIM,
    remedies::CLAIM,
    lossy::CLAIM,
    crossing::CLAIM,
    contained::CLAIM,
    core_loop::CLAIM,
    rings::CLAIM,
    convergence::CLAIM,
];

/// The draft, and a place in it.
const fn source(place: &'static str) -> Source {
    Source {
        name: "draft of 2015",
        citation: "Improving resilience of RDMA data centers, draft, November 2015",
        place,
    }
}
