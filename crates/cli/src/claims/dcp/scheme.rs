//! What is compared: each way to recover from losses with the choice of ways that suits it, as the paper has it.

use crate::ledger::Run;

/// A way to recover from losses, the switches that it wants, and how it answers congestion.
#[derive(Clone, Copy)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    sets: &'static [(&'static str, &'static str)],
}

impl Scheme {
    /// A run with this scheme.
    pub(super) fn on(self, run: Run) -> Run {
        self.sets.iter().fold(run, |run, (path, value)| run.set(path, value))
    }
}

pub(super) const GO_BACK_N: Scheme =
    Scheme { name: "go-back-N, ECMP", sets: &[("transport.recovery", "go-back-n")] };

pub(super) const GO_BACK_N_ADAPTIVE: Scheme = Scheme {
    name: "go-back-N, adaptive",
    sets: &[("transport.recovery", "go-back-n"), ("switch.balance", "adaptive")],
};

/// Switches with 32 MB that all ports share.
pub(super) const LOSSLESS: Scheme = Scheme {
    name: "go-back-N, PFC, ECMP",
    sets: &[
        ("transport.recovery", "go-back-n"),
        ("topology.buffer", "unlimited"),
        ("switch.lossless.classes", "[0]"),
        ("switch.lossless.buffer", "32MB"),
    ],
};

pub(super) const IRN: Scheme =
    Scheme { name: "IRN, ECMP", sets: &[("transport.recovery", "selective-repeat")] };

pub(super) const IRN_CONTROLLED: Scheme = Scheme {
    name: "IRN, ECMP, Swift",
    sets: &[("transport.recovery", "selective-repeat"), ("transport.congestion", "swift")],
};

pub(super) const IRN_ADAPTIVE: Scheme = Scheme {
    name: "IRN, adaptive",
    sets: &[("transport.recovery", "selective-repeat"), ("switch.balance", "adaptive")],
};

pub(super) const RACK_TLP_ADAPTIVE: Scheme = Scheme {
    name: "RACK-TLP, adaptive",
    sets: &[("transport.recovery", "rack-tlp"), ("switch.balance", "adaptive")],
};

/// It chooses its paths by itself, and its window needs marks from the first long queue on.
pub(super) const MP_RDMA: Scheme = Scheme {
    name: "MP-RDMA, own paths",
    sets: &[
        ("transport.recovery", "mp-rdma"),
        ("switch.balance", "ecmp"),
        ("switch.ecn.kmin", "50kB"),
        ("switch.ecn.kmax", "100kB"),
        ("switch.ecn.pmax", "1"),
    ],
};

/// The same with a receiver that remembers more than its 64 packets.
pub(super) const MP_RDMA_WIDE: Scheme = Scheme {
    name: "MP-RDMA, 2048 tracked",
    sets: &[
        ("transport.recovery", "mp-rdma"),
        ("switch.balance", "ecmp"),
        ("switch.ecn.kmin", "50kB"),
        ("switch.ecn.kmax", "100kB"),
        ("switch.ecn.pmax", "1"),
        ("transport.selective-repeat.tracked", "2048"),
    ],
};

/// Acknowledgements travel with the headers: one that is dropped can cost a timeout, as D7 shows.
pub(super) const DCP: Scheme = Scheme {
    name: "DCP, adaptive",
    sets: &[
        ("transport.recovery", "dcp"),
        ("switch.balance", "adaptive"),
        ("switch.trim.threshold", "130kB"),
        ("switch.trim.acks", "control"),
    ],
};

pub(super) const DCP_CONTROLLED: Scheme = Scheme {
    name: "DCP, adaptive, Swift",
    sets: &[
        ("transport.recovery", "dcp"),
        ("switch.balance", "adaptive"),
        ("switch.trim.threshold", "130kB"),
        ("switch.trim.acks", "control"),
        ("transport.congestion", "swift"),
    ],
};

pub(super) const NDP: Scheme = Scheme {
    name: "NDP, adaptive",
    sets: &[
        ("transport.recovery", "ndp"),
        ("switch.balance", "adaptive"),
        ("switch.trim.threshold", "130kB"),
        ("switch.trim.acks", "control"),
    ],
};

pub(super) const CP: Scheme = Scheme {
    name: "CP, adaptive",
    sets: &[
        ("transport.recovery", "cp"),
        ("switch.balance", "adaptive"),
        ("switch.trim.threshold", "130kB"),
        ("switch.trim.acks", "control"),
    ],
};
