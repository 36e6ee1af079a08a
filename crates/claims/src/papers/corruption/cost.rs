//! J10: bandwidth of dummies and copies.

use wiremend_fabric::Workload;
use wiremend_model::{PaperModel, cost, flow};
use wiremend_units::Bytes;

use super::long_flows::Point;
use crate::papers::gao::{self, MTU, PAPER_TOLERANCE, bit_error_rate, sizes, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J10",
    title: "bandwidth of dummies and copies",
    source: source("sections 4.1 to 4.3"),
    paper: "As shares of the traffic, N − 1 copies of each NAK add (S_NAK/S_p)(N − 1)β, N − 1 copies of each \
           retransmission (N − 1)β, N dummies 0.06 N E(1/S), and N repeats of the tail N E(1/S), about 16 times as \
           much. For flows of a single packet a dummy adds 6 % and a repeat 100 %",
    method: "The frames and bytes that each mechanism adds are counted, for flows of one packet in real frames and in those of the \
             paper",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judge_copies(judgement, results);
    judge_singles(judgement, results);
    judge_websearch(judgement, results);
}

/// Shares of the data that copies of NAKs and of retransmissions add: one link at β = 0.01, each NAK copied once,
/// each retransmission three times.
fn judge_copies(judgement: &mut Judgement, results: &Results<'_>) {
    let point = Point::mended(1, 10, 1, 3);
    let (setting, packets) = (point.setting(results.effort()), point.packets(results));
    let (added, expected) = (setting.outcome(results).summary.extra_frames, setting.expected());
    judgement.must("finished flows with copies", point.finished(results));
    let flows = packets / 1024.0;
    judgement.must("copies of NAKs", count(added.nak_copies.frames).expected(expected.naks * flows));
    // Three copies are sent together, so the number of triples is random, not that of copies.
    let triples = count(added.retransmission_copies.frames / 3);
    judgement.must("retransmissions copied", triples.expected(expected.repeats * flows));
    let exact = cost(&setting.model, &setting.path, &setting.sizes, 1.0);
    let printed = PaperModel { beta: point.beta(), links: 1.0, omega: 1.0, mean_inverse: 1.0 };
    let costs = [
        ("(S_NAK/S_p)(N − 1)β", added.nak_copies, printed.cost_of_nak_copies(2), exact.nak_copies.backward),
        (
            "(N − 1)β",
            added.retransmission_copies,
            printed.cost_of_retransmission_copies(4),
            exact.retransmission_copies.forward,
        ),
    ];
    for (what, added, printed, exact_bytes) in costs {
        let share = fraction(added.bytes as f64 / (packets * f64::from(sizes().middle())).max(1.0));
        let test = share.near(printed, PAPER_TOLERANCE);
        let exact = exact_bytes / exact.flow.forward;
        judgement.derived(what, test, "Frames do not have the printed sizes", exact, PAPER_TOLERANCE);
    }
}

/// A full packet of the paper.
const PAPER_PACKET_BYTES: f64 = 1086.0;

/// Shares that a dummy and a repeat add to a flow of one packet.
fn judge_singles(judgement: &mut Judgement, results: &Results<'_>) {
    let flows: u64 = results.effort().choose(50_000, 1_000_000);
    let summary_with = |mend: &str, frames: &str| {
        let run = Run::new("claims/short-flows")
            .set("workload.0.message", format!("{MTU}B"))
            .set("impair.0.rate", bit_error_rate(0.01))
            .set("workload.0.count", flows)
            .set(mend, 1)
            .set("transport.frames", frames)
            .seconds(results.effort().choose(0.2, 3.0));
        &results.outcome(&run).summary
    };
    let [(dummy, repeat), paper] = ["wire", "paper"]
        .map(|frames| (summary_with("mend.dummies", frames), summary_with("mend.tail_copies", frames)));
    judgement.must("flows of one packet with a dummy", count(dummy.finished).is(flows));
    judgement.must("flows of one packet with a repeat", count(repeat.finished).is(flows));
    judgement.must("dummies", count(dummy.extra_frames.dummies.frames).is(flows));
    let full_bytes = flows as f64 * f64::from(sizes().full());
    let [dummy, repeat] = [dummy.extra_frames.dummies.bytes, repeat.extra_frames.repeats.bytes]
        .map(|bytes| fraction(bytes as f64 / full_bytes));
    let exact = f64::from(sizes().dummy) / f64::from(sizes().full());
    judgement.must("a dummy as a share of a packet's bytes", dummy.near(exact, 1e-6));
    // A retransmitted tail is repeated again.
    judgement.must("a repeat as a share of a packet's bytes", repeat.near(1.0, 0.01));
    let cause = "A dummy has 78 B with its RETH, and a packet 1102 B";
    let adds = judgement.derived("a dummy adds 6 %", dummy.near(0.06, PAPER_TOLERANCE), cause, exact, 1e-6);
    let ratio = (repeat / dummy).near(16.0, PAPER_TOLERANCE);
    let costs = judgement.derived("a repeat costs 16 times as much", ratio, cause, 1.0 / exact, 0.01);
    let paper_bytes = flows as f64 * PAPER_PACKET_BYTES;
    let with_paper = fraction(paper.0.extra_frames.dummies.bytes as f64 / paper_bytes);
    let repeats = fraction(paper.1.extra_frames.repeats.bytes as f64 / paper_bytes);
    let cause = "Frames of the paper's sizes: a dummy of 62 B behind a packet of 1086 B";
    judgement.explain(cause, 0, &[(adds, with_paper), (costs, repeats / with_paper)]);
}

/// The share that a dummy adds to a flow of `WebSearch`.
fn judge_websearch(judgement: &mut Judgement, results: &Results<'_>) {
    let table = Workload::named("websearch").expect("it is shipped").table();
    let flows: u64 = results.effort().choose(2_000, 10_000);
    let run = Run::new("claims/tails")
        .set("impair.0.rate", bit_error_rate(0.001))
        .set("workload.0.flows", flows)
        .set("mend.dummies", 1)
        .seconds(results.effort().choose(2.0, 10.0));
    let outcome = results.outcome(&run);
    let dummies = outcome.summary.extra_frames.dummies;
    judgement.must("flows of WebSearch", outcome.finished().is(flows));
    judgement.must("dummies of WebSearch", count(dummies.frames).is(flows));
    // Payload of the drawn flows, and the header bytes of their packets.
    let data_bytes = outcome.payload_bytes() * f64::from(sizes().middle()) / f64::from(MTU);
    let share = fraction(dummies.bytes as f64 / data_bytes.max(1.0));
    let inverse = table.mean_inverse_packets(Bytes::new(u64::from(MTU)));
    let printed = PaperModel { beta: 0.001, links: 1.0, omega: 1.0, mean_inverse: inverse };
    // Few flows carry most bytes, so the mean size of the drawn flows may be 10 % off the mean of the table.
    let packets = flow::mean_packets(&gao::flows(table));
    let exact = f64::from(sizes().dummy) / (packets * f64::from(sizes().middle()));
    judgement.must("a dummy as a share of WebSearch's bytes", share.near(exact, 0.25));
    judgement.derived(
        "0.06 E(1/S)",
        share.near(printed.cost_of_dummies(1), PAPER_TOLERANCE),
        "A share 1/E(S) of all packets are tails, and not E(1/S): dummies cost WebSearch N · S_dummy/(E(S) S_p), a \
         hundredth of the printed value",
        exact,
        0.25,
    );
}
