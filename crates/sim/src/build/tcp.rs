//! TCP settings, from a scenario.

use wiremend_proto::tcp::multipath::SUBFLOWS_MAX;
use wiremend_proto::tcp::{Config, Ecn, Reordering, cc::Algorithm};
use wiremend_scenario::{
    Protocol as Named, Scenario, TcpCongestion, TcpEcn, TcpReordering, Transport, Workload,
};
use wiremend_units::{HostId, Span};

use super::BuildError;
use super::longest_path::LongestPath;
use crate::network::{Network, Tcp, TransportProtocol};

/// Returns the settings of all TCP connections, if there are any.
pub(super) fn tcp(scenario: &Scenario, net: &Network) -> Result<Option<Box<Tcp>>, BuildError> {
    if !scenario.uses_protocol(Named::Tcp) {
        return Ok(None);
    }
    let table = scenario.transport.tcp();
    let congestion = match table.congestion {
        TcpCongestion::Cubic => Algorithm::Cubic,
        TcpCongestion::Dctcp => Algorithm::Dctcp,
        TcpCongestion::Bbr => Algorithm::Bbr,
        TcpCongestion::Reno => Algorithm::Reno,
        TcpCongestion::Lia => Algorithm::Lia,
        TcpCongestion::Swift => Algorithm::Swift,
        TcpCongestion::Timely => Algorithm::Timely,
    };
    let delay = scenario.transport.host_delay.as_ref().map_or(Span::ZERO, |table| table.median);
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
        delay_target: table.delay_target,
        burst_max: table.burst.get() as u32,
        handshake: table.handshake,
        first_rtt: Some(LongestPath::find(net).round_trip + (table.stack_latency + delay) * 2),
        ..usual
    };
    let place = scenario.transport.tcp.as_ref().map_or(scenario.transport.place, |table| table.place);
    config.check().map_err(|error| BuildError::at(place, error.to_string()))?;
    let multipath = Config { mss: table.mss_of(SUBFLOWS_MAX), ..config.clone() };
    Ok(Some(Box::new(Tcp { config, multipath, stack_latency: table.stack_latency })))
}

/// Returns the protocol of a workload's connections. Subflows that can only take the same path count as one.
pub(super) fn protocol(workload: &Workload, transport: &Transport, net: &Network) -> TransportProtocol {
    match (workload.protocol_in(transport), workload.subflows_in(transport)) {
        (Named::Rdma, _) => TransportProtocol::Rdma,
        (Named::Tcp, subflows) if subflows > 1 && has_choice(net) => TransportProtocol::Multipath(subflows),
        (Named::Tcp, _) => TransportProtocol::Tcp,
    }
}

/// Returns a remark if subflows have no separate paths.
pub(super) fn note(scenario: &Scenario, net: &Network) -> Option<String> {
    let subflows = scenario.subflows_max();
    (subflows > 1 && !has_choice(net)).then(|| {
        format!("connections have {subflows} subflows, but hosts have only one path to each other: the subflows run as one plain TCP connection")
    })
}

/// Returns whether some switch has more than one next hop to a host.
fn has_choice(net: &Network) -> bool {
    let hosts = || (0..net.graph.host_count()).map(HostId);
    net.graph.switches().any(|switch| hosts().any(|dst| net.routes.next_hops(switch, dst).len() > 1))
}
