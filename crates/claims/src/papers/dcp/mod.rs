//! D: Li et al. (SIGCOMM 2025), DCP: RDMA over lossy fabrics with trimming switches, and the schemes it is
//! compared with.

mod batches;
mod collectives;
mod control_plane;
mod corruption;
mod decoupled;
mod failures;
mod far_apart;
mod goodput;
mod operations;
mod reads;
mod recovery;
mod requirements;
mod scheme;
mod timeouts;
mod tracking;
mod unequal;
mod victims;
mod web_search;

use wiremend_report::ledger::Source;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    goodput::CLAIM,
    unequal::CLAIM,
    collectives::CLAIM,
    far_apart::CLAIM,
    web_search::CLAIM,
    recovery::CLAIM,
    control_plane::CLAIM,
    tracking::CLAIM,
    requirements::CLAIM,
    batches::CLAIM,
    timeouts::CLAIM,
    operations::CLAIM,
    failures::CLAIM,
    victims::CLAIM,
    decoupled::CLAIM,
    reads::CLAIM,
    corruption::CLAIM,
];

/// The paper, and a place in its slides.
const fn source(place: &'static str) -> Source {
    Source {
        name: "Li et al. 2025",
        citation: "Li et al., Revisiting RDMA Reliability for Lossy Fabrics, SIGCOMM 2025",
        place,
    }
}
