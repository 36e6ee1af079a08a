//! D2: adaptive routing over paths of unequal capacity.

use wiremend_report::human;
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit};

use super::scheme::{
    DCP, GO_BACK_N_ADAPTIVE, IRN_ADAPTIVE, MP_RDMA, MP_RDMA_WIDE, RACK_TLP_ADAPTIVE, Scheme,
};
use super::source;
use crate::ledger::number::{count, fraction, number};
use crate::ledger::{Claim, Effort, Finding, Judgement, Outcome, Results, Run};

pub(super) const CLAIM: Claim = Claim {
    id: "D2",
    title: "adaptive routing over paths of unequal capacity",
    source: source("evaluation, testbed #2; issues of selective repeat, #1"),
    paper: "DCP is compatible with adaptive routing: its goodput is stable for all capacity ratios of the paths. \
           Selective repeat takes reordered packets for lost ones and retransmits far too many",
    method: "Four hosts write 10 MB each over eight paths, four of them slower by a ratio from 1 to 25. The fast paths \
            alone could carry all traffic, switches send each packet to the shortest queue, and nothing is lost, so \
            that every retransmission is unnecessary. Goodput is the bytes divided by the time of the slowest flow. \
            Reproduced if DCP's goodput is at every ratio at least 93 % of that over equal paths and it retransmits \
            nothing; if selective repeat retransmits at least 5 % of all packets at every ratio from 2 on; and if its \
            goodput there is at least 10 % below that of DCP. As printed if selective repeat has at most half of \
            DCP's goodput (collapses)",
    runs,
    judge,
};

const SCHEMES: [Scheme; 6] =
    [DCP, RACK_TLP_ADAPTIVE, IRN_ADAPTIVE, GO_BACK_N_ADAPTIVE, MP_RDMA, MP_RDMA_WIDE];
const STABLE: f64 = 0.93;
const SPURIOUS: f64 = 0.05;
const LESS: f64 = 0.9;
const COLLAPSED: f64 = 0.5;
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
    scheme.on(run).seconds(0.5)
}

fn runs(effort: Effort) -> Vec<Run> {
    let all = |scheme: Scheme| ratios(effort).iter().map(move |(_, slow)| run(effort, scheme, slow));
    SCHEMES.into_iter().flat_map(all).collect()
}

fn goodput_bps(effort: Effort, outcome: &Outcome) -> f64 {
    outcome.summary.fct_ns.map_or(0.0, |fct| SENDERS * bytes(effort).0 * 8.0 / (fct.max * 1e-9))
}

/// Retransmissions per packet of the messages.
fn retransmission_share(effort: Effort, outcome: &Outcome) -> f64 {
    outcome.summary.retransmitted_packets as f64 / (SENDERS * bytes(effort).0 / 1024.0)
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let effort = results.effort();
    let of = |scheme, slow| results.outcome(&run(effort, scheme, slow));
    let goodput = |scheme, slow| goodput_bps(effort, of(scheme, slow));
    let equal = goodput(DCP, ratios(effort)[0].1);
    let (mut rows, mut told) = (Vec::new(), Vec::new());
    for &(ratio, slow) in ratios(effort) {
        let (dcp, repeat) = (goodput(DCP, slow), goodput(IRN_ADAPTIVE, slow));
        judgement
            .must(format!("DCP against equal ways, ratio {ratio}"), fraction(dcp / equal).at_least(STABLE));
        let what = format!("sent again by DCP, ratio {ratio}");
        judgement.must(what, count(of(DCP, slow).summary.retransmitted_packets).is(0));
        for scheme in SCHEMES {
            let dropped = of(scheme, slow).summary.dropped_frames.buffer;
            judgement.must(format!("frames dropped, {}, ratio {ratio}", scheme.name), count(dropped).is(0));
        }
        if ratio > 1.0 {
            let spurious = retransmission_share(effort, of(IRN_ADAPTIVE, slow));
            let what = format!("sent again for nothing by IRN, ratio {ratio}");
            judgement.must(what, fraction(spurious).at_least(SPURIOUS));
            judgement.must(format!("IRN against DCP, ratio {ratio}"), fraction(repeat / dcp).at_most(LESS));
            judgement.printed(
                format!("IRN collapses, ratio {ratio}"),
                fraction(repeat / dcp).at_most(COLLAPSED),
                REASON,
            );
            let go_back = goodput(GO_BACK_N_ADAPTIVE, slow);
            let what = format!("go-back-N against DCP, ratio {ratio}");
            judgement.must(what, fraction(go_back / dcp).at_most(COLLAPSED));
            told.push(format!(
                "1:{ratio}: DCP {}, IRN {} with {} % sent again, go-back-N {} with {} times as much sent again",
                human::rate_bps(dcp),
                human::rate_bps(repeat),
                human::percent(spurious),
                human::rate_bps(go_back),
                number(retransmission_share(effort, of(GO_BACK_N_ADAPTIVE, slow))).text(),
            ));
        }
        let cell = |scheme: Scheme| {
            let outcome = of(scheme, slow);
            format!(
                "{}, {} % again",
                human::rate_bps(goodput_bps(effort, outcome)),
                human::percent(retransmission_share(effort, outcome))
            )
        };
        rows.push([vec![format!("1:{ratio}")], SCHEMES.map(cell).to_vec()].concat());
    }
    let names = SCHEMES.map(|scheme| scheme.name).join(" | ");
    judgement.table(&format!("ratio | {names}"), rows);
    judgement.plot("d2", &figure(results));
    judgement.finding(
        told.join("; "),
        "DCP places each packet where it belongs and sends nothing again that no switch has named",
    )
}

const REASON: &str = "Selective repeat as IRN has it sends a missing packet once in a recovery and leaves it only when all is acknowledged: a seventh to a quarter of the packets is sent for nothing, and a sixth to a third of the goodput is lost. It is go-back-N, which the NIC of the paper's \
                      testbed does, whose goodput collapses: it sends all that follows again for each packet that was overtaken. MP-RDMA does too, where a slow way lags by more than the 64 packets that its receiver remembers, and does not with 2048";

fn figure(results: &Results<'_>) -> Plot {
    let effort = results.effort();
    let curve = |scheme: Scheme| {
        let point = |&(ratio, slow): &(f64, &str)| {
            (ratio, goodput_bps(effort, results.outcome(&run(effort, scheme, slow))))
        };
        Curve {
            name: scheme.name.to_owned(),
            points: ratios(effort).iter().map(point).collect(),
            line: Line::Marked,
        }
    };
    Plot {
        title: "Goodput of four hosts over eight ways, four of them slow".to_owned(),
        description: "Goodput of each scheme against the ratio between fast and slow ways.".to_owned(),
        x: Axis::new("fast ways over slow ones", Scale::Log, Unit::Number),
        y: Axis::new("goodput", Scale::Linear, Unit::RateBps).with_range(0.0, 4e11),
        curves: SCHEMES.map(curve).to_vec(),
    }
}
