//! Cost of dummies and copies, in frame bytes.

use crate::flow::FlowSize;
use crate::frame::FrameSizes;
use crate::path::Path;
use crate::setting::ModelSetting;
use crate::timeout::{Expected, expected};

/// Bytes of a flow, or bytes added to it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Traffic {
    /// From requester to responder.
    pub forward: f64,
    /// From responder to requester.
    pub backward: f64,
}

/// Mean cost of each mechanism per flow.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Data frames of a flow, each sent once: the reference. Backward: its ACKs.
    pub flow: Traffic,
    /// Dummies sent for the first time, and their ACKs.
    pub dummies: Traffic,
    /// Copies of NAKs, and the second retransmission that they cause.
    pub nak_copies: Traffic,
    /// Copies of retransmissions, and the ACKs of those that arrive.
    pub retransmission_copies: Traffic,
    /// Copies of tail packets and their ACKs.
    pub tail_copies: Traffic,
    /// Additional work requests: each dummy is one (JCST §5.2).
    pub work_requests: f64,
}

impl Cost {
    /// Bytes that all mechanisms add in the direction of the data, relative to the flow's data frames.
    pub fn share(&self) -> f64 {
        self.parts().iter().map(|part| part.1.forward).sum::<f64>() / self.flow.forward
    }

    /// Bytes that all mechanisms add in the direction of the ACKs, relative to the flow's data frames.
    pub fn backward_share(&self) -> f64 {
        self.parts().iter().map(|part| part.1.backward).sum::<f64>() / self.flow.forward
    }

    /// Name and traffic of each mechanism.
    pub fn parts(&self) -> [(&'static str, Traffic); 4] {
        [
            ("dummies", self.dummies),
            ("NAK copies", self.nak_copies),
            ("retransmission copies", self.retransmission_copies),
            ("tail copies", self.tail_copies),
        ]
    }
}

/// Mean cost of a flow. `drained` is the fraction of flows after which the send queue is empty for T; only
/// these get dummies.
pub fn cost(setting: &ModelSetting, path: &Path, flows: &[FlowSize], drained: f64) -> Cost {
    let expected = expected(setting, path, flows);
    cost_from(setting, path, flows, drained, &expected)
}

/// Mean cost of a flow with known expectations.
pub fn cost_from(
    setting: &ModelSetting,
    path: &Path,
    flows: &[FlowSize],
    drained: f64,
    expected: &Expected,
) -> Cost {
    let ModelSetting { sizes, mend, corruption, .. } = setting;
    let answer = f64::from(sizes.answer);
    let middle = f64::from(sizes.middle());
    // A switch copies only packets that reach it.
    let reaches = |bytes: f64| 1.0 - path_loss_before(path, |links| corruption.loss(bytes, links));
    let count = |n: u32| f64::from(n);
    let dummies = count(mend.dummies) * drained;
    let copies = count(mend.retransmission_copies);
    let tail: f64 = flows.iter().map(|flow| flow.probability * tail_frame(sizes, flow)).sum();
    let copied = copies
        * (expected.repeats * reaches(middle) * middle + expected.dummy_repeats * f64::from(sizes.dummy));
    Cost {
        flow: flow_traffic(sizes, flows),
        dummies: Traffic { forward: dummies * f64::from(sizes.dummy), backward: dummies * answer },
        nak_copies: Traffic {
            forward: expected.second_repeats * middle,
            backward: count(mend.nak_copies) * expected.naks * reaches(answer) * answer,
        },
        retransmission_copies: Traffic { forward: copied, backward: copies * expected.repeats * answer },
        tail_copies: Traffic {
            forward: count(mend.tail_copies) * tail,
            backward: count(mend.tail_copies) * answer,
        },
        work_requests: dummies,
    }
}

/// Frames of a flow, each sent once, and an ACK for each.
fn flow_traffic(sizes: &FrameSizes, flows: &[FlowSize]) -> Traffic {
    let forward = |flow: &FlowSize| {
        flow.probability * ((flow.packets - 1.0).max(0.0) * f64::from(sizes.header) + sizes.first(flow.bytes))
    };
    let backward = |flow: &FlowSize| flow.probability * flow.packets * f64::from(sizes.answer);
    Traffic { forward: flows.iter().map(forward).sum(), backward: flows.iter().map(backward).sum() }
}

fn tail_frame(sizes: &FrameSizes, flow: &FlowSize) -> f64 {
    let payload = flow.tail_bytes(sizes.mtu);
    if flow.packets < 1.5 { sizes.first(payload) } else { sizes.last(payload) }
}

fn path_loss_before(path: &Path, loss: impl Fn(u32) -> f64) -> f64 {
    path.mean(|ways| loss(ways.forward.before))
}
