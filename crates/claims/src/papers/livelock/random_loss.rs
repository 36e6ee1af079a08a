//! V3: go-back-0 under random loss.

use super::{SOURCE, busy};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "V3",
    title: "go-back-0 under random loss",
    source: SOURCE,
    paper: "Frame errors and faults of switches lose packets too. A loss of 0.4 % suffices for a goodput of zero on a \
            link that is fully utilised. The experiment drops every 256th packet and not random ones",
    method: "The experiment of V1, but each data packet is lost at random with the same probability p. A message of m \
             packets arrives with (1−p)^−m attempts. Together these send ((1−p)^−m−1)/p packets up to and with the \
             lost ones, and after each lost one what the link carries in a round trip. Counted are the messages that \
             complete in 2 s (quick: 100 ms), for m = 3907",
    note: "The pattern of drops is not what causes the livelock. At p = 1/256 one attempt in 4.4 million completes a \
           message, so that random loss does not make goodput exactly zero: of 420 000 attempts in twelve runs with six \
           seeds one did, and it is in the measured run of READ. Already at 1e-4 goodput falls by a fifth, at 1e-3 to a \
           thirteenth",
    judge,
    ..Claim::FORM
};

/// Packets of a message of 4 MB.
const PACKETS: f64 = 3907.0;
const LOSSES: [f64; 4] = [1e-5, 1e-4, 3e-4, 1e-3];
const PRINTED: f64 = 1.0 / 256.0;

/// Packets that go-back-0 sends for a message, relative to one without loss; `more` after each lost one.
fn sent(loss: f64, more: f64) -> f64 {
    let failed = (-PACKETS * (-loss).ln_1p()).exp_m1();
    failed * (1.0 / loss + more) / PACKETS
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("p | operation | messages | expected | goodput | utilisation of the link");
    for operation in ["SEND", "WRITE", "READ"] {
        // The data of a READ leave the host that sends the other messages' ACKs.
        let direction = if operation == "READ" { "forward" } else { "backward" };
        let at = |recovery: &str, loss: f64| {
            let impair = format!(
                "[{{ kind = \"frames\", links = \"h1-tor\", direction = \"{direction}\", rate = {loss} }}]"
            );
            let run = Run::new("claims/livelock").variant(format!("{recovery} {operation}"));
            let run = run.set("impair", impair).set("stop.after", results.effort().choose("100ms", "2s"));
            results.outcome(&run.seconds(results.effort().choose(0.1, 2.0)))
        };
        let clean = at("go-back-0", 0.0);
        let data_frames =
            ["h0>tor", "h1>tor"].map(|lane| clean.lane(lane).tx_frames).into_iter().max().unwrap_or(0);
        // Four links of 1 µs carry this many of its packets in a round trip.
        let round_trip = 4e-6 * data_frames as f64 / (clean.summary.simulated_ns as f64 * 1e-9);
        for loss in LOSSES {
            let outcome = at("go-back-0", loss);
            let expected = clean.finished().value() / sent(loss, round_trip);
            let what = format!("messages, go-back-0 {operation}, p = {}", shown(loss));
            judgement.must(what, outcome.finished().about(expected, 0.02));
            let cells: [&dyn std::fmt::Display; 5] = [
                &operation,
                &outcome.finished(),
                &shown(expected),
                &outcome.goodput(),
                &fraction(busy(outcome)),
            ];
            judgement.row(shown(loss), cells);
        }
        let [zero, n] = ["go-back-0", "go-back-N"].map(|recovery| at(recovery, PRINTED));
        judgement.printed(format!("goodput, go-back-0 {operation}, p = 1/256"), zero.goodput().at_most(0.0));
        let what = format!("link utilisation, go-back-0 {operation}, p = 1/256");
        judgement.printed(what, fraction(busy(zero)).at_least(0.9));
        let what = format!("goodput, go-back-N {operation}, p = 1/256");
        judgement.must(what, n.goodput().at_least(0.3 * n.lane("h0>tor").rate_bps as f64));
    }
}
