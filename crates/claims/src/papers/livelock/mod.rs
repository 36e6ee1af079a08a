//! V: Guo et al., RDMA over Commodity Ethernet at Scale (SIGCOMM 2016), section 4.1: livelock.

mod full_link;
mod waste;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[full_link::CLAIM, waste::CLAIM];

const SOURCE: &str = "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.1";
