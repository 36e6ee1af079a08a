//! L27: backpressure and the ACK queue over load.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG, Stress};

pub(super) const CLAIM: Claim = Claim {
    id: "L27",
    title: "backpressure and the ACK queue over load",
    source: source("sections 3.1 and 3.3"),
    paper: "Backpressure pauses a link only if a loss occurs in a burst of more than 90 % utilization. ACKs that only \
           travel with other frames may be delayed by any amount; a queue with one ACK, which refills itself and yields \
           to other frames, keeps the sender's buffer small",
    method: "The stress test at 1e-3 and loads of 30 to 100 %, with each mechanism and without, and with frames in \
             the other direction at 0, 1, 10 and 50 % load. A buffer of 200 KB. Printed figures give a load from \
             which on a loss should pause the link: that at which 40 KB (43 KB at 25G) arrive within the 5.5 µs (6 \
             µs) of a retransmission",
    note: "At 100G the first pause comes at the lowest load. The derivation from printed figures does not give it \
           either: by it the threshold is reached from 58 % on. In the model a frame that leaves the loop out of its \
           turn goes around again, so that a loop of 100 Gb/s with waiting frames hardly empties; without \
           backpressure it overflows at every load. At 25G, where the loop is four times as fast as the link, both \
           begin at 90 %, as printed. Without the ACK queue and without reverse traffic no copy is ever released",
    judge,
    ..Claim::FORM
};

/// Link rate in Gb/s, pause threshold in bytes, and longest retransmission in seconds.
const RATES: [(u32, f64, f64); 2] = [(25, 43e3, 6e-6), (100, 40e3, 5.5e-6)];
const LOADS: [f64; 9] = [0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The same link, with the ACK queue or without.
fn with_acks(run: Run, ack_queue: bool) -> Run {
    let protocol =
        "links = \"switches\", direction = \"forward\", by = \"linkguardian\", profile = \"prototype\"";
    let buffers = "loss = 1e-3, tx_buffer = \"200kB\", rx_buffer = \"200kB\"";
    run.set("protect", format!("[{{ {protocol}, {buffers}, ack_queue = {ack_queue} }}]"))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let run = |gbps: u32, load: f64| {
        let run = Stress::new(gbps, 1e-3, LG).run(results.effort().choose(30_000, 300_000));
        run.set("workload.0.rate", format!("{}Mbps", (load * 1e3 * f64::from(gbps)).round()))
    };
    for (gbps, threshold, delay_s) in RATES {
        let mut first_pause = 1.0_f64;
        for load in LOADS {
            let with = results.outcome(&run(gbps, load)).summary.protection;
            let without = run(gbps, load).set("protect.0.backpressure", false);
            let without = results.outcome(&without).summary.protection;
            let silent = results.outcome(&with_acks(run(gbps, load), false)).summary.protection;
            if with.pauses > 0 {
                first_pause = first_pause.min(load);
            }
            let name = format!("{gbps}G, {} % load", human::percent(load));
            judgement.none(format!("overflows with backpressure, {name}"), with.overflowed);
            judgement.none(format!("frames without a copy, {name}"), with.unbuffered);
            judgement.some(format!("frames without a copy, no ACK queue, {name}"), silent.unbuffered);
            let [pauses, overflowed, unbuffered] =
                [with.pauses, without.overflowed, silent.unbuffered].map(count);
            let [rx, rx_without] = [with, without].map(|sum| bytes(sum.rx_buffer_bytes_max as f64));
            judgement.row(name, [&pauses, &rx, &overflowed, &rx_without, &unbuffered]);
        }
        let exact = (threshold * 8.0 / (delay_s * f64::from(gbps) * 1e9)).min(1.0);
        judgement.derived(
            format!("lowest load with a pause, {gbps}G"),
            fraction(first_pause).between(0.9, 1.0),
            "The paper leaves out the rate: what arrives within a retransmission grows with it",
            exact,
            0.1,
        );
    }
    for load in [0.01, 0.1, 0.5] {
        let sent = |ack_queue: bool| {
            let run = with_acks(run(100, 0.9), ack_queue).set("workload.1.start", "0s");
            let run = run.set("workload.1.rate", format!("{}Mbps", load * 1e5));
            bytes(results.outcome(&run).summary.protection.tx_buffer_bytes_max as f64)
        };
        let order = ascending(&[("with ACK queue", sent(true)), ("without", sent(false))], 0.0);
        judgement.printed(format!("sender's buffer, {} % reverse load, 100G", human::percent(load)), order);
    }
    judgement.columns(
        "| pauses | receiver's buffer | overflows without backpressure | receiver's buffer then | frames without a copy \
         if there is no ACK queue",
    );
}
