//! J17: bandwidth of the mechanisms.

use wiremend_measure::ExtraFrames;
use wiremend_model::{Cost, MendCounts, cost, flow};

use super::curves::{self, Mode, Table};
use super::path::{self, Arrivals, Case, Flows};
use crate::papers::gao::{MTU, sizes as frames, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J17",
    title: "bandwidth of all mechanisms",
    source: source("sections 4 and 6.3"),
    paper: "All mechanisms together take less than 3 % of the bandwidth",
    method: "Bytes of dummies and copies divided by the bytes of the flows' own frames. Also compared with the \
             paper: β = 0.01 on four links, and flows of a single packet",
    judge,
    ..Claim::FORM
};

const ADDED_SHARE_MAX: f64 = 0.03;
const WEBSEARCH: Flows = Flows::Table("websearch");

/// A load so low that flows rarely get a copy of another flow: the switch identifies packets only by their
/// numbers.
fn case(flows: Flows, count: u32, links: u32, beta: f64, mechanism: &'static path::Mechanism) -> Case {
    Case { flows, count, arrivals: Arrivals::Apart(0.001), links, beta, mechanism }
}

fn model_cost(case: &Case) -> Cost {
    let setting = case.setting();
    cost(&setting.model, &setting.path, &setting.sizes, 1.0)
}

/// Added bytes divided by the bytes of the flows' own frames, computed from payload and header share.
fn share(outcome: &Outcome, header_share: f64) -> Number {
    fraction(outcome.summary.extra_frames.bytes() as f64 / (outcome.payload_bytes() * (1.0 + header_share)))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    for table in effort.choose(&[Table::WebSearch][..], &[Table::WebSearch, Table::DataMining]) {
        let flows = effort.choose(curves::QUICK_FLOWS, curves::FULL_FLOWS);
        for panel in curves::panels(Mode::PointToPoint, *table, flows, &[1e-3, 1e-4], &[0.1, 0.6]) {
            for curve in [curves::ALL, curves::ALL_OPTIMIZED] {
                let (name, outcome) = (format!("{curve}, {}", panel.name()), panel.outcome(results, curve));
                // Nearly all packets of these tables are full.
                let added = share(outcome, f64::from(frames().header) / f64::from(MTU));
                judgement.must(&name, added.below(ADDED_SHARE_MAX));
                row(judgement, &name, added, &outcome.summary.extra_frames);
            }
        }
    }
    let testbed = case(WEBSEARCH, effort.choose(200, 2_000), 1, 1.0 / 128.0, &path::TESTBED);
    let long = case(WEBSEARCH, effort.choose(100, 1_000), 4, 1e-2, &path::ALL);
    let single = case(Flows::Bytes(MTU), effort.choose(20_000, 200_000), 4, 1e-4, &path::ALL);
    for (name, case) in [
        ("2/1/1, WebSearch, β = 1/128 on one link", testbed),
        ("All, WebSearch, β = 0.01, four links", long),
        ("All, flows of a single packet", single),
    ] {
        let outcome = case.outcome(results);
        let Cost { flow, dummies, nak_copies, retransmission_copies, .. } = model_cost(&case);
        let added = share(outcome, flow.forward / case.mean_bytes() - 1.0);
        let exact = dummies.forward + nak_copies.backward + retransmission_copies.forward;
        let test = added.below(ADDED_SHARE_MAX);
        if case == testbed {
            judgement.must(name, test);
        } else {
            judgement.derived(
                name,
                test,
                "At β = 0.01 on four links 4 % of the packets are lost, and three copies of each are 12 %; two dummies \
                 after a flow of a single packet are 14 % of it",
                exact / flow.forward,
                // Few flows carry most bytes, so the mean size of the drawn flows varies.
                0.1,
            );
        }
        row(judgement, name, added, &outcome.summary.extra_frames);
    }
    let short = |beta| case(Flows::Bytes(8 * MTU), effort.choose(20_000, 200_000), 4, beta, &path::ALL);
    let exact = [
        ("8 packets, β = 0.01", short(1e-2)),
        ("WebSearch, β = 0.01, four links", long),
        ("8 packets, β = 0.001", short(1e-3)),
    ];
    for (name, case) in &exact[..effort.choose(2, 3)] {
        bytes(judgement, name, case, case.outcome(results));
    }
    judgement.columns("| added in total | dummies | NAK copies | retransmission copies");
}

fn row(judgement: &mut Judgement, name: &str, added: Number, frames: &ExtraFrames) {
    let [dummies, naks, copies] = [frames.dummies, frames.nak_copies, frames.retransmission_copies]
        .map(|part| human::bytes(part.bytes as f64));
    judgement.row(name, [&added, &dummies, &naks, &copies]);
}

/// Compares the bytes of each mechanism with the exact formula.
fn bytes(judgement: &mut Judgement, name: &str, case: &Case, outcome: &Outcome) {
    let (added, flows) = (&outcome.summary.extra_frames, outcome.summary.flows as f64);
    let model_cost = model_cost(case);
    let MendCounts { nak_copies, retransmission_copies, .. } = case.mechanism.mend;
    // Losses are proportional to packets, and the drawn flows have more or fewer packets than the mean of the
    // table.
    let scale = outcome.payload_bytes() / flow::mean_bytes(&case.sizes());
    let what = format!("bytes of dummies, {name}");
    judgement.must(what, number(added.dummies.bytes as f64).near(model_cost.dummies.forward * flows, 0.0));
    // Number of copied NAKs and packets, from their bytes.
    for (what, added, exact, bytes) in [
        ("NAKs", added.nak_copies, model_cost.nak_copies.backward, nak_copies * frames().answer),
        (
            "retransmissions",
            added.retransmission_copies,
            model_cost.retransmission_copies.forward,
            retransmission_copies * frames().middle(),
        ),
    ] {
        let copied = count((added.bytes as f64 / f64::from(bytes)).round() as u64);
        let test = copied.expected(exact * scale / f64::from(bytes));
        judgement.must(format!("number of copied {what}, {name}"), test);
    }
}
