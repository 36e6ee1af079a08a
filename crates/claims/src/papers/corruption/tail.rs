//! J5: timeouts because the last packet of a flow or its ACK is lost.

use wiremend_fabric::Workload;
use wiremend_measure::TimeoutCounts;
use wiremend_model::{Cause, MendCounts, ModelSetting, PaperModel, Path, expected, flow};
use wiremend_units::Bytes;

use crate::cause;
use crate::papers::gao::{self, MTU, PAPER_TOLERANCE, bit_error_rate, computed, probability, sizes, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J5",
    title: "timeouts at the tail of a flow",
    source: source("theorems 6 and 7"),
    paper: "On a link, the probability that a packet is a tail and lost is P_tail ≈ E(1/S)βω, and for the ACK of a \
           tail P_tailACK ≈ 0.06 E(1/S)βω, where S is the number of packets of a flow. For WebSearch E(1/S) = 0.055",
    method: "Flows of WebSearch, each with its own queue pair, over one corrupting link. Timeouts of both causes are \
             counted",
    judge,
    ..Claim::FORM
};

/// Flows and timeouts of several seeds, for as many cores.
fn counted(results: &Results<'_>, beta: f64) -> (u64, TimeoutCounts) {
    let effort = results.effort();
    let mut all = (0, TimeoutCounts::default());
    for seed in 1..=effort.choose(1, 4) {
        let run = Run::new("claims/tails")
            .set("impair.0.rate", bit_error_rate(beta))
            .set("workload.0.flows", effort.choose(1_000, 3_000))
            .seed(seed)
            .seconds(effort.choose(3.0, 9.0));
        let summary = &results.outcome(&run).summary;
        all.0 += summary.finished;
        all.1 += summary.timeouts;
    }
    all
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let table = Workload::named("websearch").expect("it is shipped").table();
    let sizes_of_flows = gao::flows(table);
    let exact = |beta: f64| {
        let setting = ModelSetting::new(sizes(), beta, MendCounts::NONE);
        expected(&setting, &Path::between_switches(1, 1.0), &sizes_of_flows).timeouts
    };
    let betas: &[f64] = results.effort().choose(&[0.1], &[0.03, 0.1]);
    let inverse = table.mean_inverse_packets(Bytes::new(u64::from(MTU)));
    judgement.must("E(1/S) of the table", number(inverse).near(0.055, PAPER_TOLERANCE));
    for &beta in betas {
        let (finished, timeouts) = counted(results, beta);
        let wanted = results.effort().choose(1_000, 12_000);
        judgement.must(format!("finished flows, β = {beta}"), count(finished).is(wanted));
        let flows = finished as f64;
        let [tails, acks] =
            [TimeoutCause::TailPacket, TimeoutCause::TailAck].map(|cause| timeouts.get(cause));
        let expected = exact(beta).map(|timeouts| timeouts * flows);
        let label = |what: &str| format!("{what} of {} flows, β = {beta}", shown(flows));
        judgement.must(label("lost tails"), count(tails).expected(expected[Cause::TailPacket as usize]));
        judgement.must(label("lost ACKs of tails"), count(acks).expected(expected[Cause::TailAck as usize]));
        let printed = PaperModel { beta, links: 1.0, omega: 1.0, mean_inverse: inverse };
        judgement.derived(
            format!("share of lost tails in all packets, β = {beta}"),
            count(tails).expected(printed.tail_with_dummies(0) * flows * flow::mean_packets(&sizes_of_flows)),
            "E(1/S) is the share of a flow that is its tail, averaged over flows. The probability that a random packet \
             is a tail is 1/E(S), a hundred times less with WebSearch: each flow has one tail",
            expected[Cause::TailPacket as usize],
            0.0,
        );
    }
    let line: Vec<f64> = (0..=12).map(|step| 10_f64.powf(-3.0 + f64::from(step) / 6.0)).collect();
    let mut curves = Vec::new();
    for cause in [Cause::TailPacket, Cause::TailAck] {
        let name = cause.name();
        curves.push(computed(format!("{name}, exact"), &line, |beta| exact(beta)[cause as usize]));
        let point = |beta: &f64| {
            let (flows, timeouts) = counted(results, *beta);
            (*beta, timeouts.get(cause::counted(cause)) as f64 / flows.max(1) as f64)
        };
        curves.push(Curve::marked(format!("{name}, measured"), betas.iter().map(point)));
    }
    let description = "Timeouts per flow against the corruption of a full packet on one link.";
    let (x, y) = (probability("packet corruption β"), probability("timeouts per flow"));
    let title = "Timeouts at the tail of a WebSearch flow";
    judgement.plot("j5", &Plot::new(title, description, x, y, curves));
}
