//! D: Li et al. (SIGCOMM 2025), RDMA over fabrics that lose packets: trimming switches, and what it is compared with.

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[];

/// The paper, for which the place in its slides follows.
macro_rules! source {
    ($place:literal) => {
        concat!("Li et al., Revisiting RDMA Reliability for Lossy Fabrics, SIGCOMM 2025, ", $place)
    };
}
#[expect(unused_imports, reason = "claims follow")]
use source;
