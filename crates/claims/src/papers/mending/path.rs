//! Flows over one path, and the exact model of them.

use wiremend_fabric::Workload;
use wiremend_model::{
    Cause, ConnectionTimes, FlowSize, MendCounts, ModelSetting, NakReaction, Nic, Path, expected, flow,
};

use crate::papers::gao::{self, MTU, Setting, bit_error_rate, sizes as frames};
use crate::prelude::*;

/// Links of 100 Gb/s.
const RATE_BPS: f64 = 1e11;
/// A round trip on the path: six links of 1 µs each way.
const RTT_S: f64 = 12.8e-6;
/// The timer of code 14.
const RTO_S: f64 = 4.096e-6 * 16_384.0;

/// Sizes of the flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flows {
    Bytes(u32),
    Table(&'static str),
}

/// Arrivals of the flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Arrivals {
    /// Each flow on its own queue pair, at this load.
    Apart(f64),
    /// All flows on one queue pair, with this mean gap in timeouts.
    Shared(f64),
}

/// A run on the path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Case {
    pub(super) flows: Flows,
    pub(super) count: u32,
    pub(super) arrivals: Arrivals,
    /// Number of corrupting links.
    pub(super) links: u32,
    /// Probability that a corrupting link corrupts a full frame.
    pub(super) beta: f64,
    pub(super) mechanism: &'static Mechanism,
}

/// A variant of the scenario, and its mechanisms in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mechanism {
    pub(super) name: &'static str,
    pub(super) mend: MendCounts,
}

pub(super) const NONE: Mechanism = mechanism("None", MendCounts::NONE);
pub(super) const ALL: Mechanism = mechanism("All", MendCounts::ALL);
pub(super) const TESTBED: Mechanism = mechanism("2/1/1", MendCounts::TESTBED);
pub(super) const NAK: Mechanism = mechanism("NAK", MendCounts::new(0, 1, 0));
pub(super) const TWICE: Mechanism = mechanism("Twice", MendCounts::new(0, 0, 1));
pub(super) const DUMMY: Mechanism = mechanism("Dummy", MendCounts::new(1, 0, 0));
pub(super) const REPEAT: Mechanism = mechanism("Repeat", MendCounts { tail_copies: 1, ..MendCounts::NONE });

const fn mechanism(name: &'static str, mend: MendCounts) -> Mechanism {
    Mechanism { name, mend }
}

impl Case {
    pub(super) fn run(&self) -> Run {
        let (qp, load) = match self.arrivals {
            Arrivals::Apart(load) => ("per-flow", load),
            Arrivals::Shared(timeouts) => {
                ("per-pair", 8.0 * self.mean_bytes() / (timeouts * RTO_S * RATE_BPS))
            }
        };
        let sizes = match self.flows {
            Flows::Bytes(bytes) => format!("{bytes}B"),
            Flows::Table(name) => name.to_owned(),
        };
        Run::new("claims/mend-path")
            .variant(self.mechanism.name)
            .set("topology.switches", self.links + 1)
            .set("transport.qp", qp)
            .set("workload.0.sizes", sizes)
            .set("workload.0.load", format!("{load:.4e}"))
            .set("workload.0.flows", self.count)
            .set("impair.0.rate", bit_error_rate(self.beta))
            .seconds(self.seconds())
    }

    /// With the exact model.
    pub(super) fn setting(&self) -> Setting {
        let (model, path) = (self.model(), Path::between_switches(self.links, 1.0));
        Setting { run: self.run(), model, path, sizes: self.sizes(), messages: 1.0 }
    }

    pub(super) fn outcome<'a>(&self, results: &'a Results<'_>) -> &'a Outcome {
        results.outcome(&self.run())
    }

    fn seconds(&self) -> f64 {
        // Measured computing time of a packet, and packets that go-back-N retransmits for a loss.
        const PER_PACKET: f64 = 1.0e-6;
        let packets = self.packets();
        let retransmitted = f64::from(self.links) * self.beta * packets.min(145.0);
        f64::from(self.count) * packets * PER_PACKET * (1.0 + retransmitted)
    }

    /// Sizes of the flows, for the model.
    pub(super) fn sizes(&self) -> Vec<FlowSize> {
        match self.flows {
            Flows::Bytes(bytes) => vec![FlowSize::fixed(bytes, MTU)],
            Flows::Table(name) => gao::flows(Workload::named(name).expect("it is shipped").table()),
        }
    }

    /// Mean number of packets per flow.
    pub(super) fn packets(&self) -> f64 {
        flow::mean_packets(&self.sizes())
    }

    pub(super) fn mean_bytes(&self) -> f64 {
        flow::mean_bytes(&self.sizes())
    }

    fn model(&self) -> ModelSetting {
        let sizes = frames();
        let mut setting = ModelSetting::new(sizes, self.beta, self.mechanism.mend);
        // The NIC takes longer to start a retransmission than the copies of a NAK are apart.
        setting.nic = Nic { nak_reaction: NakReaction::Once, ..Nic::default() };
        if let Arrivals::Shared(timeouts) = self.arrivals {
            let gap = Some(timeouts * RTO_S);
            let mut times =
                ConnectionTimes { rtt: RTT_S, rto: RTO_S, rate: RATE_BPS, hold: 0.0, gap, busy: 0.0 };
            setting.next = times.next();
            // Flows that arrive while the requester waits for a NAK or a retransmission are sent together
            // when the timer expires. Each of them except the last, and the one that waited, has the next
            // flow directly behind it.
            let timeouts_alone = expected(&setting, &Path::between_switches(self.links, 1.0), &self.sizes());
            let waits = timeouts_alone.timeouts[Cause::Nak as usize]
                + timeouts_alone.timeouts[Cause::Retransmission as usize];
            times.busy = (waits / timeouts).min(1.0);
            setting.next = times.next();
        }
        setting
    }
}
