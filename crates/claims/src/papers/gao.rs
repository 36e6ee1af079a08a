//! What all claims of Gao et al. (JCST 2022) share: WRITEs of 1024 B over links that make bits wrong.

use wiremend_fabric::SizeTable;
use wiremend_model::{FlowSize, Operation, Sizes, bits};
use wiremend_units::Bytes;

/// Payload of a full packet.
pub(super) const MTU: u32 = 1024;

/// The paper, for which the place in it follows.
macro_rules! source {
    ($place:literal) => {
        concat!(
            "Gao et al., Analyzing and Optimizing Packet Corruption in RDMA Network, JCST 37(4), 2022, ",
            $place
        )
    };
}
pub(super) use source;

/// Frames as they are on the wire.
pub(super) fn sizes() -> Sizes {
    Sizes::real(MTU, Operation::Write)
}

/// The bit error rate at which a full frame is corrupted with probability β, as scenarios take it.
pub(super) fn bit_error_rate(beta: f64) -> String {
    format!("{:e}", bits::bit_error_rate(beta, f64::from(sizes().full())))
}

/// The flows of a table, for the model: each size by itself up to 64 packets, and in steps of 5 % beyond.
pub(super) fn flows(table: &SizeTable) -> Vec<FlowSize> {
    let groups = table.groups(Bytes::new(u64::from(MTU)), 64, 1.05);
    let size = groups.iter().map(|group| FlowSize {
        packets: group.packets,
        bytes: group.bytes,
        probability: group.probability,
    });
    size.collect()
}
