//! J: Gao et al. (JCST 2022), sections 6 and 7: dummies and copies in a ping-pong and with workloads.
//!
//! [`curves`] runs the same flows with eight sets of mechanisms, point to point and in a full mesh, and draws
//! the paper's figures. [`ends_and_links`] runs them over protected links. [`path`] counts timeouts and bytes
//! in settings with enough of them to compare with the exact model.

mod causes;
mod cost;
mod curves;
mod ends_and_links;
mod impact;
mod mended;
mod mesh;
mod path;
mod ping_pong;
mod queue_pairs;
mod selective;

use crate::ledger::Claim;

pub(super) const PING_PONG_CLAIMS: &[Claim] = ping_pong::CLAIMS;
pub(super) const WORKLOAD_CLAIMS: &[Claim] =
    &[impact::CLAIM, mended::CLAIM, mesh::CLAIM, cost::CLAIM, causes::CLAIM];
pub(super) const LOSSY_CLAIMS: &[Claim] = &[selective::CLAIM, ping_pong::ACCELERATED];
pub(super) const QUEUE_PAIRS: Claim = queue_pairs::CLAIM;
pub(super) const OWN_CLAIMS: &[Claim] = &[ends_and_links::CLAIM];
