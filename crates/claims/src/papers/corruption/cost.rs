//! J10: bandwidth of dummies and copies.

use wiremend_fabric::Workload;
use wiremend_measure::VariantSummary;
use wiremend_model::{PaperModel, flow};
use wiremend_units::Bytes;

use super::PAPER_TOLERANCE;
use super::long_flows::Point;
use crate::ledger::number::{count, fraction, number};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::{self, MTU, bit_error_rate, sizes, source};

pub(super) const CLAIM: Claim = Claim {
    id: "J10",
    title: "bandwidth of dummies and copies",
    source: source("sections 4.1 to 4.3"),
    paper: "As shares of the traffic, N − 1 copies of each NAK add (S_NAK/S_p)(N − 1)β, N − 1 copies of each \
           retransmission (N − 1)β, N dummies 0.06 N E(1/S), and N repeats of the tail N E(1/S), about 16 times as \
           much. For flows of a single packet a dummy adds 6 % and a repeat 100 %",
    method: "The frames and bytes that each mechanism adds are counted",
    note: "",
    runs,
    judge,
};

/// One link at β = 0.01, each NAK copied once, each retransmission three times.
const COPIES: Point = Point::mended(1, 10, 1, 3);

/// Flows of a single packet, with a dummy or a repeat.
fn single(effort: Effort, mend: &str) -> Run {
    Run::new("claims/short-flows")
        .set("workload.0.message", format!("{MTU}B"))
        .set("impair.0.rate", bit_error_rate(0.01))
        .set("workload.0.count", single_flows(effort))
        .set(mend, 1)
        .seconds(effort.choose(0.2, 3.0))
}

fn single_flows(effort: Effort) -> u64 {
    effort.choose(50_000, 1_000_000)
}

/// Flows of `WebSearch` with a dummy.
fn websearch(effort: Effort) -> Run {
    Run::new("claims/tails")
        .set("impair.0.rate", bit_error_rate(0.001))
        .set("workload.0.flows", websearch_flows(effort))
        .set("mend.dummies", 1)
        .seconds(effort.choose(2.0, 10.0))
}

fn websearch_flows(effort: Effort) -> u64 {
    effort.choose(2_000, 10_000)
}

fn runs(effort: Effort) -> Vec<Run> {
    let [dummy, repeat] = ["mend.dummies", "mend.tail_copies"].map(|mend| single(effort, mend));
    vec![COPIES.run(effort), dummy, repeat, websearch(effort)]
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judge_copies(judgement, results);
    judge_singles(judgement, results);
    judge_websearch(judgement, results);
}

/// Shares of the data that copies of NAKs and of retransmissions add.
fn judge_copies(judgement: &mut Judgement, results: &Results<'_>) {
    let (added, packets) = (COPIES.summary(results).extra_frames, COPIES.packets(results));
    judgement.must("finished flows with copies", COPIES.finished(results));
    let (naks, repeats) = COPIES.exact_copied();
    judgement.must("copies of NAKs", count(added.nak_copies.frames).expected(naks * packets));
    // Three copies are sent together, so the number of triples is random, not that of copies.
    let triples = added.retransmission_copies.frames / 3;
    judgement.must("retransmissions copied", count(triples).expected(repeats * packets));
    let data_bytes = packets * f64::from(sizes().middle());
    let [nak, retransmission] = [added.nak_copies.bytes, added.retransmission_copies.bytes]
        .map(|bytes| bytes as f64 / data_bytes.max(1.0));
    let (exact_nak, exact_retransmission) = COPIES.exact_cost();
    let printed = PaperModel { beta: COPIES.beta(), links: 1.0, omega: 1.0, mean_inverse: 1.0 };
    let cause = "Frames do not have the printed sizes";
    judgement.derived(
        "(S_NAK/S_p)(N − 1)β",
        fraction(nak).near(printed.cost_of_nak_copies(2), PAPER_TOLERANCE),
        cause,
        exact_nak,
        PAPER_TOLERANCE,
    );
    judgement.derived(
        "(N − 1)β",
        fraction(retransmission).near(printed.cost_of_retransmission_copies(4), PAPER_TOLERANCE),
        cause,
        exact_retransmission,
        PAPER_TOLERANCE,
    );
}

/// Shares that a dummy and a repeat add to a flow of one packet.
fn judge_singles(judgement: &mut Judgement, results: &Results<'_>) {
    let flows = single_flows(results.effort());
    let summary_with = |mend: &str| &results.outcome(&single(results.effort(), mend)).summary;
    let (dummy, repeat) = (summary_with("mend.dummies"), summary_with("mend.tail_copies"));
    judgement.must("flows of one packet with a dummy", count(dummy.finished).is(flows));
    judgement.must("flows of one packet with a repeat", count(repeat.finished).is(flows));
    judgement.must("dummies", count(dummy.extra_frames.dummies.frames).is(flows));
    let full_bytes = flows as f64 * f64::from(sizes().full());
    let [dummy, repeat] = [dummy.extra_frames.dummies.bytes, repeat.extra_frames.repeats.bytes]
        .map(|bytes| bytes as f64 / full_bytes);
    let exact = f64::from(sizes().dummy) / f64::from(sizes().full());
    judgement.must("a dummy as a share of a packet's bytes", fraction(dummy).near(exact, 1e-6));
    // A retransmitted tail is repeated again.
    judgement.must("a repeat as a share of a packet's bytes", fraction(repeat).near(1.0, 0.01));
    let cause = "A dummy has 78 B with its RETH, and a packet 1102 B";
    judgement.derived("a dummy adds 6 %", fraction(dummy).near(0.06, PAPER_TOLERANCE), cause, exact, 1e-6);
    let ratio = number(repeat / dummy.max(1e-12)).near(16.0, PAPER_TOLERANCE);
    judgement.derived("a repeat costs 16 times as much", ratio, cause, 1.0 / exact, 0.01);
}

/// The share that a dummy adds to a flow of `WebSearch`.
fn judge_websearch(judgement: &mut Judgement, results: &Results<'_>) {
    let table = Workload::named("websearch").expect("it is shipped").table();
    let summary: &VariantSummary = &results.outcome(&websearch(results.effort())).summary;
    let flows = websearch_flows(results.effort());
    judgement.must("flows of WebSearch", count(summary.finished).is(flows));
    judgement.must("dummies of WebSearch", count(summary.extra_frames.dummies.frames).is(flows));
    // Payload of the drawn flows, and the header bytes of their packets.
    let payload = summary.whole_run_goodput_bps as f64 / 8.0 * summary.simulated_ns as f64 * 1e-9;
    let data_bytes = payload * f64::from(sizes().middle()) / f64::from(MTU);
    let share = summary.extra_frames.dummies.bytes as f64 / data_bytes.max(1.0);
    let inverse = table.mean_inverse_packets(Bytes::new(u64::from(MTU)));
    let printed = PaperModel { beta: 0.001, links: 1.0, omega: 1.0, mean_inverse: inverse };
    // Few flows carry most bytes, so the mean size of the drawn flows may be 10 % off the mean of the table.
    let packets = flow::mean_packets(&gao::flows(table));
    let exact = f64::from(sizes().dummy) / (packets * f64::from(sizes().middle()));
    judgement.must("a dummy as a share of WebSearch's bytes", fraction(share).near(exact, 0.25));
    judgement.derived(
        "0.06 E(1/S)",
        fraction(share).near(printed.cost_of_dummies(1), PAPER_TOLERANCE),
        "A share 1/E(S) of all packets are tails, and not E(1/S): dummies cost WebSearch N · S_dummy/(E(S) S_p), a \
         hundredth of the printed value",
        exact,
        0.25,
    );
}
