//! Common parts of the claims of Gao et al. (JCST 2022): WRITEs of 1024 B over links with bit errors.

use wiremend_fabric::SizeTable;
use wiremend_model::{FlowSize, FrameSizes, Operation, bits};
use wiremend_report::ledger::Source;
use wiremend_units::Bytes;

/// Payload of a full packet.
pub(super) const MTU: u32 = 1024;

/// The paper, and a place in it.
pub(super) const fn source(place: &'static str) -> Source {
    Source {
        name: "Gao et al. 2022",
        citation: "Gao et al., Analyzing and Optimizing Packet Corruption in RDMA Network, JCST 37(4), 2022",
        place,
    }
}

/// Frame sizes on the wire.
pub(super) fn sizes() -> FrameSizes {
    FrameSizes::on_wire(MTU, Operation::Write)
}

/// The bit error rate at which a full frame is corrupted with probability β, in the format of scenarios.
pub(super) fn bit_error_rate(beta: f64) -> String {
    format!("{:e}", bits::bit_error_rate(beta, f64::from(sizes().full())))
}

/// Flow sizes of a table for the model: exact up to 64 packets, in steps of 5 % above.
pub(super) fn flows(table: &SizeTable) -> Vec<FlowSize> {
    let groups = table.groups(Bytes::new(u64::from(MTU)), 64, 1.05);
    let size = groups.iter().map(|group| FlowSize {
        packets: group.packets,
        bytes: group.bytes,
        probability: group.probability,
    });
    size.collect()
}
