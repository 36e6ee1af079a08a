//! D5: web search flows on 256 hosts, with and without congestion control.

use super::scheme::{
    DCP, DCP_CONTROLLED, GO_BACK_N, IRN, IRN_ADAPTIVE, IRN_CONTROLLED, LOSSLESS, MP_RDMA, Memory,
    RACK_TLP_ADAPTIVE, Scheme,
};
use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D5",
    title: "DCP needs congestion control under high load",
    source: source("evaluation, simulations #2"),
    paper: "256 servers, 16 per rack, two layers, 100 Gb/s: without congestion control many retransmissions make \
           congestion worse; with it DCP is the best scheme under high load",
    method: "Web search flows at loads of 0.3, 0.5 and 0.8 with 2 ms of arrivals (quick: 32 hosts, 0.5 and 0.8); then 128 hosts send 64 kB to one at once, over a load of 0.3. Every scheme has 1 MB \
             per port, 32 MB per switch as in the published simulator, whose switches trim only what their shared \
             buffer does not admit: DCP trims where the others drop. As a cause of differences, the same with ports \
             of one bandwidth-delay product, 130 kB. Each scheme has the path selection that suits it; congestion \
             control is Swift. Slowdown is the completion time divided by that in an empty network",
    note: "Which conclusion holds depends on the memory. With 1 MB per port next to nothing is trimmed under web \
           search flows, 15 packets at a load of 0.8: DCP needs no congestion control, has lower means than \
           RACK-TLP and IRN without it, and congestion control shortens only the tail at 0.8. With one \
           bandwidth-delay product per port a quarter of the packets is retransmitted without congestion control, \
           and all nine statements come out; what speaks against it are flows of the others that fail, MP-RDMA's \
           and one of IRN's. When 128 hosts send to one, congestion control matters with both memories, and \
           RACK-TLP is faster than DCP with it: headers use nine tenths of the congested link, by the weight of \
           their class for a fan-in that no weight can serve. With a weight of 0.1 headers wait instead, none is \
           lost, and the mean with 130 kB is 0.56 instead of 3.8 ms",
    judge,
    ..Claim::FORM
};

const SCHEMES: [Scheme; 9] =
    [DCP_CONTROLLED, DCP, MP_RDMA, RACK_TLP_ADAPTIVE, IRN_CONTROLLED, IRN_ADAPTIVE, IRN, LOSSLESS, GO_BACK_N];
/// Memory of the paper's simulator, and the cause that is applied.
const MEMORIES: [Memory; 2] = [Memory::LARGE, Memory::BDP];
const HIGH_LOAD: f64 = 0.5;
const BEST_RATIO_MAX: f64 = 1.05;
const UNCONTROLLED_SHARE_MIN: f64 = 0.1;
const CONTROLLED_RATIO_MAX: f64 = 0.2;

fn loads(effort: Effort) -> &'static [f64] {
    effort.choose(&[0.5, 0.8], &[0.3, 0.5, 0.8])
}

fn web(effort: Effort, memory: Memory, scheme: Scheme, load: f64) -> Run {
    let run = Run::new("claims/websearch").set("workload.0.load", load);
    let run = match effort {
        Effort::Quick => {
            run.set("topology.leaves", 4).set("topology.spines", 8).set("topology.hosts_per_leaf", 8)
        }
        Effort::Full => run,
    };
    scheme.on(run.set("workload.0.duration", "2ms"), memory).seconds(effort.choose(0.6, 15.0))
}

fn incast(memory: Memory, scheme: Scheme) -> Run {
    scheme.on(Run::new("claims/incast"), memory).seconds(1.0)
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
    for memory in MEMORIES {
        check_recovery(judgement, results, memory);
    }
    let [large, bdp] = MEMORIES.map(|memory| statements(results, memory));
    let applied: Vec<_> = large
        .into_iter()
        .zip(bdp)
        .map(|((what, measured, bound), (_, applied, _))| {
            let test = match bound {
                Bound::AtLeast(bound) => measured.at_least(bound),
                Bound::AtMost(bound) => measured.at_most(bound),
            };
            (judgement.printed(what, test), applied)
        })
        .collect();
    judgement.explain("ports of one bandwidth-delay product, 130 kB, for every scheme", 1, &applied);
    let columns = "| mean | 95 % | 99 % slowdown | retransmitted | dropped | timeouts";
    judgement.table(columns, MEMORIES.iter().flat_map(|&memory| rows(results, memory)).collect());
    for memory in MEMORIES {
        judgement.plot(&format!("d5-{}", memory.port.to_lowercase()), &figure(results, memory));
    }
}

/// All flows finish, and DCP needs no timer.
fn check_recovery(judgement: &mut Judgement, results: &Results<'_>, memory: Memory) {
    let effort = results.effort();
    for &load in loads(effort) {
        let outcome = |scheme| results.outcome(&web(effort, memory, scheme, load));
        for scheme in SCHEMES {
            let open = outcome(scheme).summary.flows - outcome(scheme).summary.finished;
            let what = format!("flows that do not finish, {}, {}, load {load}", memory.port, scheme.name);
            judgement.none(what, open);
        }
        for scheme in [DCP, DCP_CONTROLLED] {
            let name = format!("{}, {}, load {load}", memory.port, scheme.name);
            check_headers_received(judgement, &name, outcome(scheme));
        }
    }
    let many = |scheme| results.outcome(&incast(memory, scheme));
    for scheme in [DCP, DCP_CONTROLLED] {
        let name = format!("{}, {}, 128 to 1", memory.port, scheme.name);
        check_headers_received(judgement, &name, many(scheme));
    }
    judgement.must(
        format!(
            "mean completion time with congestion control divided by that without, {}, 128 to 1",
            memory.port
        ),
        number(mean_ns(many(DCP_CONTROLLED)) / mean_ns(many(DCP))).below(1.0),
    );
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// What the paper states: name, measured value and band.
fn statements(results: &Results<'_>, memory: Memory) -> Vec<(String, Number, Bound)> {
    let effort = results.effort();
    let outcome = |scheme, load| results.outcome(&web(effort, memory, scheme, load));
    let mut all = Vec::new();
    for &load in loads(effort) {
        let (with, without) = (outcome(DCP_CONTROLLED, load), outcome(DCP, load));
        all.push((
            format!("99 % slowdown of DCP with congestion control divided by that without, load {load}"),
            number(slowdown(with) / slowdown(without)),
            Bound::AtMost(1.0),
        ));
        if load >= HIGH_LOAD {
            let ratio = |of_one: fn(&Outcome) -> f64| {
                let others = SCHEMES[1..].iter().map(|&scheme| of_one(outcome(scheme, load)));
                number(of_one(with) / others.fold(f64::INFINITY, f64::min))
            };
            let what = "of DCP with congestion control divided by the best of the others";
            let bound = || Bound::AtMost(BEST_RATIO_MAX);
            all.push((format!("mean completion time {what}, load {load}"), ratio(mean_ns), bound()));
            all.push((format!("99 % slowdown {what}, load {load}"), ratio(slowdown), bound()));
        }
    }
    let highest = *loads(effort).last().expect("there are loads");
    let [with, without] = [DCP_CONTROLLED, DCP].map(|scheme| retransmission_share(outcome(scheme, highest)));
    all.push((
        "retransmission share without congestion control, highest load".to_owned(),
        fraction(without),
        Bound::AtLeast(UNCONTROLLED_SHARE_MIN),
    ));
    all.push((
        "retransmission share with congestion control divided by that without, highest load".to_owned(),
        fraction(with / without.max(f64::MIN_POSITIVE)),
        Bound::AtMost(CONTROLLED_RATIO_MAX),
    ));
    all
}

fn rows(results: &Results<'_>, memory: Memory) -> Vec<Vec<String>> {
    let effort = results.effort();
    let port = memory.port;
    let of_load = |&load: &f64| {
        SCHEMES.map(|scheme| {
            let name = format!("{port}, load {load}, {}", scheme.name);
            row(&name, results.outcome(&web(effort, memory, scheme, load)))
        })
    };
    let many = SCHEMES.map(|scheme| {
        row(&format!("{port}, 128 to 1, {}", scheme.name), results.outcome(&incast(memory, scheme)))
    });
    loads(effort).iter().flat_map(of_load).chain(many).collect()
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

fn figure(results: &Results<'_>, memory: Memory) -> Plot {
    let effort = results.effort();
    let curve = |scheme: Scheme| {
        let point = |&load: &f64| (load, slowdown(results.outcome(&web(effort, memory, scheme, load))));
        Curve::marked(scheme.name, loads(effort).iter().map(point))
    };
    Plot {
        title: format!("99 % slowdown of web search flows, {} per port", memory.port),
        description: "99 % quantile of the slowdown of each scheme against the load.".to_owned(),
        x: Axis::new("load", Scale::Linear, Unit::Number),
        y: Axis::new("99 % slowdown", Scale::Log, Unit::Number),
        curves: SCHEMES.map(curve).to_vec(),
    }
}
