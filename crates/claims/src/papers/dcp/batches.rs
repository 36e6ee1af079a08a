//! D10: retransmissions one by one and in batches.

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D10",
    title: "retransmissions one by one and in batches",
    source: source("efficient HO-based retransmission, issue #1"),
    paper: "A NIC that reads the work request and the data of each returned header over PCIe before it reads those of \
           the next one retransmits one packet of 1 kB in two PCIe round trips of 1 µs: 4 Gb/s. A NIC that reads \
           several entries of its list of retransmissions together does not have this limit",
    method: "One host sends messages of 1 MB to another over a switch that trims half of the packets, so that every \
             second transmission is a retransmission, with batches of 1 to 64 entries (200 ms; quick: 20 ms). Then \
             the switch trims 5 %. Where the port does not limit them, retransmissions are as fast as the batch is \
             long. At 5 %, a share p of all transmissions, n·4.096 Gb/s of retransmissions allow a goodput of \
             n·4.096·(1−p)/p Gb/s",
    note: "A batch of two is enough for 5 %. The NIC reads the next batch while it sends one, and the payload is read \
           for every transmission",
    judge,
    ..Claim::FORM
};

/// Payload of a packet, in bits, and the time of two reads.
const PACKET_BITS: f64 = 8192.0;
const READS_S: f64 = 2e-6;
const HALF: f64 = 0.5;
const FEW: f64 = 0.05;

fn outcome<'a>(results: &'a Results<'_>, batch: u32, trimmed: f64) -> &'a Outcome {
    let run = Run::new("claims/batches").set("switch.trim.share", trimmed).set("transport.dcp.batch", batch);
    results.outcome(&run.set("stop.after", results.effort().choose("20ms", "200ms")).seconds(0.5))
}

/// Payload of retransmissions per second.
fn resent(outcome: &Outcome) -> Number {
    let seconds = outcome.summary.simulated_ns as f64 * 1e-9;
    rate_bps(outcome.summary.retransmitted_packets as f64 * PACKET_BITS / seconds)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("batch | retransmitted at 50 % | goodput at 50 % | goodput at 5 %");
    for batch in [1, 2, 4, 16, 64] {
        let [half, few] = [HALF, FEW].map(|trimmed| outcome(results, batch, trimmed));
        judgement.row(batch, [&resent(half), &half.goodput(), &few.goodput()]);
        judgement.none(format!("timeouts, batch of {batch}"), half.timeouts().value() as u64);
        if batch <= 4 {
            let what = format!("rate of retransmissions, batch of {batch}");
            judgement.must(what, resent(half).near(f64::from(batch) * PACKET_BITS / READS_S, 0.04));
        }
    }
    let [one, many] = [1, 16].map(|batch| outcome(results, batch, HALF));
    // The rounding of the printed digit.
    judgement.printed("rate of retransmissions, one by one", resent(one).between(3.5e9, 4.5e9));
    judgement.must(
        "rate of retransmissions, 16 together, by that one by one",
        (resent(many) / resent(one)).at_least(10.0),
    );
    let [one, many] = [1, 16].map(|batch| outcome(results, batch, FEW).goodput());
    judgement.must("goodput at 5 %, one by one", one.at_most(PACKET_BITS / READS_S * (1.0 - FEW) / FEW));
    judgement.must("goodput at 5 %, 16 together", many.at_least(85e9));
}
