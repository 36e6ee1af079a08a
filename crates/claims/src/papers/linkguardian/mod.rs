//! L: Joshi et al. (SIGCOMM 2023), section 4 and appendix B: what LinkGuardian does for a link, and for what is sent over it.
//!
//! [`trial`] sends flow after flow over one link that protects itself, by RDMA and by TCP ([`transport`]), and [`stream`] one stream by TCP. The
//! other claims are about the same
//! [`stress`](crate::stress): frames of 1518 B, one right after the other, over a link that loses some of them. The prototype runs register by register
//! on a switch whose latencies come from two measured times (appendix B.1: from a resume to the first frame, and the longest
//! retransmission); nothing is fitted to what is claimed here but the second, which L5 says.

mod backpressure;
mod buffers;
mod consecutive;
mod cubic;
mod delay;
mod groups;
mod headers;
mod large;
mod loss;
mod mechanisms;
mod multi_packet;
mod pauses;
mod recirculation;
mod reordering;
mod selective;
mod single_packet;
mod speed;
mod stream;
mod timeline;
mod timeouts;
mod transport;
mod trial;

use crate::ledger::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    loss::CLAIM,
    speed::CLAIM,
    timeouts::CLAIM,
    buffers::CLAIM,
    delay::CLAIM,
    consecutive::CLAIM,
    headers::CLAIM,
    backpressure::CLAIM,
];
pub(super) const TRANSPORTS: &[Claim] = &[
    single_packet::CLAIM,
    multi_packet::CLAIM,
    large::CLAIM,
    groups::CLAIM,
    mechanisms::CLAIM,
    cubic::CLAIM,
    timeline::CLAIM,
];
pub(super) const TABLES: &[Claim] = &[recirculation::CLAIM];
pub(super) const OWN: &[Claim] = &[selective::CLAIM, reordering::CLAIM, pauses::CLAIM];
