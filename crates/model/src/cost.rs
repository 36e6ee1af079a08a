//! What the mechanisms cost, in bytes of frames.

use crate::flow::FlowSize;
use crate::frame::Sizes;
use crate::path::Path;
use crate::setting::Setting;
use crate::timeout::{Expected, expected};

/// Bytes of a flow, or that something adds to it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Traffic {
    /// From requester to responder.
    pub forward: f64,
    /// From responder to requester.
    pub backward: f64,
}

/// What each mechanism adds to a flow on average.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Data frames of a flow, each sent once: what the others are measured by. Backward, its ACKs.
    pub flow: Traffic,
    /// Dummies, as posted, and their ACKs.
    pub dummies: Traffic,
    /// Copies of NAKs, and the second repeat that they cause.
    pub nak_copies: Traffic,
    /// Copies of retransmissions, and the ACKs of those that arrive.
    pub retransmission_copies: Traffic,
    /// Repeated tails and their ACKs.
    pub tail_repeat: Traffic,
    /// Work requests posted in addition: each dummy is one (JCST §5.2).
    pub work_requests: f64,
}

impl Cost {
    /// Bytes that all mechanisms add in the direction of the data, as a share of the flow's own.
    pub fn share(&self) -> f64 {
        self.parts().iter().map(|part| part.1.forward).sum::<f64>() / self.flow.forward
    }

    /// The same for the other direction, where a flow has its ACKs, as a share of the data: the link is as wide.
    pub fn backward_share(&self) -> f64 {
        self.parts().iter().map(|part| part.1.backward).sum::<f64>() / self.flow.forward
    }

    /// Each mechanism by name.
    pub fn parts(&self) -> [(&'static str, Traffic); 4] {
        [
            ("dummies", self.dummies),
            ("NAK copies", self.nak_copies),
            ("retransmission copies", self.retransmission_copies),
            ("tail repeat", self.tail_repeat),
        ]
    }
}

/// The mean cost of a flow. `drained` is the share of flows behind which the send queue runs dry and stays so for T,
/// since only those get dummies.
pub fn cost(setting: &Setting, path: &Path, flows: &[FlowSize], drained: f64) -> Cost {
    let met = expected(setting, path, flows);
    cost_of(setting, path, flows, drained, &met)
}

/// The same, if what flows meet is known already.
pub fn cost_of(setting: &Setting, path: &Path, flows: &[FlowSize], drained: f64, met: &Expected) -> Cost {
    let Setting { sizes, mend, corruption, .. } = setting;
    let answer = f64::from(sizes.answer);
    let middle = f64::from(sizes.middle());
    // What makes copies sees only what has come so far.
    let reaches = |bytes: f64| 1.0 - path_loss_before(path, |links| corruption.loss(bytes, links));
    let count = |n: u32| f64::from(n);
    let dummies = count(mend.dummies) * drained;
    let copies = count(mend.retransmission_copies);
    let tail: f64 = flows.iter().map(|flow| flow.probability * tail_frame(sizes, flow)).sum();
    let copied =
        copies * (met.repeats * reaches(middle) * middle + met.dummy_repeats * f64::from(sizes.dummy));
    Cost {
        flow: flow_traffic(sizes, flows),
        dummies: Traffic { forward: dummies * f64::from(sizes.dummy), backward: dummies * answer },
        nak_copies: Traffic {
            forward: met.second_repeats * middle,
            backward: count(mend.nak_copies) * met.naks * reaches(answer) * answer,
        },
        retransmission_copies: Traffic { forward: copied, backward: copies * met.repeats * answer },
        tail_repeat: Traffic {
            forward: count(mend.tail_repeat) * tail,
            backward: count(mend.tail_repeat) * answer,
        },
        work_requests: dummies,
    }
}

/// Frames of a flow, each sent once, and an ACK for each.
fn flow_traffic(sizes: &Sizes, flows: &[FlowSize]) -> Traffic {
    let forward = |flow: &FlowSize| {
        flow.probability * ((flow.packets - 1.0).max(0.0) * f64::from(sizes.header) + sizes.first(flow.bytes))
    };
    let backward = |flow: &FlowSize| flow.probability * flow.packets * f64::from(sizes.answer);
    Traffic { forward: flows.iter().map(forward).sum(), backward: flows.iter().map(backward).sum() }
}

fn tail_frame(sizes: &Sizes, flow: &FlowSize) -> f64 {
    let payload = flow.tail_bytes(sizes.mtu);
    if flow.packets < 1.5 { sizes.first(payload) } else { sizes.last(payload) }
}

fn path_loss_before(path: &Path, loss: impl Fn(u32) -> f64) -> f64 {
    path.mean(|ways| loss(ways.forward.before))
}
