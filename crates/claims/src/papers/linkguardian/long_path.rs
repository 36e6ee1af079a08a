//! L30: several corrupting links on a path.

use super::multi_packet::FLOW_BYTES;
use super::transport::RoundTrip;
use super::trial::{ALL, HARDENED, HIDDEN_RATIO_MAX, LOSS, NO_LOSS, Trial};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L30",
    title: "several corrupting links on a path",
    source: source("section 5"),
    paper: "Links protect themselves independently. With several corrupting links on a path more flows are affected, \
           each possibly several times, and protection helps more (not measured)",
    method: "Flows of 24 387 B with RDMA at 16 µs (L10) over one, two and four corrupting links between five switches \
             at most. The share of unprotected flows that take longer than any without loss, and the mean divided by that with \
             protection, must grow with the links. With protection the 99.9 % quantile is at most twice that without \
             loss, and no timer expires",
    note: "A switch in the middle has one loopback port for the copies of one link and the waiting frames of the other",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let trial = Trial::new(FLOW_BYTES, results.effort(), RoundTrip::Rdma);
    let trial = Trial { flows: results.effort().choose(4_000, 40_000), ..trial };
    let (mut affected, mut gains) = (Vec::new(), Vec::new());
    for links in [1, 2, 4_u8] {
        let of = |variant| results.outcome(&trial.run(variant).set("topology.switches", links + 1));
        let name = |variant: &str| format!("{variant}, {links} links");
        let lossy = of(LOSS);
        let slowest = of(NO_LOSS).longest().value;
        affected.push((name(LOSS), fraction(share_above(lossy, slowest))));
        for variant in [ALL, HARDENED] {
            let outcome = of(variant);
            judgement.none(format!("timeouts, {}", name(variant)), outcome.summary.timeouts.total());
            let longer = outcome.p999() / of(NO_LOSS).p999();
            let what = format!("99.9 % divided by that without loss, {}", name(variant));
            judgement.printed(what, longer.at_most(HIDDEN_RATIO_MAX));
        }
        gains.push((name(ALL), lossy.mean() / of(ALL).mean()));
        for variant in [NO_LOSS, LOSS, ALL, HARDENED] {
            let outcome = of(variant);
            let cells: [&dyn std::fmt::Display; 4] =
                [&outcome.mean(), &outcome.p99(), &outcome.p999(), &outcome.timeouts()];
            judgement.row(name(variant), cells);
        }
    }
    for (what, all) in [
        ("flows that take longer than any without loss", affected),
        ("mean with loss divided by that with protection", gains),
    ] {
        let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        judgement.printed(what, ascending(&all, 0.0));
    }
    judgement.columns("| mean | 99 % | 99.9 % | timeouts");
}
