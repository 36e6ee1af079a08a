//! V: Guo et al., RDMA over Commodity Ethernet at Scale (SIGCOMM 2016), section 4.1: livelock.

mod full_link;
mod waste;

use wiremend_report::ledger::Source;

use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[full_link::CLAIM, waste::CLAIM];

const SOURCE: Source = Source {
    name: "Guo et al. 2016",
    citation: "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016",
    place: "section 4.1",
};
