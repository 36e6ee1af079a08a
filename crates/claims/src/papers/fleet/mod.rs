//! L16 to L19: Joshi et al. (SIGCOMM 2023), section 4.8 and appendix D: a year of a fabric of 100 224 links.

use crate::prelude::*;

mod buckets;
mod capacity;
mod gain;
mod incremental;
mod kept;
mod least_paths;
mod penalty;
mod years;

pub(super) use years::{SEEDS, WINDOW, facebook};

pub(super) const CLAIMS: &[Claim] = &[buckets::CLAIM, penalty::CLAIM, gain::CLAIM, capacity::CLAIM];
pub(super) const FURTHER_CLAIMS: &[Claim] = &[least_paths::CLAIM, kept::CLAIM, incremental::CLAIM];
