//! J: Gao et al. (JCST 2022): the effect of corruption on RDMA, and of dummy headers and copies.
//!
//! The theorems of sections 3 and 4 are tested by counts at rates at which timeouts are frequent, and
//! compared with the exact formulas of `wiremend-model`. The printed formulas, with their sizes and
//! approximations, are checked too.

mod cost;
mod frames;
mod long_flows;
mod path;
mod short_flows;
mod tail;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    frames::CLAIM,
    path::CLAIM,
    long_flows::NAK,
    long_flows::TWICE,
    tail::CLAIM,
    long_flows::NAK_COPIES,
    long_flows::TWICE_COPIES,
    short_flows::TAIL,
    short_flows::ACK,
    cost::CLAIM,
];

/// The ratio of a small frame to a full one in the paper.
const SMALL_FRAME_RATIO: f64 = wiremend_model::paper::SMALL;
