//! J17: bandwidth of the mechanisms.

use wiremend_measure::{ExtraFrames, VariantSummary};
use wiremend_model::{Cost, MendCounts, cost, flow};
use wiremend_report::human;

use super::curves::{self, Mode, Panel, Table};
use super::path::{self, Arrivals, Case, Flows};
use crate::ledger::number::{count, fraction, number};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::{MTU, sizes as frames, source};

pub(super) const CLAIM: Claim = Claim {
    id: "J17",
    title: "bandwidth of all mechanisms",
    source: source("sections 4 and 6.3"),
    paper: "All mechanisms together take less than 3 % of the bandwidth",
    method: "Bytes of dummies and copies divided by the bytes of the flows' own frames. Also compared with the \
             paper: β = 0.01 on four links, and flows of a single packet",
    note: "",
    runs,
    judge,
};

const ADDED_SHARE_MAX: f64 = 0.03;
/// Few flows carry most bytes, so the mean size of the drawn flows varies.
const EXACT_TOLERANCE: f64 = 0.1;
/// A load so low that flows rarely get a copy of another flow: the switch identifies packets only by their
/// numbers.
const LOW_LOAD: Arrivals = Arrivals::Apart(0.001);

fn panels(effort: Effort) -> Vec<Panel> {
    let panels_for =
        |table, flows| curves::panels(Mode::PointToPoint, table, flows, &[1e-3, 1e-4], &[0.1, 0.6]);
    let websearch = |flows| panels_for(Table::WebSearch, flows);
    match effort {
        Effort::Quick => websearch(curves::QUICK_FLOWS),
        Effort::Full => {
            [websearch(curves::FULL_FLOWS), panels_for(Table::DataMining, curves::FULL_FLOWS)].concat()
        }
    }
}

fn case(flows: Flows, count: u32, links: u32, beta: f64, mechanism: &'static path::Mechanism) -> Case {
    Case { flows, count, arrivals: LOW_LOAD, links, beta, mechanism }
}

/// The setting of the testbed.
fn testbed(effort: Effort) -> Case {
    let websearch = Flows::Table("websearch");
    case(websearch, effort.choose(200, 2_000), 1, 1.0 / 128.0, &path::TESTBED)
}

/// Settings in which the mechanisms need more than 3 %.
fn costly(effort: Effort) -> [(&'static str, Case); 2] {
    let websearch = case(Flows::Table("websearch"), effort.choose(100, 1_000), 4, 1e-2, &path::ALL);
    let single = case(Flows::Bytes(MTU), effort.choose(20_000, 200_000), 4, 1e-4, &path::ALL);
    [("WebSearch, β = 0.01, four links", websearch), ("flows of a single packet", single)]
}

/// Settings in which bytes are compared with the exact formula.
fn exact(effort: Effort) -> Vec<(&'static str, Case)> {
    let short = |beta| case(Flows::Bytes(8 * MTU), effort.choose(20_000, 200_000), 4, beta, &path::ALL);
    let [(name, long), _] = costly(effort);
    let mut cases = vec![("8 packets, β = 0.01", short(1e-2)), (name, long)];
    if effort == Effort::Full {
        cases.push(("8 packets, β = 0.001", short(1e-3)));
    }
    cases
}

fn runs(effort: Effort) -> Vec<Run> {
    let panels = panels(effort);
    let mut runs = curves::runs(&panels, &[curves::ALL, curves::ALL_OPTIMIZED]);
    runs.push(testbed(effort).run());
    runs.extend(costly(effort).iter().map(|(_, case)| case.run()));
    runs.extend(exact(effort).iter().map(|(_, case)| case.run()));
    runs
}

/// Payload of the finished flows.
fn payload(summary: &VariantSummary) -> f64 {
    summary.whole_run_goodput_bps as f64 / 8.0 * summary.simulated_ns as f64 * 1e-9
}

/// Added bytes divided by the bytes of the flows' own frames, computed from payload and header share.
fn share(summary: &VariantSummary, header_share: f64) -> f64 {
    summary.extra_frames.bytes() as f64 / (payload(summary) * (1.0 + header_share))
}

/// Header bytes divided by payload, for flows of these sizes.
fn header_share(case: &Case) -> f64 {
    let model_cost = model_cost(case);
    model_cost.flow.forward / case.mean_bytes() - 1.0
}

fn model_cost(case: &Case) -> Cost {
    cost(&case.setting(), &case.path(), &case.sizes(), 1.0)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for panel in panels(results.effort()) {
        for curve in [curves::ALL, curves::ALL_OPTIMIZED] {
            let summary = &panel.outcome(results, curve).summary;
            // Nearly all packets of these tables are full.
            let added_share = share(summary, f64::from(frames().header) / f64::from(MTU));
            judgement
                .must(format!("{curve}, {}", panel.name()), fraction(added_share).below(ADDED_SHARE_MAX));
            rows.push(row(&format!("{curve}, {}", panel.name()), added_share, &summary.extra_frames));
        }
    }
    let testbed = testbed(results.effort());
    let added_share = share(&testbed.outcome(results).summary, header_share(&testbed));
    judgement.must("2/1/1, WebSearch, β = 1/128 on one link", fraction(added_share).below(ADDED_SHARE_MAX));
    rows.push(row(
        "2/1/1, WebSearch, β = 1/128 on one link",
        added_share,
        &testbed.outcome(results).summary.extra_frames,
    ));
    for (name, case) in costly(results.effort()) {
        let added_share = share(&case.outcome(results).summary, header_share(&case));
        let Cost { flow, dummies, nak_copies, retransmission_copies, .. } = model_cost(&case);
        let added = dummies.forward + nak_copies.backward + retransmission_copies.forward;
        judgement.derived(
            format!("All, {name}"),
            fraction(added_share).below(ADDED_SHARE_MAX),
            "At β = 0.01 on four links 4 % of the packets are lost, and three copies of each are 12 %; two dummies \
             after a flow of a single packet are 14 % of it",
            added / flow.forward,
            EXACT_TOLERANCE,
        );
        rows.push(row(&format!("All, {name}"), added_share, &case.outcome(results).summary.extra_frames));
    }
    for (name, case) in exact(results.effort()) {
        bytes(judgement, name, &case, results);
    }
    judgement.table("| added in total | dummies | NAK copies | retransmission copies", rows);
}

fn row(name: &str, added_share: f64, added: &ExtraFrames) -> Vec<String> {
    let parts = [added.dummies, added.nak_copies, added.retransmission_copies];
    let mut row = vec![name.to_owned(), format!("{} %", human::percent(added_share))];
    row.extend(parts.map(|part| human::bytes(part.bytes as f64)));
    row
}

/// Compares the bytes of each mechanism with the exact formula.
fn bytes(judgement: &mut Judgement, name: &str, case: &Case, results: &Results<'_>) {
    let summary = &case.outcome(results).summary;
    let (added, flows) = (&summary.extra_frames, summary.flows as f64);
    let model_cost = model_cost(case);
    let sizes = frames();
    let MendCounts { nak_copies, retransmission_copies, .. } = case.mechanism.mend;
    // Losses are proportional to packets, and the drawn flows have more or fewer packets than the mean of the
    // table.
    let scale = payload(summary) / flow::mean_bytes(&case.sizes());
    let what = format!("bytes of dummies, {name}");
    judgement.must(what, number(added.dummies.bytes as f64).near(model_cost.dummies.forward * flows, 0.0));
    // Number of copied NAKs and packets, from their bytes.
    let naks = f64::from(nak_copies) * f64::from(sizes.answer);
    judgement.must(
        format!("number of copied NAKs, {name}"),
        count((added.nak_copies.bytes as f64 / naks).round() as u64)
            .expected(model_cost.nak_copies.backward * scale / naks),
    );
    let packets = f64::from(retransmission_copies) * f64::from(sizes.middle());
    judgement.must(
        format!("number of copied retransmissions, {name}"),
        count((added.retransmission_copies.bytes as f64 / packets).round() as u64)
            .expected(model_cost.retransmission_copies.forward * scale / packets),
    );
}
