//! Common parts of the claims of Gao et al. (JCST 2022): WRITEs of 1024 B over links with bit errors.

use wiremend_fabric::SizeTable;
use wiremend_model::{Cause, Expected, FlowSize, FrameSizes, ModelSetting, Operation, Path, bits, expected};
use wiremend_report::ledger::Source;
use wiremend_units::Bytes;

use crate::cause::counted;
use crate::prelude::*;

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

/// Tolerance for the approximations of the paper.
pub(super) const PAPER_TOLERANCE: f64 = 0.1;

/// Frame sizes on the wire.
pub(super) fn sizes() -> FrameSizes {
    FrameSizes::on_wire(MTU, Operation::Write)
}

/// Frame sizes with SEND. They are those of the paper, but for the shortest Ethernet frame, 64 B: no packet has a
/// RETH.
pub(super) fn send_sizes() -> FrameSizes {
    FrameSizes::on_wire(MTU, Operation::Send)
}

/// Why other sizes come out than those of the paper.
pub(super) const NO_RETH: &str = "The paper's frames have no RETH, as those of SEND: a packet of 1086 B and a dummy of \
                                  62 B, which Ethernet pads to 64. With SEND instead of WRITE the printed values come \
                                  out";

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

/// Flows over corrupting links: a run, and what the exact model expects of it.
pub(super) struct Setting {
    pub(super) run: Run,
    pub(super) model: ModelSetting,
    pub(super) path: Path,
    pub(super) sizes: Vec<FlowSize>,
    /// Flows of the model in each flow of the run.
    pub(super) messages: f64,
}

impl Setting {
    pub(super) fn outcome<'a>(&self, results: &'a Results<'_>) -> &'a Outcome {
        results.outcome(&self.run)
    }

    pub(super) fn expected(&self) -> Expected {
        expected(&self.model, &self.path, &self.sizes)
    }

    /// Timeouts in a flow of the run.
    pub(super) fn exact(&self, cause: Cause) -> f64 {
        self.messages * self.expected().timeouts[cause as usize]
    }

    /// Counted timeouts.
    pub(super) fn counted(&self, results: &Results<'_>, cause: Cause) -> u64 {
        self.outcome(results).summary.timeouts.get(counted(cause))
    }

    /// Counted and expected timeouts.
    pub(super) fn pair(&self, results: &Results<'_>, cause: Cause) -> (u64, f64) {
        let flows = self.outcome(results).summary.flows as f64;
        (self.counted(results, cause), self.exact(cause) * flows)
    }

    /// Checks that the counted timeouts agree with the expected ones.
    pub(super) fn agree(
        &self,
        judgement: &mut Judgement,
        results: &Results<'_>,
        what: impl Into<String>,
        cause: Cause,
    ) {
        let (timeouts, expected) = self.pair(results, cause);
        judgement.must(what, count(timeouts).expected(expected));
    }
}

/// A curve of computed values.
pub(super) fn computed(name: impl Into<String>, at: &[f64], value: impl Fn(f64) -> f64) -> Curve {
    Curve::straight(name, at.iter().map(|&x| (x, value(x))))
}

/// An axis of probabilities.
pub(super) fn probability(label: &str) -> Axis {
    Axis::new(label, Scale::Log, Unit::Number)
}
