//! D: Li et al. (SIGCOMM 2025), RDMA over fabrics that lose packets: trimming switches, and what it is compared with.

mod collectives;
mod control_plane;
mod far_apart;
mod requirements;
mod scheme;
mod unequal;
mod web_search;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    unequal::CLAIM,
    collectives::CLAIM,
    far_apart::CLAIM,
    web_search::CLAIM,
    control_plane::CLAIM,
    requirements::CLAIM,
];

/// The paper, for which the place in its slides follows.
macro_rules! source {
    ($place:literal) => {
        concat!("Li et al., Revisiting RDMA Reliability for Lossy Fabrics, SIGCOMM 2025, ", $place)
    };
}
use source;
