//! V2: for each drop, go-back-N sends again what a link carries in a round trip.

use wiremend_report::human;
use wiremend_scenario::Override;
use wiremend_units::Bytes;
use wiremend_wire::{Encapsulation, Opcode, WIRE_OVERHEAD_BYTES, frame_len};

use super::{Claim, Effort, Finding, Verdict, simulate};
use crate::failure::Failure;
use crate::input::Input;

pub(super) const CLAIM: Claim = Claim {
    id: "V2",
    title: "what one drop costs go-back-N",
    source: "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.1",
    paper: "Go-back-N is not ideal: for each packet drop it wastes up to RTT × C bytes, C being the capacity of the link",
    method: "Two hosts and a switch, one packet of a long WRITE dropped on the last link, for several delays and rates. \
             RTT is the completion time of a single packet on the same path; waste is what was sent again beyond the \
             dropped packet, in bytes on the wire. Reproduced if the waste of a drop in the middle of the message is, \
             at each point, at least 90 % of RTT × C and at most one packet more than it, and if a drop of the last \
             packet but one wastes no more than one packet",
    measure,
};

const LEAST: f64 = 0.9;
const MTU: u64 = 1024;
/// The packet that is dropped, and how many follow it in the middle and at the end of a message.
const DROPPED: u64 = 2000;
const LONG: u64 = 20_000;

fn measure(effort: Effort) -> Result<Finding, Failure> {
    let points: &[(u64, &str)] = match effort {
        Effort::Quick => &[(10, "1us"), (40, "2us"), (100, "10us")],
        Effort::Full => &[
            (10, "1us"),
            (10, "20us"),
            (40, "500ns"),
            (40, "2us"),
            (40, "20us"),
            (100, "1us"),
            (100, "10us"),
            (100, "20us"),
            (400, "1us"),
            (400, "20us"),
        ],
    };
    let (mut shown, mut misses) = (Vec::new(), Vec::new());
    for (gbps, delay) in points {
        let point = Point { gbps: *gbps, delay };
        let rtt_c = point.rtt_bytes()?;
        let waste = point.waste_bytes(LONG)?;
        let at_the_end = point.waste_bytes(1)?;
        let [waste_text, rtt_text] = [waste, rtt_c].map(human::bytes);
        shown.push(format!("{gbps} Gb/s and {delay} a link: {waste_text} of {rtt_text}"));
        let is_as_claimed =
            waste >= LEAST * rtt_c && waste <= rtt_c + packet_bytes() && at_the_end <= packet_bytes();
        if !is_as_claimed {
            misses.push(format!("{gbps} Gb/s and {delay} (at the end {})", human::bytes(at_the_end)));
        }
    }
    let (verdict, why) = if misses.is_empty() {
        let why = "The sender goes on for a round trip before the NAK reaches it, and the receiver keeps nothing of that";
        (Verdict::Reproduced, why.to_owned())
    } else {
        (Verdict::NotReproduced, format!("outside the bounds: {}", misses.join(", ")))
    };
    Ok(Finding { verdict, measured: format!("wasted of RTT × C: {}", shown.join("; ")), why })
}

/// A path.
struct Point {
    gbps: u64,
    delay: &'static str,
}

impl Point {
    /// What the link carries in a round trip.
    fn rtt_bytes(&self) -> Result<f64, Failure> {
        let input = self.input(MTU);
        let (results, _) = simulate(&input, &input.file.variants[0])?;
        let rtt = results.collector.fct_ps().max().ok_or_else(|| unfinished("a single packet"))?;
        Ok(rtt as f64 * 1e-12 * self.gbps as f64 * 1e9 / 8.0)
    }

    /// What is sent again beyond the dropped packet, if `after` packets follow it.
    fn waste_bytes(&self, after: u64) -> Result<f64, Failure> {
        let input = self.input((DROPPED + 1 + after) * MTU);
        let (results, _) = simulate(&input, &input.file.variants[0])?;
        let counters = &results.counters;
        if results.collector.fct_ps().count() != 1 || counters.corrupted_frames != 1 {
            return Err(unfinished("a message with one drop"));
        }
        let again =
            counters.retransmitted_bytes + counters.retransmitted_packets * u64::from(WIRE_OVERHEAD_BYTES);
        Ok(again as f64 - packet_bytes())
    }

    fn input(&self, bytes: u64) -> Input {
        let set = |path: &str, value: String| Override { path: path.to_owned(), value };
        let sets = [
            set("topology.rate", format!("{}Gbps", self.gbps)),
            set("topology.delay", self.delay.to_owned()),
            set("workload.0.bytes", format!("{}B", Bytes::new(bytes).get())),
        ];
        Input::own("waste.toml", include_str!("waste.toml"), &sets)
    }
}

/// A packet from the middle of a message, on the wire.
fn packet_bytes() -> f64 {
    let frame = frame_len(Opcode::WriteMiddle, MTU as u32, Encapsulation::IPV4);
    f64::from(frame + WIRE_OVERHEAD_BYTES)
}

fn unfinished(what: &str) -> Failure {
    Failure::Environment(format!(
        "cannot measure: {what} did not finish, although nothing keeps it from doing so"
    ))
}
