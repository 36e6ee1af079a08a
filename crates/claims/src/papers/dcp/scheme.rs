//! The compared schemes: each with the path selection that suits it, as in the paper, and all with the same
//! memory.

use crate::ledger::Run;

/// A recovery scheme, its switches and its congestion control.
#[derive(Clone, Copy)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    recovery: &'static str,
    full: FullPort,
    switches: Sets,
    more: Sets,
}

/// What a switch does with a packet for a port without free memory.
#[derive(Clone, Copy)]
enum FullPort {
    Drop,
    /// Forwards the headers.
    Trim,
    /// Pauses the neighbour before.
    Pause,
}

/// Memory of a switch. Every scheme has the same: a switch trims where another one drops, as in the paper's
/// simulator, which trims a packet that its shared buffer does not admit.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    /// Of an output port.
    pub(super) port: &'static str,
    /// Of all ports together, if they share it.
    shared: &'static str,
}

/// Paths of values in a scenario, and the values.
type Sets = &'static [(&'static str, &'static str)];

impl Memory {
    /// 32 MB for 32 ports, as in the paper.
    pub(super) const LARGE: Self = Self::new("1MB", "32MB");
    /// One bandwidth-delay product for each port, which UEC recommends as the length of a queue at which ports
    /// inside a fabric begin to trim.
    pub(super) const BDP: Self = Self::new("130kB", "4160kB");

    pub(super) const fn new(port: &'static str, shared: &'static str) -> Self {
        Self { port, shared }
    }
}

impl Scheme {
    const fn dropping(name: &'static str, recovery: &'static str, switches: Sets, more: Sets) -> Self {
        Self { name, recovery, full: FullPort::Drop, switches, more }
    }

    /// With packet-level load balancing.
    const fn trimming(name: &'static str, recovery: &'static str, more: Sets) -> Self {
        Self { name, recovery, full: FullPort::Trim, switches: ADAPTIVE, more }
    }

    /// A run with this scheme over switches with this memory.
    pub(super) fn on(self, run: Run, memory: Memory) -> Run {
        let run = run.set("transport.recovery", self.recovery);
        let run = match self.full {
            FullPort::Drop => run.set("topology.buffer", memory.port),
            FullPort::Trim => {
                let run = run.set("topology.buffer", memory.port).set("switch.trim.threshold", memory.port);
                // Acknowledgements share the class of the headers: dropping one can cost a timeout, see D7.
                run.set("switch.trim.acks", "control")
            }
            FullPort::Pause => {
                let run = run.set("topology.buffer", "unlimited").set("switch.lossless.classes", "[0]");
                run.set("switch.lossless.buffer", memory.shared)
            }
        };
        self.switches.iter().chain(self.more).fold(run, |run, (path, value)| run.set(path, value))
    }
}

const ECMP: Sets = &[];
const ADAPTIVE: Sets = &[("switch.balance", "adaptive")];
/// Marks every packet behind a long queue.
const MARKING: Sets = &[
    ("switch.balance", "ecmp"),
    ("switch.ecn.kmin", "50kB"),
    ("switch.ecn.kmax", "100kB"),
    ("switch.ecn.pmax", "1"),
];
const SWIFT: Sets = &[("transport.congestion", "swift")];

pub(super) const GO_BACK_N: Scheme = Scheme::dropping("go-back-N, ECMP", "go-back-n", ECMP, &[]);
pub(super) const GO_BACK_N_ADAPTIVE: Scheme =
    Scheme::dropping("go-back-N, adaptive", "go-back-n", ADAPTIVE, &[]);
pub(super) const LOSSLESS: Scheme = Scheme {
    name: "go-back-N, PFC, ECMP",
    recovery: "go-back-n",
    full: FullPort::Pause,
    switches: ECMP,
    more: &[],
};
pub(super) const IRN: Scheme = Scheme::dropping("IRN, ECMP", "selective-repeat", ECMP, &[]);
pub(super) const IRN_CONTROLLED: Scheme =
    Scheme::dropping("IRN, ECMP, Swift", "selective-repeat", ECMP, SWIFT);
pub(super) const IRN_ADAPTIVE: Scheme = Scheme::dropping("IRN, adaptive", "selective-repeat", ADAPTIVE, &[]);
pub(super) const RACK_TLP_ADAPTIVE: Scheme =
    Scheme::dropping("RACK-TLP, adaptive", "rack-tlp", ADAPTIVE, &[]);
/// MP-RDMA selects paths itself, and its window needs ECN marks.
pub(super) const MP_RDMA: Scheme = Scheme::dropping("MP-RDMA, own paths", "mp-rdma", MARKING, &[]);
/// MP-RDMA with a receiver that tracks more than its 64 packets.
pub(super) const MP_RDMA_WIDE: Scheme = Scheme::dropping(
    "MP-RDMA, 2048 tracked",
    "mp-rdma",
    MARKING,
    &[("transport.selective-repeat.tracked", "2048")],
);
pub(super) const DCP: Scheme = Scheme::trimming("DCP, adaptive", "dcp", &[]);
pub(super) const DCP_CONTROLLED: Scheme = Scheme::trimming("DCP, adaptive, Swift", "dcp", SWIFT);
/// The maximum number of subflows, with coupled windows. The minimum timeout is that of LinkGuardian's hosts;
/// the default of Linux is 200 ms.
const SUBFLOWS: Sets = &[
    ("transport.protocol", "tcp"),
    ("transport.tcp.subflows", "8"),
    ("transport.tcp.congestion", "lia"),
    ("transport.tcp.rto_min", "1ms"),
];
pub(super) const MPTCP: Scheme = Scheme::dropping("MPTCP, ECMP", "go-back-n", ECMP, SUBFLOWS);
pub(super) const MPTCP_ADAPTIVE: Scheme =
    Scheme::dropping("MPTCP, adaptive", "go-back-n", ADAPTIVE, SUBFLOWS);
pub(super) const NDP: Scheme = Scheme::trimming("NDP, adaptive", "ndp", &[]);
pub(super) const CP: Scheme = Scheme::trimming("CP, adaptive", "cp", &[]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_has_the_same_memory() {
        let command = |scheme: Scheme, memory| scheme.on(Run::new("claims/websearch"), memory).command(&[]);
        for memory in [Memory::LARGE, Memory::BDP] {
            let port = format!("--set topology.buffer={}", memory.port);
            let threshold = format!("--set switch.trim.threshold={}", memory.port);
            for scheme in [DCP, DCP_CONTROLLED, NDP, CP] {
                let command = command(scheme, memory);
                assert!(command.contains(&port) && command.contains(&threshold), "{command}");
            }
            for scheme in [GO_BACK_N, IRN, IRN_CONTROLLED, RACK_TLP_ADAPTIVE, MP_RDMA, MPTCP] {
                let command = command(scheme, memory);
                assert!(command.contains(&port) && !command.contains("switch.trim"), "{command}");
            }
            let shared = format!("--set switch.lossless.buffer={}", memory.shared);
            assert!(command(LOSSLESS, memory).contains(&shared));
        }
    }
}
