//! J: Gao et al. (JCST 2022), sections 6 and 7: what dummies and repeats do for a ping-pong and for whole workloads.

mod ping_pong;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = ping_pong::CLAIMS;
