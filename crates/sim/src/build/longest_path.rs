//! The longest path between hosts: the default scale of timers and windows.

use std::collections::BTreeSet;

use wiremend_proto::{rc, sr};
use wiremend_units::{Bytes, HostId, LaneId, Span};
use wiremend_wire::Opcode;

use crate::frame::GAP_BYTES;
use crate::network::{FlowKey, Network};

/// The longest path of the empty network.
pub(super) struct LongestPath {
    /// Time from the first bit of a full packet to its acknowledgement.
    pub(super) round_trip: Span,
    /// Full packets that the sender's port can send meanwhile.
    pub(super) packets: u32,
    /// Packets without an offset, which are shorter, that fill the port meanwhile: with this window a connection alone
    /// is as fast as its link.
    pub(super) filling_packets: u32,
    pub(super) switches: u64,
}

impl LongestPath {
    /// Searches from each host of a small network. A large network is regular: the first and the last host
    /// suffice.
    pub(super) fn find(net: &Network) -> Self {
        const SMALL: u32 = 64;
        let hosts = net.graph.host_count();
        let full = u64::from(rc::frame_len(Opcode::WriteMiddle, net.transport.config.mtu));
        let full = Bytes::new(full + u64::from(RETH_BYTES) + GAP_BYTES);
        let shorter = Bytes::new(full.get() - u64::from(RETH_BYTES));
        let ack =
            Bytes::new(u64::from(rc::frame_len(Opcode::Acknowledge, 0) + sr::ACK_EXTRA_BYTES) + GAP_BYTES);
        // Equal paths in both directions have equal times.
        let mut known = BTreeSet::new();
        let mut longest = Self { round_trip: Span::ZERO, packets: 1, filling_packets: 1, switches: 0 };
        for src in (0..hosts).filter(|src| hosts <= SMALL || *src == 0 || *src == hosts - 1).map(HostId) {
            let rate = net.lanes[net.uplink(src).index()].rate;
            let [own, own_shorter] = [full, shorter].map(|bytes| rate.serialize(bytes));
            for dst in (0..hosts).map(HostId).filter(|dst| *dst != src) {
                if net.equal_path_len(src, dst).is_some_and(|len| !known.insert(len)) {
                    continue;
                }
                let [there, back] =
                    [(src, dst), (dst, src)].map(|(src, dst)| net.path(FlowKey { src, dst, entropy: 0 }));
                let round_trip = crossing(net, &there, full) + crossing(net, &back, ack);
                let packets = round_trip.as_ps().div_ceil(own.as_ps()) as u32;
                if round_trip > longest.round_trip {
                    (longest.round_trip, longest.switches) = (round_trip, there.len() as u64 - 1);
                }
                longest.packets = longest.packets.max(packets);
                let filling = round_trip.as_ps().div_ceil(own_shorter.as_ps()) as u32;
                longest.filling_packets = longest.filling_packets.max(filling);
            }
        }
        longest.packets = longest.packets.min(sr::Config::WINDOW_MAX);
        longest.filling_packets = longest.filling_packets.min(sr::Config::WINDOW_MAX);
        longest
    }
}

const RETH_BYTES: u16 = 16;

fn crossing(net: &Network, path: &[LaneId], bytes: Bytes) -> Span {
    let lanes = path.iter().map(|lane| net.lanes[lane.index()]);
    lanes.fold(Span::ZERO, |sum, lane| sum + lane.rate.serialize(bytes) + lane.delay)
}
