//! D2: adaptive routing over paths of unequal capacity.

use super::scheme::{
    DCP, GO_BACK_N_ADAPTIVE, IRN_ADAPTIVE, MP_RDMA, MP_RDMA_WIDE, Memory, RACK_TLP_ADAPTIVE, Scheme,
};
use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D2",
    title: "adaptive routing over paths of unequal capacity",
    source: source("evaluation, testbed #2; issues of selective repeat, #1"),
    paper: "DCP is compatible with adaptive routing: its goodput is stable for all capacity ratios of the paths. \
           Selective repeat takes reordered packets for lost ones and retransmits far too many",
    method: "Four hosts write 10 MB each over eight paths, four of them slower by a ratio from 1 to 25. The fast \
             paths alone could carry all traffic, switches send each packet to the shortest queue, and nothing is \
             lost, so that every retransmission is unnecessary. Goodput is the bytes divided by the time of the \
             slowest flow",
    note: "IRN retransmits a missing packet once per recovery and leaves the recovery only when all packets are \
           acknowledged: a seventh to a quarter of the packets are unnecessary retransmissions, and a sixth to a \
           third of the goodput is lost. The goodput of go-back-N, which the NIC of the paper's testbed uses, does \
           collapse: it retransmits everything after each packet that was overtaken. The goodput of MP-RDMA \
           collapses too where a slow path lags by more than the 64 packets that its receiver tracks, and does not \
           with 2048",
    judge,
    ..Claim::FORM
};

const SCHEMES: [Scheme; 6] =
    [DCP, RACK_TLP_ADAPTIVE, IRN_ADAPTIVE, GO_BACK_N_ADAPTIVE, MP_RDMA, MP_RDMA_WIDE];
const DCP_SHARE_MIN: f64 = 0.93;
const IRN_UNNECESSARY_MIN: f64 = 0.05;
const IRN_SHARE_MAX: f64 = 0.9;
const COLLAPSED_SHARE_MAX: f64 = 0.5;
const SENDERS: f64 = 4.0;
const BYTES: [(Effort, f64, &str); 2] = [(Effort::Quick, 2e6, "2MB"), (Effort::Full, 1e7, "10MB")];

/// Capacity ratios, and the rates of the slow paths.
fn ratios(effort: Effort) -> &'static [(f64, &'static str)] {
    effort.choose(
        &[(1.0, "100Gbps"), (4.0, "25Gbps"), (25.0, "4Gbps")],
        &[(1.0, "100Gbps"), (2.0, "50Gbps"), (4.0, "25Gbps"), (10.0, "10Gbps"), (25.0, "4Gbps")],
    )
}

fn bytes(effort: Effort) -> (f64, &'static str) {
    let (_, number, text) = BYTES[usize::from(effort == Effort::Full)];
    (number, text)
}

fn run(effort: Effort, scheme: Scheme, slow: &str) -> Run {
    let run =
        Run::new("claims/unequal").set("topology.link.0.rate", slow).set("workload.0.bytes", bytes(effort).1);
    scheme.on(run, Memory::LARGE).seconds(0.5)
}

fn goodput_bps(effort: Effort, outcome: &Outcome) -> f64 {
    outcome.summary.fct_ns.map_or(0.0, |fct| SENDERS * bytes(effort).0 * 8.0 / (fct.max * 1e-9))
}

/// Retransmissions per packet of the messages.
fn retransmission_share(effort: Effort, outcome: &Outcome) -> f64 {
    outcome.summary.retransmitted_packets as f64 / (SENDERS * bytes(effort).0 / 1024.0)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let outcome = |scheme, slow| results.outcome(&run(effort, scheme, slow));
    let goodput = |scheme, slow| goodput_bps(effort, outcome(scheme, slow));
    let equal = goodput(DCP, ratios(effort)[0].1);
    let mut rows = Vec::new();
    for &(ratio, slow) in ratios(effort) {
        let (dcp, repeat) = (goodput(DCP, slow), goodput(IRN_ADAPTIVE, slow));
        judgement.must(
            format!("goodput of DCP relative to equal paths, ratio {ratio}"),
            fraction(dcp / equal).at_least(DCP_SHARE_MIN),
        );
        let what = format!("retransmissions of DCP, ratio {ratio}");
        judgement.none(what, outcome(DCP, slow).summary.retransmitted_packets);
        for scheme in SCHEMES {
            let dropped = outcome(scheme, slow).summary.dropped_frames.buffer;
            judgement.none(format!("frames dropped, {}, ratio {ratio}", scheme.name), dropped);
        }
        if ratio > 1.0 {
            let spurious = retransmission_share(effort, outcome(IRN_ADAPTIVE, slow));
            let what = format!("unnecessary retransmissions of IRN per packet, ratio {ratio}");
            judgement.must(what, fraction(spurious).at_least(IRN_UNNECESSARY_MIN));
            judgement.must(
                format!("goodput of IRN relative to DCP, ratio {ratio}"),
                fraction(repeat / dcp).at_most(IRN_SHARE_MAX),
            );
            judgement.printed(
                format!("IRN collapses, ratio {ratio}"),
                fraction(repeat / dcp).at_most(COLLAPSED_SHARE_MAX),
            );
            let go_back = goodput(GO_BACK_N_ADAPTIVE, slow);
            let what = format!("goodput of go-back-N relative to DCP, ratio {ratio}");
            judgement.must(what, fraction(go_back / dcp).at_most(COLLAPSED_SHARE_MAX));
        }
        let cell = |scheme: Scheme| {
            let outcome = outcome(scheme, slow);
            format!(
                "{}, {} % retransmitted",
                human::rate_bps(goodput_bps(effort, outcome)),
                human::percent(retransmission_share(effort, outcome))
            )
        };
        rows.push([vec![format!("1:{ratio}")], SCHEMES.map(cell).to_vec()].concat());
    }
    let names = SCHEMES.map(|scheme| scheme.name).join(" | ");
    judgement.table(&format!("ratio | {names}"), rows);
    judgement.plot("d2", &figure(results));
}

fn figure(results: &Results<'_>) -> Plot {
    let effort = results.effort();
    let curve = |scheme: Scheme| {
        let point = |&(ratio, slow): &(f64, &str)| {
            (ratio, goodput_bps(effort, results.outcome(&run(effort, scheme, slow))))
        };
        Curve::marked(scheme.name, ratios(effort).iter().map(point))
    };
    Plot {
        title: "Goodput of four hosts over eight paths, four of them slow".to_owned(),
        description: "Goodput of each scheme against the ratio between the rates of fast and slow paths."
            .to_owned(),
        x: Axis::new("rate of fast paths divided by that of slow ones", Scale::Log, Unit::Number),
        y: Axis::new("goodput", Scale::Linear, Unit::RateBps).with_range(0.0, 4e11),
        curves: SCHEMES.map(curve).to_vec(),
    }
}
