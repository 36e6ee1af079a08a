//! L21: Joshi et al. (SIGCOMM 2023), Fig. 1: why links need protection.

use crate::prelude::*;

mod attenuation;

pub(super) const CLAIMS: &[Claim] = &[attenuation::CLAIM];
