//! What a scenario says of TCP, as the core takes it.

use wiremend_proto::tcp::{Config, Ecn, Reordering, cc::Algorithm};
use wiremend_scenario::{Protocol as Named, Scenario, TcpCongestion, TcpEcn, TcpReordering};

use super::longest::Longest;
use crate::network::{Network, Protocol, Tcp};

/// What all TCP connections share, if there are any.
pub(super) fn tcp(scenario: &Scenario, net: &Network) -> Option<Box<Tcp>> {
    if !scenario.speaks(Named::Tcp) {
        return None;
    }
    let table = scenario.transport.tcp();
    let congestion = match table.congestion {
        TcpCongestion::Cubic => Algorithm::Cubic,
        TcpCongestion::Dctcp => Algorithm::Dctcp,
        TcpCongestion::Bbr => Algorithm::Bbr,
        TcpCongestion::Reno => Algorithm::Reno,
    };
    let usual = Config::new(congestion);
    let config = Config {
        mss: table.mss(),
        first_window: table.first_window.get(),
        receive_window: table.receive_window.get() as u32,
        sack: table.sack,
        reordering: match table.reordering {
            TcpReordering::Adaptive => Reordering::Adaptive,
            TcpReordering::Fixed => Reordering::Fixed,
            TcpReordering::Time => Reordering::Time,
            TcpReordering::Segments => Reordering::Segments,
        },
        ecn: match table.ecn() {
            TcpEcn::Off => Ecn::Off,
            TcpEcn::Classic => Ecn::Classic,
            TcpEcn::Dctcp => Ecn::Dctcp,
        },
        rto_min: table.rto_min,
        rto_first: table.rto_first,
        retries: table.retries.get(),
        delayed_ack: table.delayed_ack,
        ack_every: table.ack_every.get(),
        quick_acks: table.quick_acks.get(),
        tail_probe: table.tail_probe,
        tick: table.tick,
        pacing: table.pacing,
        burst_max: table.burst.get() as u32,
        handshake: table.handshake,
        first_rtt: Some(Longest::of(net).round_trip + table.stack_latency * 2),
        ..usual
    };
    config.check().expect("the scenario was checked");
    Some(Box::new(Tcp { config, stack_latency: table.stack_latency }))
}

pub(super) fn protocol(named: Named) -> Protocol {
    match named {
        Named::Rdma => Protocol::Rdma,
        Named::Tcp => Protocol::Tcp,
    }
}
