//! What a scenario says of TCP, as the core takes it.

use wiremend_proto::tcp::multipath::SUBFLOWS_MAX;
use wiremend_proto::tcp::{Config, Ecn, Reordering, cc::Algorithm};
use wiremend_scenario::{
    Protocol as Named, Scenario, TcpCongestion, TcpEcn, TcpReordering, Transport, Workload,
};
use wiremend_units::HostId;

use super::BuildError;
use super::longest::Longest;
use crate::network::{Network, Protocol, Tcp};

/// What all TCP connections share, if there are any.
pub(super) fn tcp(scenario: &Scenario, net: &Network) -> Result<Option<Box<Tcp>>, BuildError> {
    if !scenario.speaks(Named::Tcp) {
        return Ok(None);
    }
    let table = scenario.transport.tcp();
    let congestion = match table.congestion {
        TcpCongestion::Cubic => Algorithm::Cubic,
        TcpCongestion::Dctcp => Algorithm::Dctcp,
        TcpCongestion::Bbr => Algorithm::Bbr,
        TcpCongestion::Reno => Algorithm::Reno,
        TcpCongestion::Lia => Algorithm::Lia,
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
    let place = scenario.transport.tcp.as_ref().map_or(scenario.transport.place, |table| table.place);
    config.check().map_err(|error| BuildError::at(place, error.to_string()))?;
    let multipath = Config { mss: table.mss_of(SUBFLOWS_MAX), ..config.clone() };
    Ok(Some(Box::new(Tcp { config, multipath, stack_latency: table.stack_latency })))
}

/// What the connections of a workload speak. Subflows that cannot but take the same path are one.
pub(super) fn protocol(workload: &Workload, transport: &Transport, net: &Network) -> Protocol {
    match (workload.protocol_in(transport), workload.subflows_in(transport)) {
        (Named::Rdma, _) => Protocol::Rdma,
        (Named::Tcp, subflows) if subflows > 1 && has_choice(net) => Protocol::Multipath(subflows),
        (Named::Tcp, _) => Protocol::Tcp,
    }
}

/// What a user should know of subflows that have no paths of their own.
pub(super) fn note(scenario: &Scenario, net: &Network) -> Option<String> {
    let subflows = scenario.subflows_max();
    (subflows > 1 && !has_choice(net)).then(|| {
        format!("connections have {subflows} subflows, and hosts have one path to each other: they run as one, as plain TCP does")
    })
}

/// Some switch has more than one way to a host.
fn has_choice(net: &Network) -> bool {
    let hosts = || (0..net.graph.host_count()).map(HostId);
    net.graph.switches().any(|switch| hosts().any(|dst| net.routes.next_hops(switch, dst).len() > 1))
}
