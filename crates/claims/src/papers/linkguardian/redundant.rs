//! L42: redundancy from end to end.

use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L42",
    title: "redundancy of hosts and of the link",
    source: source("section 2"),
    paper: "Forward error correction or duplicates from end to end can also recover losses. They add redundant bytes for \
            all packets on the entire path, and risk worsening congestion. For one-sided RDMA decoding is impossible. \
            Link-local retransmission adds its bytes on the corrupting link alone",
    method: "Flows of one packet (1000 B, RDMA) from four hosts to another rack; one uplink of four loses 1e-3. Hosts send \
             every packet twice: the erasure code of one packet and one parity. At a load of 10 % (400 000 flows; quick: \
             40 000): timeouts relative to those without protection, and bytes on uplinks without loss relative to \
             those without redundancy. At 40 %: the 99 % quantile",
    note: "The code with k = 1 is the one that fits most flows (L26), and needs no decoder: the responder drops what \
           comes twice. Codes over several packets at the hosts are not measured",
    judge,
    ..Claim::FORM
};

/// Uplinks of the rack without losses.
const OTHERS: [&str; 3] = ["leaf0>spine1", "leaf0>spine2", "leaf0>spine3"];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| timeouts | 99 % | 99.9 % | slowest | bytes on the other uplinks");
    let flows = results.effort().choose(40_000, 400_000);
    let names = ["no loss", "loss", "twice", "protected"];
    let bytes_of =
        |outcome: &Outcome| -> f64 { OTHERS.map(|lane| outcome.lane(lane).tx_bytes as f64).iter().sum() };
    for load in [0.1, 0.4] {
        let all = names.map(|variant| {
            let run = Run::new("claims/redundant").variant(variant).set("workload.0.load", load);
            results.outcome(&run.set("workload.0.flows", flows).seconds(f64::from(flows) * 1e-5))
        });
        let [clean, lossy, twice, protected] = all;
        let percent = human::percent(load);
        for (name, outcome) in names.into_iter().zip(all) {
            judgement.none(format!("flows that do not finish, {name}, {percent} %"), outcome.unfinished());
            let cells: [&dyn std::fmt::Display; 5] = [
                &outcome.timeouts(),
                &outcome.p99(),
                &outcome.p999(),
                &outcome.longest(),
                &bytes(bytes_of(outcome)),
            ];
            judgement.row(format!("{name}, {percent} %"), cells);
        }
        judgement.none(format!("timeouts, protected, {percent} %"), protected.summary.timeouts.total());
        let relative = |outcome: &Outcome| fraction(bytes_of(outcome) / bytes_of(clean).max(1.0));
        let what = |name| format!("bytes on the other uplinks, {name}, {percent} %");
        judgement.printed(what("twice"), relative(twice).at_least(1.9));
        judgement.printed(what("protected"), relative(protected).near(1.0, 0.01));
        if load < 0.2 {
            judgement.some("timeouts without protection", lossy.summary.timeouts.total());
            let left = twice.timeouts().per(lossy.timeouts());
            judgement.printed("timeouts, twice, relative to none", left.at_most(0.05));
        } else {
            let worse = twice.p99() / lossy.p99();
            judgement.printed("99 %, twice divided by without protection, 40 %", worse.at_least(1.1));
        }
    }
}
