//! J: Gao et al. (JCST 2022), sections 6 and 7: what dummies and repeats do for a ping-pong and for whole workloads.
//!
//! [`curves`] runs the same flows mended in eight ways, point to point and in a full mesh, and draws the paper's figures
//! of them; [`ends_and_links`] runs them once more over links that mend themselves. [`path`] counts causes and bytes where there is enough of them to be held against the exact model.

mod causes;
mod cost;
mod curves;
mod ends_and_links;
mod impact;
mod mended;
mod mesh;
mod path;
mod ping_pong;
mod selective;

use crate::ledger::Claim;

pub(super) const PING_PONG: &[Claim] = ping_pong::CLAIMS;
pub(super) const WORKLOADS: &[Claim] =
    &[impact::CLAIM, mended::CLAIM, mesh::CLAIM, cost::CLAIM, causes::CLAIM];
pub(super) const LOSSY: &[Claim] = &[selective::CLAIM, ping_pong::ACCELERATED];
pub(super) const OWN: &[Claim] = &[ends_and_links::CLAIM];
