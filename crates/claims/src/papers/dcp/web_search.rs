//! D5: web search flows on 256 hosts, with and without congestion control.

use wiremend_report::human;
use wiremend_report::plot::{Axis, Curve, Plot, Scale, Unit};

use super::scheme::{
    DCP, DCP_CONTROLLED, GO_BACK_N, IRN, IRN_ADAPTIVE, IRN_CONTROLLED, LOSSLESS, MP_RDMA, Scheme,
};
use super::source;
use crate::ledger::number::{fraction, number, shown, time_ns};
use crate::ledger::{Claim, Effort, Judgement, Outcome, Results, Run};
use crate::papers::completion::quantile_ns;

pub(super) const CLAIM: Claim = Claim {
    id: "D5",
    title: "DCP needs congestion control under high load",
    source: source("evaluation, simulations #2"),
    paper: "256 servers, 16 per rack, two layers, 100 Gb/s: without congestion control many retransmissions make \
           congestion worse; with it DCP is the best scheme under high load",
    method: "Web search flows at loads of 0.3 and 0.5 with 10 ms of arrivals, and of 0.8 with 2 ms; 1 MB of buffer \
             per port, each scheme with the path selection that suits it; congestion control is Swift (quick: 32 \
             hosts, 2 ms, 0.5 and 0.8). Then 128 hosts send 64 kB to one at once, over a load of 0.3. Slowdown is \
             the completion time divided by that in an empty network",
    note: "Without congestion control each sender keeps a full window in flight, and answers each header with a \
           retransmission that meets the same queue. With congestion control queues are short, few packets are \
           trimmed, and packet-level load balancing is what remains. MP-RDMA, which has its own marks and windows, \
           comes close. When 128 hosts send to one, IRN has the same mean completion time as DCP with congestion \
           control, in spite of its timeouts. DCP without congestion control takes longer because headers use the \
           larger part of the bottleneck link, by the weight of their class",
    runs,
    judge,
};

const SCHEMES: [Scheme; 8] =
    [DCP_CONTROLLED, DCP, MP_RDMA, IRN_CONTROLLED, IRN_ADAPTIVE, IRN, LOSSLESS, GO_BACK_N];
const HIGH_LOAD: f64 = 0.5;
const BEST_RATIO_MAX: f64 = 1.05;
const UNCONTROLLED_SHARE_MIN: f64 = 0.1;
const CONTROLLED_RATIO_MAX: f64 = 0.2;

fn loads(effort: Effort) -> &'static [f64] {
    effort.choose(&[0.5, 0.8], &[0.3, 0.5, 0.8])
}

fn web(effort: Effort, scheme: Scheme, load: f64) -> Run {
    let run = Run::new("claims/websearch").set("workload.0.load", load);
    let run = match effort {
        Effort::Quick => run
            .set("topology.leaves", 4)
            .set("topology.spines", 8)
            .set("topology.hosts_per_leaf", 8)
            .set("workload.0.duration", "2ms"),
        Effort::Full if load > HIGH_LOAD => run.set("workload.0.duration", "2ms"),
        Effort::Full => run,
    };
    scheme.on(run).seconds(effort.choose(0.6, 20.0))
}

fn incast(scheme: Scheme) -> Run {
    scheme.on(Run::new("claims/incast")).seconds(1.0)
}

fn runs(effort: Effort) -> Vec<Run> {
    let runs_with = |scheme: Scheme| {
        loads(effort).iter().map(move |&load| web(effort, scheme, load)).chain([incast(scheme)])
    };
    SCHEMES.into_iter().flat_map(runs_with).collect()
}

fn mean_ns(outcome: &Outcome) -> f64 {
    outcome.summary.fct_ns.map_or(f64::INFINITY, |fct| fct.mean)
}

fn slowdown(outcome: &Outcome) -> f64 {
    outcome.summary.slowdown.map_or(f64::INFINITY, |slowdown| slowdown.p99)
}

/// Retransmissions for each first transmission. Each packet is acknowledged or returns as a header.
fn retransmission_share(outcome: &Outcome) -> f64 {
    let again = outcome.summary.retransmitted_packets as f64;
    let first = outcome.summary.packets_sent as f64 / 2.0 - again;
    again / first.max(1.0)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let outcome = |scheme, load| results.outcome(&web(effort, scheme, load));
    let mut rows = Vec::new();
    for &load in loads(effort) {
        for scheme in SCHEMES {
            let outcome = outcome(scheme, load);
            let open = outcome.summary.flows - outcome.summary.finished;
            judgement.none(format!("flows that do not finish, {}, load {load}", scheme.name), open);
            rows.push(row(&format!("load {load}, {}", scheme.name), outcome));
        }
        for scheme in [DCP, DCP_CONTROLLED] {
            check_headers_received(
                judgement,
                &format!("{}, load {load}", scheme.name),
                outcome(scheme, load),
            );
        }
        let (with, without) = (outcome(DCP_CONTROLLED, load), outcome(DCP, load));
        let what =
            format!("99 % slowdown of DCP with congestion control divided by that without, load {load}");
        judgement.must(what, number(slowdown(with) / slowdown(without)).below(1.0));
        if load >= HIGH_LOAD {
            let best = |of_one: fn(&Outcome) -> f64| {
                SCHEMES[1..].iter().map(|&scheme| of_one(outcome(scheme, load))).fold(f64::INFINITY, f64::min)
            };
            let what = format!("mean completion time of DCP with congestion control, load {load}");
            judgement.must(what, time_ns(mean_ns(with)).at_most(best(mean_ns) * BEST_RATIO_MAX));
            let what = format!("99 % slowdown of DCP with congestion control, load {load}");
            judgement.must(what, number(slowdown(with)).at_most(best(slowdown) * BEST_RATIO_MAX));
        }
    }
    let highest = *loads(effort).last().expect("there are loads");
    let (with, without) = (outcome(DCP_CONTROLLED, highest), outcome(DCP, highest));
    judgement.must(
        "retransmission share without congestion control, highest load",
        fraction(retransmission_share(without)).at_least(UNCONTROLLED_SHARE_MIN),
    );
    judgement.must(
        "retransmission share with congestion control divided by that without, highest load",
        fraction(retransmission_share(with) / retransmission_share(without)).at_most(CONTROLLED_RATIO_MAX),
    );
    for scheme in SCHEMES {
        rows.push(row(&format!("128 to 1, {}", scheme.name), results.outcome(&incast(scheme))));
    }
    for scheme in [DCP, DCP_CONTROLLED] {
        check_headers_received(
            judgement,
            &format!("{}, 128 to 1", scheme.name),
            results.outcome(&incast(scheme)),
        );
    }
    let many = |scheme| results.outcome(&incast(scheme));
    judgement.must(
        "mean completion time with congestion control divided by that without, 128 to 1",
        number(mean_ns(many(DCP_CONTROLLED)) / mean_ns(many(DCP))).below(1.0),
    );
    judgement.table("| mean | 95 % | 99 % slowdown | retransmitted | dropped | timeouts", rows);
    judgement.plot("d5", &figure(results));
}

/// Checks that DCP received a header for every packet that it lost.
fn check_headers_received(judgement: &mut Judgement, name: &str, outcome: &Outcome) {
    judgement.none(format!("timeouts, {name}"), outcome.summary.timeouts.total());
    judgement.none(format!("headers lost, {name}"), outcome.summary.trims.headers_dropped);
}

fn row(name: &str, outcome: &Outcome) -> Vec<String> {
    vec![
        name.to_owned(),
        human::time_ns(mean_ns(outcome)),
        human::time_ns(quantile_ns(outcome, 0.95)),
        shown(slowdown(outcome)),
        human::count(outcome.summary.retransmitted_packets),
        human::count(outcome.summary.dropped_frames.total()),
        human::count(outcome.summary.timeouts.total()),
    ]
}

fn figure(results: &Results<'_>) -> Plot {
    let effort = results.effort();
    let curve = |scheme: Scheme| {
        let point = |&load: &f64| (load, slowdown(results.outcome(&web(effort, scheme, load))));
        Curve::marked(scheme.name, loads(effort).iter().map(point))
    };
    Plot {
        title: "99 % slowdown of web search flows".to_owned(),
        description: "99 % quantile of the slowdown of each scheme against the load.".to_owned(),
        x: Axis::new("load", Scale::Linear, Unit::Number),
        y: Axis::new("99 % slowdown", Scale::Log, Unit::Number),
        curves: SCHEMES.map(curve).to_vec(),
    }
}
