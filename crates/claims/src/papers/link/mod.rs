//! L21: Joshi et al. (SIGCOMM 2023), Fig. 1: why links need protection.

mod attenuation;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[attenuation::CLAIM];
