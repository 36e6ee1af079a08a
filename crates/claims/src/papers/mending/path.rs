//! Flows over one path, and what the exact model says about them.

use wiremend_fabric::Workload;
use wiremend_model::{Cause, FlowSize, Mend, Nic, Path, Rewind, Setting, Times, expected, flow};

use crate::ledger::{Outcome, Results, Run};
use crate::papers::gao::{self, MTU, bit_error_rate, sizes as frames};

/// Links of 100 Gb/s.
const RATE_BPS: f64 = 1e11;
/// A round trip on the path: six links of 1 µs each way.
const RTT_S: f64 = 12.8e-6;
/// The timer of code 14.
const RTO_S: f64 = 4.096e-6 * 16_384.0;

/// How large flows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flows {
    Bytes(u32),
    Table(&'static str),
}

/// How flows come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Arrivals {
    /// Each on a queue pair of its own, at this load.
    Apart(f64),
    /// All on one queue pair, the gap between two of them being so many timeouts on average.
    Shared(f64),
}

/// A run on the path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Case {
    pub(super) flows: Flows,
    pub(super) count: u32,
    pub(super) arrivals: Arrivals,
    /// Links that corrupt.
    pub(super) links: u32,
    /// How often each of them corrupts a full frame.
    pub(super) beta: f64,
    pub(super) mechanism: &'static Mechanism,
}

/// A variant of the scenario, as the model knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mechanism {
    pub(super) name: &'static str,
    pub(super) mend: Mend,
}

pub(super) const NONE: Mechanism = mechanism("None", Mend::NONE);
pub(super) const ALL: Mechanism = mechanism("All", Mend::ALL);
pub(super) const TESTBED: Mechanism = mechanism("2/1/1", Mend::TESTBED);
pub(super) const NAK: Mechanism = mechanism("NAK", Mend::new(0, 1, 0));
pub(super) const TWICE: Mechanism = mechanism("Twice", Mend::new(0, 0, 1));
pub(super) const DUMMY: Mechanism = mechanism("Dummy", Mend::new(1, 0, 0));
pub(super) const REPEAT: Mechanism = mechanism("Repeat", Mend { tail_repeat: 1, ..Mend::NONE });

const fn mechanism(name: &'static str, mend: Mend) -> Mechanism {
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
        Run::of("claims/mend-path")
            .variant(self.mechanism.name)
            .set("topology.switches", self.links + 1)
            .set("transport.qp", qp)
            .set("workload.0.sizes", sizes)
            .set("workload.0.load", format!("{load:.4e}"))
            .set("workload.0.flows", self.count)
            .set("impair.0.rate", bit_error_rate(self.beta))
            .seconds(self.seconds())
    }

    pub(super) fn of<'a>(&self, results: &'a Results<'_>) -> &'a Outcome {
        results.of(&self.run())
    }

    fn seconds(&self) -> f64 {
        // Measured: a packet, and what go-back-N sends again of the packets behind a lost one.
        const PER_PACKET: f64 = 1.0e-6;
        let packets = self.packets();
        let again = f64::from(self.links) * self.beta * packets.min(145.0);
        f64::from(self.count) * packets * PER_PACKET * (1.0 + again)
    }

    /// Sizes of the flows, for the model.
    pub(super) fn sizes(&self) -> Vec<FlowSize> {
        match self.flows {
            Flows::Bytes(bytes) => vec![FlowSize::only(bytes, MTU)],
            Flows::Table(name) => gao::flows(Workload::named(name).expect("it is shipped").table()),
        }
    }

    /// Packets of a flow on average.
    pub(super) fn packets(&self) -> f64 {
        flow::mean_packets(&self.sizes())
    }

    pub(super) fn mean_bytes(&self) -> f64 {
        flow::mean_bytes(&self.sizes())
    }

    pub(super) fn path(&self) -> Path {
        Path::between_switches(self.links, 1.0)
    }

    /// The circumstances, for the model.
    pub(super) fn setting(&self) -> Setting {
        let sizes = frames();
        let mut setting = Setting::new(sizes, self.beta, self.mechanism.mend);
        // A NIC that fetches for longer than the copies of a NAK are apart.
        setting.nic = Nic { rewind: Rewind::Once, ..Nic::default() };
        if let Arrivals::Shared(timeouts) = self.arrivals {
            let gap = Some(timeouts * RTO_S);
            let mut times = Times { rtt: RTT_S, rto: RTO_S, rate: RATE_BPS, hold: 0.0, gap, busy: 0.0 };
            setting.next = times.next();
            // Flows that come while a NAK or a repeat is waited for are sent together when the timer fires: each but the
            // last of them, and the one that waited, has the next one right behind it.
            let met = expected(&setting, &self.path(), &self.sizes());
            let waits = met.timeouts[Cause::Nak as usize] + met.timeouts[Cause::Twice as usize];
            times.busy = (waits / timeouts).min(1.0);
            setting.next = times.next();
        }
        setting
    }
}
