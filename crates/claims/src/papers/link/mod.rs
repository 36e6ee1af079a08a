//! L: Joshi et al. (SIGCOMM 2023): a link that repairs itself, and why links need it.

mod attenuation;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[attenuation::CLAIM];
