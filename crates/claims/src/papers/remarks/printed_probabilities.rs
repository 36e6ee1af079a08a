//! J29: the probabilities that the paper computes at β = 0.01.

use wiremend_fabric::Workload;
use wiremend_model::{bits, flow};

use crate::papers::gao::{self, PAPER_TOLERANCE, bit_error_rate, sizes, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J29",
    title: "probabilities with copies and dummies at β = 0.01",
    source: source("sections 4.1 to 4.3"),
    paper: "On paths of two links at β = 0.01: with NAKs sent twice 1.4e-8 ω², with retransmissions sent three times \
            2e-8 ω, with one dummy behind the tails of WebSearch 6e-7 ω (6.6e-7 by its formula)",
    method: "Too rare to count. The shares of full packets, NAKs and dummies that one link corrupts are counted at β = \
             0.01, in frames of their sizes, and multiplied: losses are independent (J6 to J8 count the products where \
             they are frequent), and after them the requester waits for its timer (J30). One link of a path corrupts, \
             Lω ≪ 1; packets that are tails are 1/E(S) of all",
    note: "Of the flows of WebSearch, and not of its packets, 1.4e-5 ω lose their tail and a dummy",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let (beta, rate) = (0.01, bit_error_rate(0.01));
    let loss = |bytes: u32| bits::frame_loss(rate.parse().unwrap_or(0.0), f64::from(bytes));
    let counted = |name: &str, bytes: u32, judgement: &mut Judgement| {
        let run = Run::new("claims/chain")
            .set("topology.switches", 2)
            .set("impair.0.rate", &rate)
            .set("workload.0.frame", bytes)
            .set("workload.0.rate", "100Gbps")
            .set("stop.after", results.effort().choose("60ms", "400ms"));
        let share = results.outcome(&run.seconds(results.effort().choose(1.0, 8.0))).corrupted("s0>s1");
        judgement.must(format!("corrupted {name} of {bytes} B"), share.expected(loss(bytes)));
        share.value()
    };
    let sizes = sizes();
    let [packet, nak, dummy] = [("packets", sizes.full()), ("NAKs", sizes.answer), ("dummies", sizes.dummy)]
        .map(|(name, bytes)| counted(name, bytes, judgement));
    let table = Workload::named("websearch").expect("it is shipped").table();
    let tails = 1.0 / flow::mean_packets(&gao::flows(table));
    let (delta, gamma) = (loss(sizes.answer), loss(sizes.dummy));
    let figures = [
        ("NAKs sent twice, of ω²", 1.4e-8, 4.0 * packet * nak * nak, 4.0 * beta * delta * delta, ""),
        ("retransmissions sent three times, of ω", 2e-8, 2.0 * packet.powi(4), 2.0 * beta.powi(4), ""),
        (
            "one dummy, WebSearch, of ω",
            6.6e-7,
            2.0 * packet * dummy * tails,
            2.0 * beta * gamma * tails,
            "A share 1/E(S) of all packets are tails, and not E(1/S)",
        ),
    ];
    for (name, printed, measured, exact, cause) in figures {
        let test = number(measured).near(printed, PAPER_TOLERANCE);
        judgement.derived(name, test, cause, exact, PAPER_TOLERANCE);
        judgement.row(name, [&number(printed), &number(exact), &number(measured)]);
    }
    judgement.columns("probability of a timeout per packet | printed | exact | measured");
}
