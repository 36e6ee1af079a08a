//! P6: flows that cross a loop without being caught in it.

use wiremend_measure::Metric;

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P6",
    title: "bandwidth and delay of flows that cross a loop",
    source: source("section 3.1"),
    paper: "Apart from packet drops, loops waste link bandwidth and increase the delay of flows that traverse links of \
            the loop but are not caught by it. No numbers are given",
    method: "Two switches at 40 Gb/s, without PFC. Packets that arrive at a rate r cross each lane of the loop 32 \
             times. A long flow over one of these lanes is left 40 Gb/s − 32 r, in bits on the wire, and its \
             packets carry 1024 B in 1086 B and 20 B between frames. In a second run a ping-pong of 64 B takes its \
             place (40 ms; quick: 20 ms; the second half counts)",
    note: "A packet of the loop delays a ping-pong by at most its own 0.2 µs for each pass of the link. Both are \
           periodic, so that the mean is above that of an empty link but does not rise with the rate. A long flow \
           meets its own queue and lengthens each turn of the loop, so that at 0.75 Gb/s the equilibrium is reached \
           only slowly: the difference shrinks from 5 % in 20 ms to 3.2 % in 40 ms",
    judge,
    ..Claim::FORM
};

const RATES_MBPS: [u32; 4] = [0, 250, 500, 750];
const LINK_BPS: f64 = 40e9;
const PASSES: f64 = 32.0;
/// Payload of a packet of a long flow, relative to its time on the wire; a frame of the other, likewise.
const PAYLOAD: f64 = 1024.0 / 1106.0;
const PACKET_PAYLOAD: f64 = 1024.0 / 1086.0;
const FRAME: f64 = 1044.0 / 1024.0;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("rate into the loop | goodput of a long flow | expected | mean of the ping-pong");
    let mut delays = Vec::new();
    for mbps in RATES_MBPS {
        let [stream, pings] = ["stream", "ping-pong"].map(|variant| {
            let run = Run::new("claims/loop-crossing").variant(variant);
            // The lowest rate is none in effect: a packet in the whole run.
            let run = run.set("workload.0.rate", format!("{}kbps", (mbps * 1000).max(1)));
            results.outcome(&run.set("stop.after", results.effort().choose("22ms", "42ms")).seconds(0.1))
        });
        let rate = f64::from(mbps) * 1e6;
        let expected = (LINK_BPS - PASSES * rate * FRAME) * PAYLOAD;
        // In the second half the loop is in equilibrium with the queue of the flow.
        let half_ns = stream.summary.simulated_ns / 2;
        let samples = stream.series("s1>h3", Metric::TxBytes).iter().filter(|(at, _)| *at > half_ns);
        let bytes: u64 = samples.map(|(_, bytes)| bytes).sum();
        let goodput = rate_bps(bytes as f64 * PACKET_PAYLOAD * 8e9 / half_ns.max(1) as f64);
        let what = format!("goodput of a long flow, {} into the loop", human::rate_bps(rate));
        judgement.must(what, goodput.near(expected, 0.03));
        judgement.none(
            format!("packets of a long flow sent again, {mbps} Mb/s"),
            stream.summary.retransmitted_packets,
        );
        judgement.row(human::rate_bps(rate), [&goodput, &rate_bps(expected), &pings.mean()]);
        delays.push((human::rate_bps(rate), goodput, pings.mean()));
    }
    let ordered = |of: fn(&(String, Number, Number)) -> Number| -> Vec<_> {
        delays.iter().map(|delay| (delay.0.as_str(), of(delay))).collect()
    };
    judgement.printed("mean of the ping-pong by rate into the loop", ascending(&ordered(|of| of.2), 0.0));
    let mut goodputs = ordered(|of| of.1);
    goodputs.reverse();
    judgement.printed("goodput of a long flow by rate into the loop", ascending(&goodputs, 0.0));
}
