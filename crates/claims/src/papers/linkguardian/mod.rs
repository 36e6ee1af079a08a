//! L: Joshi et al. (SIGCOMM 2023), section 4 and appendix B: the effect of LinkGuardian on a link, and on
//! transports over it.
//!
//! [`trial`] sends flows one after the other over a protected link, with RDMA and with TCP ([`transport`]),
//! and [`stream`] one stream with TCP. The other claims use the [`stress`](crate::stress) test: frames of
//! 1518 B at line rate over a lossy link. The model of the prototype follows its registers, on a switch whose
//! latencies come from two measured times of appendix B.1: from a resume to the first frame, and the longest
//! retransmission. Only the second is also a claim, see L5.

use crate::prelude::*;

mod avoided;
mod backpressure;
mod both_directions;
mod buffers;
mod bursts;
mod classes;
mod consecutive;
mod cubic;
mod delay;
mod delay_based;
mod delay_steps;
mod fallback;
mod groups;
mod headers;
mod large;
mod large_rdma;
mod late_hosts;
mod load;
mod long_path;
mod loss;
mod mechanisms;
mod multi_packet;
mod occupancy;
mod pauses;
mod recirculation;
mod redundant;
mod reordering;
mod rerouted;
mod selective;
mod shared_loopback;
mod short_flows;
mod single_packet;
mod slower;
mod speed;
mod stream;
mod table_two;
mod timeline;
mod timeouts;
mod timer;
mod transport;
mod trial;

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
pub(super) const TRANSPORT_CLAIMS: &[Claim] = &[
    single_packet::CLAIM,
    multi_packet::CLAIM,
    large::CLAIM,
    groups::CLAIM,
    mechanisms::CLAIM,
    cubic::CLAIM,
    timeline::CLAIM,
];
pub(super) const TABLE_CLAIMS: &[Claim] = &[recirculation::CLAIM];
pub(super) const FURTHER_CLAIMS: &[Claim] = &[
    delay_steps::CLAIM,
    occupancy::CLAIM,
    table_two::CLAIM,
    short_flows::CLAIM,
    load::CLAIM,
    large_rdma::CLAIM,
    both_directions::CLAIM,
    long_path::CLAIM,
    shared_loopback::CLAIM,
    classes::CLAIM,
    bursts::CLAIM,
    timer::CLAIM,
    fallback::CLAIM,
];
pub(super) const BASELINE_CLAIMS: &[Claim] =
    &[delay_based::CLAIM, avoided::CLAIM, slower::CLAIM, redundant::CLAIM, rerouted::CLAIM];
pub(super) const OWN_CLAIMS: &[Claim] = &[selective::CLAIM, reordering::CLAIM, pauses::CLAIM];
