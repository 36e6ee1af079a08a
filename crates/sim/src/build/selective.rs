//! What a scenario says of selective repeat, as the engine takes it.

use wiremend_proto::{rc, sr};
use wiremend_scenario::{Recovery, SelectiveRepeat, Tracking, Transport, Within};
use wiremend_units::{Bytes, HostId, Span};
use wiremend_wire::Opcode;

use super::trimming;
use crate::frame::{GAP_BYTES, len_with};
use crate::network::{Engine, Network, Way};

/// The engine of all connections.
pub(super) fn engine(transport: &Transport, net: &Network) -> Engine {
    let scheme = match transport.recovery {
        Recovery::GoBackN | Recovery::GoBack0 => return Engine::GoBack,
        Recovery::SelectiveRepeat => sr::Scheme::Irn,
        Recovery::TimeoutOnly => sr::Scheme::TimeoutOnly,
        Recovery::RackTlp => sr::Scheme::RackTlp,
        Recovery::MpRdma => sr::Scheme::MpRdma,
        Recovery::Dcp | Recovery::Ndp | Recovery::Cp => return trimming::engine(transport, net),
    };
    let table = transport.selective_repeat.as_ref().map(|table| table.value).unwrap_or_default();
    let config = configure(transport, &table, scheme, net);
    config.check().expect("the scenario was checked");
    Engine::Selective(Box::new(config))
}

fn configure(
    transport: &Transport,
    table: &SelectiveRepeat,
    scheme: sr::Scheme,
    net: &Network,
) -> sr::Config {
    let longest = Longest::of(net);
    let given = transport.window.max().map(|window| window.get().min(sr::Config::WINDOW_MAX));
    let fallback = if scheme == sr::Scheme::MpRdma { sr::Config::WINDOW_MAX } else { longest.packets };
    let base = rc::Config { window: given.unwrap_or(fallback), ..net.transport.config.clone() };
    let usual = sr::Config::new(scheme, base);
    let at_least = |usual: Span, trips: u64| usual.max(longest.round_trip * trips);
    let (low, high) = match scheme {
        sr::Scheme::TimeoutOnly => (at_least(usual.rto_low, 13), at_least(usual.rto_high, 13)),
        _ => (at_least(usual.rto_low, 4), at_least(usual.rto_high, 13)),
    };
    let rto_low = table.rto_low.unwrap_or_else(|| low.min(table.rto_high.unwrap_or(Span::from_ps(u64::MAX))));
    sr::Config {
        rto_low,
        rto_high: table.rto_high.unwrap_or(high).max(rto_low),
        rto_low_packets: table.rto_low_packets.map_or(usual.rto_low_packets, Within::get),
        backoff: table.backoff.unwrap_or(usual.backoff),
        tracking: match table.tracking {
            None | Some(Tracking::Bitmap) => sr::TrackingKind::Bitmap,
            Some(Tracking::LinkedChunks) => sr::TrackingKind::LinkedChunks,
        },
        tracked: table.tracked.map_or(usual.tracked, Within::get),
        window_first: given.unwrap_or(longest.packets),
        lag_max: table.lag.map_or(usual.lag_max, Within::get),
        paths: table.paths.map_or(usual.paths, Within::get),
        ..usual
    }
}

/// The longest path of the empty network.
pub(super) struct Longest {
    /// From the first bit of a full packet to its acknowledgement.
    pub(super) round_trip: Span,
    /// Full packets that the sender's port can send meanwhile.
    pub(super) packets: u32,
    /// Switches on the way.
    pub(super) switches: u64,
}

impl Longest {
    /// From each host of a small network, and from the first and the last one of a large one, which is regular.
    pub(super) fn of(net: &Network) -> Self {
        const SMALL: u32 = 64;
        let hosts = net.graph.host_count();
        let full = u64::from(len_with(Opcode::WriteMiddle, net.transport.config.mtu));
        let full = Bytes::new(full + u64::from(RETH_BYTES) + GAP_BYTES);
        let ack = Bytes::new(u64::from(len_with(Opcode::Acknowledge, 0) + sr::SAID_BYTES) + GAP_BYTES);
        let mut longest = Self { round_trip: Span::ZERO, packets: 1, switches: 0 };
        for src in (0..hosts).filter(|src| hosts <= SMALL || *src == 0 || *src == hosts - 1).map(HostId) {
            let own = net.lanes[net.uplink(src).index()].rate.serialize(full);
            for dst in (0..hosts).map(HostId).filter(|dst| *dst != src) {
                let there = crossing(net, Way { src, dst, entropy: 0 }, full);
                let round_trip = there + crossing(net, Way { src: dst, dst: src, entropy: 0 }, ack);
                let packets = round_trip.as_ps().div_ceil(own.as_ps()) as u32;
                if round_trip > longest.round_trip {
                    let links = net.path(Way { src, dst, entropy: 0 }).len() as u64;
                    (longest.round_trip, longest.switches) = (round_trip, links - 1);
                }
                longest.packets = longest.packets.max(packets);
            }
        }
        longest.packets = longest.packets.min(sr::Config::WINDOW_MAX);
        longest
    }
}

const RETH_BYTES: u16 = 16;

fn crossing(net: &Network, way: Way, bytes: Bytes) -> Span {
    let lanes = net.path(way).into_iter().map(|lane| net.lanes[lane.index()]);
    lanes.fold(Span::ZERO, |sum, lane| sum + lane.rate.serialize(bytes) + lane.delay)
}
