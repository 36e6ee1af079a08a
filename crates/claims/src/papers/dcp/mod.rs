//! D: Li et al. (SIGCOMM 2025), RDMA over fabrics that lose packets: trimming switches, and what it is compared with.

mod collectives;
mod control_plane;
mod corruption;
mod far_apart;
mod goodput;
mod recovery;
mod requirements;
mod scheme;
mod tracking;
mod unequal;
mod web_search;

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
    corruption::CLAIM,
];

/// The paper, for which the place in its slides follows.
macro_rules! source {
    ($place:literal) => {
        concat!("Li et al., Revisiting RDMA Reliability for Lossy Fabrics, SIGCOMM 2025, ", $place)
    };
}
use source;
