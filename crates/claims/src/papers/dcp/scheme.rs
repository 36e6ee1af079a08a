//! The compared schemes: each with the path selection that suits it, as in the paper.

use crate::ledger::Run;

/// A recovery scheme, its switches and its congestion control.
#[derive(Clone, Copy)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    recovery: &'static str,
    switches: Sets,
    more: Sets,
}

/// Paths of values in a scenario, and the values.
type Sets = &'static [(&'static str, &'static str)];

impl Scheme {
    const fn new(name: &'static str, recovery: &'static str, switches: Sets, more: Sets) -> Self {
        Self { name, recovery, switches, more }
    }

    /// A run with this scheme.
    pub(super) fn on(self, run: Run) -> Run {
        let sets = self.switches.iter().chain(self.more);
        sets.fold(run.set("transport.recovery", self.recovery), |run, (path, value)| run.set(path, value))
    }
}

const ECMP: Sets = &[];
const ADAPTIVE: Sets = &[("switch.balance", "adaptive")];
/// 32 MB shared by all ports.
const PAUSING: Sets = &[
    ("topology.buffer", "unlimited"),
    ("switch.lossless.classes", "[0]"),
    ("switch.lossless.buffer", "32MB"),
];
/// Marks every packet behind a long queue.
const MARKING: Sets = &[
    ("switch.balance", "ecmp"),
    ("switch.ecn.kmin", "50kB"),
    ("switch.ecn.kmax", "100kB"),
    ("switch.ecn.pmax", "1"),
];
/// Acknowledgements share the class of the headers: dropping one can cost a timeout, see D7.
const TRIMMING: Sets =
    &[("switch.balance", "adaptive"), ("switch.trim.threshold", "130kB"), ("switch.trim.acks", "control")];
const SWIFT: Sets = &[("transport.congestion", "swift")];

pub(super) const GO_BACK_N: Scheme = Scheme::new("go-back-N, ECMP", "go-back-n", ECMP, &[]);
pub(super) const GO_BACK_N_ADAPTIVE: Scheme = Scheme::new("go-back-N, adaptive", "go-back-n", ADAPTIVE, &[]);
pub(super) const LOSSLESS: Scheme = Scheme::new("go-back-N, PFC, ECMP", "go-back-n", PAUSING, &[]);
pub(super) const IRN: Scheme = Scheme::new("IRN, ECMP", "selective-repeat", ECMP, &[]);
pub(super) const IRN_CONTROLLED: Scheme = Scheme::new("IRN, ECMP, Swift", "selective-repeat", ECMP, SWIFT);
pub(super) const IRN_ADAPTIVE: Scheme = Scheme::new("IRN, adaptive", "selective-repeat", ADAPTIVE, &[]);
pub(super) const RACK_TLP_ADAPTIVE: Scheme = Scheme::new("RACK-TLP, adaptive", "rack-tlp", ADAPTIVE, &[]);
/// MP-RDMA selects paths itself, and its window needs ECN marks.
pub(super) const MP_RDMA: Scheme = Scheme::new("MP-RDMA, own paths", "mp-rdma", MARKING, &[]);
/// MP-RDMA with a receiver that tracks more than its 64 packets.
pub(super) const MP_RDMA_WIDE: Scheme = Scheme::new(
    "MP-RDMA, 2048 tracked",
    "mp-rdma",
    MARKING,
    &[("transport.selective-repeat.tracked", "2048")],
);
pub(super) const DCP: Scheme = Scheme::new("DCP, adaptive", "dcp", TRIMMING, &[]);
pub(super) const DCP_CONTROLLED: Scheme = Scheme::new("DCP, adaptive, Swift", "dcp", TRIMMING, SWIFT);
/// The maximum number of subflows, with coupled windows. The minimum timeout is that of LinkGuardian's hosts;
/// the default of Linux is 200 ms.
const SUBFLOWS: Sets = &[
    ("transport.protocol", "tcp"),
    ("transport.tcp.subflows", "8"),
    ("transport.tcp.congestion", "lia"),
    ("transport.tcp.rto_min", "1ms"),
];
pub(super) const MPTCP: Scheme = Scheme::new("MPTCP, ECMP", "go-back-n", ECMP, SUBFLOWS);
pub(super) const MPTCP_ADAPTIVE: Scheme = Scheme::new("MPTCP, adaptive", "go-back-n", ADAPTIVE, SUBFLOWS);
pub(super) const NDP: Scheme = Scheme::new("NDP, adaptive", "ndp", TRIMMING, &[]);
pub(super) const CP: Scheme = Scheme::new("CP, adaptive", "cp", TRIMMING, &[]);
