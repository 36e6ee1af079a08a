//! Which runs may skip time: those of which every part is known to repeat a pattern exactly.

use wiremend_proto::engine::Op;
use wiremend_proto::mend::MendConfig;
use wiremend_proto::rc::{Acceleration, Profile};

use crate::engine::{Limits, Partition};
use crate::network::{Engine, Network};

/// Returns why a run cannot skip time, if so.
pub(super) fn obstacle(partitions: &[Partition], limits: &Limits) -> Option<&'static str> {
    let net = &partitions[0].net;
    let in_network = partitions.iter().find_map(obstacle_in_partition);
    let watched = limits.deadlock.map(|_| "ports are watched for deadlocks");
    obstacle_in_transport(net).or(in_network).or(watched)
}

fn obstacle_in_transport(net: &Network) -> Option<&'static str> {
    let transport = &net.transport;
    let obstacles = [
        (!matches!(transport.engine, Engine::GoBack), "the transport is not go-back-N"),
        (transport.host_delay.is_some(), "delays of hosts are drawn"),
        (transport.tcp.is_some(), "some connections use TCP"),
        (transport.op == Op::Read, "the operation is READ"),
        (transport.congestion.is_some(), "there is congestion control"),
        (transport.config.mend != MendConfig::default(), "packets are protected at the ends"),
        (transport.config.acceleration != Acceleration::default(), "accelerations are on"),
        // A tick is a time of the whole run, to which nothing is relative.
        (transport.config.profile != Profile::default(), "the NICs have a profile"),
        (transport.repeats.is_some(), "switches make copies"),
    ];
    obstacles.iter().find(|(is_there, _)| *is_there).map(|(_, what)| *what)
}

fn obstacle_in_partition(partition: &Partition) -> Option<&'static str> {
    let lanes = &partition.lanes;
    let obstacles = [
        (!lanes.queue.is_by_node(), "all events are in order of time"),
        (!partition.is_plain, "switches do more than forward along shortest paths"),
        (!partition.ports.only_forward(), "switches mark, trim, pause or protect"),
        (!partition.scripts.is_empty(), "pauses are scripted"),
        (lanes.recorder.is_on(), "frames are recorded"),
        (lanes.has_telemetry(), "switches send telemetry"),
    ];
    obstacles.iter().find(|(is_there, _)| *is_there).map(|(_, what)| *what)
}
