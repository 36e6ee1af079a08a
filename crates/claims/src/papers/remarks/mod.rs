//! J21 to J35: statements of Gao et al. (JCST 2022) beside their theorems and figures.

mod deferred_dummies;
mod figures;
mod large_mtu;
mod monitoring;
mod operations;
mod printed_probabilities;
mod psn_collisions;
mod rate_cuts;
mod reads;
mod retry_exhaustion;
mod sending_twice;
mod statistics;
mod tail_gap;
mod tail_timer;

use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[
    deferred_dummies::CLAIM,
    tail_gap::CLAIM,
    retry_exhaustion::CLAIM,
    monitoring::CLAIM,
    reads::CLAIM,
    psn_collisions::CLAIM,
    large_mtu::CLAIM,
    sending_twice::CLAIM,
    printed_probabilities::CLAIM,
    figures::CLAIM,
    super::mending::QUEUE_PAIRS,
    tail_timer::CLAIM,
    rate_cuts::CLAIM,
    statistics::CLAIM,
    operations::CLAIM,
];

/// Flows of one packet of 1024 B over one link that corrupts one full packet in ten, each after the one before.
fn short_flows(effort: Effort) -> Run {
    Run::new("claims/short-flows")
        .set("workload.0.message", "1024B")
        .set("workload.0.count", effort.choose(20_000, 500_000))
        .seconds(effort.choose(0.1, 3.0))
}
