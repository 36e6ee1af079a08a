//! V2: for each drop, go-back-N retransmits what the link carries in a round trip.

use wiremend_wire::{Encapsulation, Opcode, WIRE_OVERHEAD_BYTES, frame_len};

use super::SOURCE;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "V2",
    title: "retransmissions of go-back-N after one drop",
    source: SOURCE,
    paper: "Go-back-N is not ideal: for each packet drop it wastes up to RTT × C bytes, C being the capacity of the link",
    method: "Two hosts and a switch; one packet of a long WRITE is dropped on the last link, for several delays and \
             rates. RTT is the completion time of a single packet on the same path. Waste is the retransmitted data \
             without the dropped packet, in bytes on the wire",
    note: "The sender continues for a round trip before the NAK arrives, and the receiver discards these packets",
    judge,
    ..Claim::FORM
};

const MTU: u64 = 1024;
/// Index of the dropped packet, and the number of packets behind it for a drop in the middle and at the end
/// of a message.
const DROPPED: u64 = 2000;
const AFTER_MIDDLE: u64 = 20_000;
const AFTER_END: u64 = 1;

/// A path.
#[derive(Clone, Copy)]
struct Point {
    gbps: u64,
    delay: &'static str,
}

const QUICK: &[Point] = &[point(10, "1us"), point(40, "2us"), point(100, "10us")];
const FULL: &[Point] = &[
    point(10, "1us"),
    point(10, "20us"),
    point(40, "500ns"),
    point(40, "2us"),
    point(40, "20us"),
    point(100, "1us"),
    point(100, "10us"),
    point(100, "20us"),
    point(400, "1us"),
    point(400, "20us"),
];

const fn point(gbps: u64, delay: &'static str) -> Point {
    Point { gbps, delay }
}

impl Point {
    /// A message of `packets` packets on this path.
    fn run(self, packets: u64) -> Run {
        Run::new("claims/waste")
            .set("topology.rate", format!("{}Gbps", self.gbps))
            .set("topology.delay", self.delay)
            .set("workload.0.bytes", format!("{}B", packets * MTU))
            .seconds(packets as f64 * 1e-6)
    }

    fn alone(self) -> Run {
        self.run(1)
    }

    /// A message of which one packet is dropped, with `after` packets behind it.
    fn dropping(self, after: u64) -> Run {
        self.run(DROPPED + 1 + after)
    }

    /// Bytes that the link carries in a round trip; `None` if a single packet does not arrive.
    fn rtt_bytes(self, results: &Results<'_>) -> Option<f64> {
        let rtt_ns = results.outcome(&self.alone()).summary.fct_ns?.max;
        Some(rtt_ns * 1e-9 * self.gbps as f64 * 1e9 / 8.0)
    }

    /// Retransmitted bytes, without the dropped packet.
    fn waste_bytes(self, results: &Results<'_>, after: u64) -> f64 {
        let summary = &results.outcome(&self.dropping(after)).summary;
        let retransmitted =
            summary.retransmitted_bytes + summary.retransmitted_packets * u64::from(WIRE_OVERHEAD_BYTES);
        retransmitted as f64 - packet_bytes()
    }
}

fn points(effort: Effort) -> &'static [Point] {
    effort.choose(QUICK, FULL)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut measured = Vec::new();
    for &point in points(results.effort()) {
        let path = format!("{} Gb/s and {} per link", point.gbps, point.delay);
        let dropped = [AFTER_MIDDLE, AFTER_END].map(|after| &results.outcome(&point.dropping(after)).summary);
        let once = dropped.iter().filter(|run| run.finished == 1 && run.corrupted_frames == 1).count();
        judgement.must(format!("messages with one drop, {path}"), count(once as u64).is(2));
        let Some(rtt_bytes) = point.rtt_bytes(results) else { continue };
        let waste = point.waste_bytes(results, AFTER_MIDDLE);
        let what = format!("waste in the middle, {path}");
        judgement.must(what, bytes(waste).between(0.9 * rtt_bytes, rtt_bytes + packet_bytes()));
        let at_the_end = point.waste_bytes(results, AFTER_END);
        judgement.must(format!("waste at the end, {path}"), bytes(at_the_end).at_most(packet_bytes()));
        measured.push((path, rtt_bytes, waste));
    }
    judgement.plot("v2", &figure(&measured));
}

fn figure(measured: &[(String, f64, f64)]) -> Plot {
    let mut points: Vec<_> = measured.iter().map(|(_, rtt, waste)| (*rtt, *waste)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let claimed: Vec<_> = points.iter().map(|(rtt, _)| (*rtt, *rtt)).collect();
    Plot::new(
        "Bytes wasted by one drop",
        "Bytes retransmitted after one drop, against RTT × C.",
        Axis::new("RTT × C", Scale::Log, Unit::Bytes),
        Axis::new("wasted", Scale::Log, Unit::Bytes),
        vec![Curve::straight("RTT × C", claimed), Curve::marked("measured", points)],
    )
}

/// Size on the wire of a packet from the middle of a message.
fn packet_bytes() -> f64 {
    let frame = frame_len(Opcode::WriteMiddle, MTU as u32, Encapsulation::IPV4);
    f64::from(frame + WIRE_OVERHEAD_BYTES)
}
