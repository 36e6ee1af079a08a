//! The transports of the flows of a [trial](super::trial).

use super::late_hosts;
use crate::prelude::*;

/// A transport between the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transport {
    /// WRITEs on one queue pair, with go-back-N.
    Rdma(RoundTrip),
    /// TCP as in the testbed: a connection for each flow, with the initial window of Linux, SACK and
    /// RACK-TLP, and the round trip of the paper.
    Dctcp,
    Bbr,
}

/// Round trip of a small packet and its ACK, mostly in the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RoundTrip {
    /// Derived from medians of RDMA flows in the testbed: 18.0 µs, of which 24 387 B take 2.1 µs on a link.
    Rdma,
    /// The paper's value for TCP.
    Tcp,
}

/// Minimum retransmission timeout of TCP in the paper: at least one tick and a round trip, so two ticks.
pub(super) const RTO_MIN_NS: f64 = 1e6;

impl Transport {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rdma(RoundTrip::Rdma) => "RDMA at 16 µs",
            Self::Rdma(RoundTrip::Tcp) => "RDMA at 30 µs",
            Self::Dctcp => "DCTCP",
            Self::Bbr => "BBR",
        }
    }

    pub(super) const fn is_tcp(self) -> bool {
        matches!(self, Self::Dctcp | Self::Bbr)
    }

    /// Payload of a full packet.
    pub(super) const fn packet_bytes(self) -> u32 {
        if self.is_tcp() { 1448 } else { 1024 }
    }

    /// Sets this transport in a run, between hosts that [react late](late_hosts) or at once.
    pub(super) fn apply(self, run: Run, late: bool) -> Run {
        let reactions = if self.is_tcp() { 2 } else { 1 };
        let mut host_ns = self.host_latency_ns();
        let mut run = run;
        if late {
            host_ns -= reactions * late_hosts::MEDIAN_NS / 4;
            run = late_hosts::apply(run);
        }
        let host = format!("{host_ns}ns");
        let run = run.set("topology.host_tx_latency", &host).set("topology.host_rx_latency", host);
        match self {
            Self::Rdma(_) => run,
            Self::Dctcp => ["kmin=100kB", "kmax=100kB", "pmax=1.0"]
                .into_iter()
                .filter_map(|mark| mark.split_once('='))
                .fold(tcp(run, "dctcp"), |run, (field, value)| {
                    run.set(&format!("switch.ecn.{field}"), value)
                }),
            Self::Bbr => tcp(run, "bbr"),
        }
    }

    /// Delay of a packet in a host, each way: links and switches take 2.7 µs of a round trip.
    const fn host_latency_ns(self) -> u32 {
        match self {
            Self::Rdma(RoundTrip::Rdma) => 3_300,
            Self::Rdma(RoundTrip::Tcp) | Self::Dctcp | Self::Bbr => 6_830,
        }
    }
}

impl From<RoundTrip> for Transport {
    fn from(round_trip: RoundTrip) -> Self {
        Self::Rdma(round_trip)
    }
}

/// Tick of the testbed's kernel, a low-latency build of Ubuntu.
const TICK: &str = "1ms";

fn tcp(run: Run, congestion: &str) -> Run {
    run.set("transport.protocol", "tcp")
        .set("transport.qp", "per-flow")
        .set("transport.tcp.congestion", congestion)
        .set("transport.tcp.rto_min", "1ms")
        .set("transport.tcp.tick", TICK)
}
