//! L: Joshi et al. (SIGCOMM 2023), section 4: what LinkGuardian does for a link, and for what is sent over it.
//!
//! [`trial`] sends flow after flow over one link that protects itself. RDMA alone is sent so far.

mod mechanisms;
mod multi_packet;
mod single_packet;
mod trial;

use crate::ledger::Claim;

pub(super) const TRANSPORTS: &[Claim] = &[single_packet::CLAIM, multi_packet::CLAIM, mechanisms::CLAIM];
