//! D: Li et al. (SIGCOMM 2025), RDMA over fabrics that lose packets: trimming switches, and what it is compared with.

mod control_plane;
mod requirements;
mod scheme;
mod unequal;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[unequal::CLAIM, control_plane::CLAIM, requirements::CLAIM];

/// The paper, for which the place in its slides follows.
macro_rules! source {
    ($place:literal) => {
        concat!("Li et al., Revisiting RDMA Reliability for Lossy Fabrics, SIGCOMM 2025, ", $place)
    };
}
use source;
