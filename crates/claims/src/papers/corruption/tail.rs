//! J5: timeouts because the last packet of a flow or its ACK is lost.

use wiremend_fabric::{SizeTable, Workload};
use wiremend_measure::{TimeoutCause, TimeoutCounts};
use wiremend_model::{Cause, Expected, MendCounts, ModelSetting, PaperModel, Path, expected, flow};
use wiremend_report::plot::Plot;
use wiremend_units::Bytes;

use super::{PAPER_TOLERANCE, computed, measured, probability};
use crate::cause;
use crate::ledger::number::{count, number, shown};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::{self, MTU, bit_error_rate, sizes, source};

pub(super) const CLAIM: Claim = Claim {
    id: "J5",
    title: "timeouts at the tail of a flow",
    source: source("theorems 6 and 7"),
    paper: "On a link, the probability that a packet is a tail and lost is P_tail ≈ E(1/S)βω, and for the ACK of a \
           tail P_tailACK ≈ 0.06 E(1/S)βω, where S is the number of packets of a flow. For WebSearch E(1/S) = 0.055",
    method: "Flows of WebSearch, each with its own queue pair, over one corrupting link. Timeouts of both causes are \
             counted",
    note: "",
    runs,
    judge,
};

const QUICK: &[f64] = &[0.1];
const FULL: &[f64] = &[0.03, 0.1];

fn betas(effort: Effort) -> &'static [f64] {
    effort.choose(QUICK, FULL)
}

/// Runs that differ only in the seed, for as many cores.
fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    1..=effort.choose(1, 4)
}

/// Flows of a run.
fn flows(effort: Effort) -> u64 {
    effort.choose(1_000, 3_000)
}

fn run(effort: Effort, beta: f64, seed: u64) -> Run {
    Run::new("claims/tails")
        .set("impair.0.rate", bit_error_rate(beta))
        .set("workload.0.flows", flows(effort))
        .seed(seed)
        .seconds(effort.choose(3.0, 9.0))
}

fn runs(effort: Effort) -> Vec<Run> {
    betas(effort).iter().flat_map(|&beta| seeds(effort).map(move |seed| run(effort, beta, seed))).collect()
}

fn websearch() -> &'static SizeTable {
    Workload::named("websearch").expect("it is shipped").table()
}

/// Expectation per flow by the exact model.
fn exact(beta: f64) -> Expected {
    let setting = ModelSetting::new(sizes(), beta, MendCounts::NONE);
    expected(&setting, &Path::between_switches(1, 1.0), &gao::flows(websearch()))
}

/// The mean number of packets of a flow.
fn mean_packets() -> f64 {
    flow::mean_packets(&gao::flows(websearch()))
}

/// Flows and timeouts of all seeds.
fn counted(results: &Results<'_>, beta: f64) -> (u64, TimeoutCounts) {
    let mut all = (0, TimeoutCounts::default());
    for seed in seeds(results.effort()) {
        let summary = &results.outcome(&run(results.effort(), beta, seed)).summary;
        all.0 += summary.finished;
        all.1 += summary.timeouts;
    }
    all
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let inverse = websearch().mean_inverse_packets(Bytes::new(u64::from(MTU)));
    judgement.must("E(1/S) of the table", number(inverse).near(0.055, PAPER_TOLERANCE));
    for &beta in betas(results.effort()) {
        let (finished, timeouts) = counted(results, beta);
        let wanted = flows(results.effort()) * seeds(results.effort()).count() as u64;
        judgement.must(format!("finished flows, β = {beta}"), count(finished).is(wanted));
        let flows = finished as f64;
        let [tails, acks] =
            [TimeoutCause::TailPacket, TimeoutCause::TailAck].map(|cause| timeouts.get(cause));
        let expected = exact(beta).timeouts.map(|timeouts| timeouts * flows);
        let label = |what: &str| format!("{what} of {} flows, β = {beta}", shown(flows));
        judgement.must(label("lost tails"), count(tails).expected(expected[Cause::TailPacket as usize]));
        judgement.must(label("lost ACKs of tails"), count(acks).expected(expected[Cause::TailAck as usize]));
        let printed = PaperModel { beta, links: 1.0, omega: 1.0, mean_inverse: inverse };
        judgement.derived(
            format!("share of lost tails in all packets, β = {beta}"),
            count(tails).expected(printed.tail_with_dummies(0) * flows * mean_packets()),
            "E(1/S) is the share of a flow that is its tail, averaged over flows. The probability that a random packet \
             is a tail is 1/E(S), a hundred times less with WebSearch: each flow has one tail",
            expected[Cause::TailPacket as usize],
            0.0,
        );
    }
    judgement.plot("j5", &figure(results));
}

fn figure(results: &Results<'_>) -> Plot {
    let line: Vec<f64> = (0..=12).map(|step| 10_f64.powf(-3.0 + f64::from(step) / 6.0)).collect();
    let mut curves = Vec::new();
    for cause in [Cause::TailPacket, Cause::TailAck] {
        let name = cause.name();
        curves.push(computed(&format!("{name}, exact"), &line, |beta| exact(beta).timeouts[cause as usize]));
        let point = |beta: &f64| {
            let (flows, timeouts) = counted(results, *beta);
            (*beta, timeouts.get(cause::counted(cause)) as f64 / flows.max(1) as f64)
        };
        curves.push(measured(
            &format!("{name}, measured"),
            betas(results.effort()).iter().map(point).collect(),
        ));
    }
    Plot {
        title: "Timeouts at the tail of a WebSearch flow".to_owned(),
        description: "Timeouts per flow against the corruption of a full packet on one link.".to_owned(),
        x: probability("packet corruption β"),
        y: probability("timeouts per flow"),
        curves,
    }
}
