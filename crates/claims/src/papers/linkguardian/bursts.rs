//! L33: dummies where losses come in bursts.

use super::transport::RoundTrip;
use super::trial::{ALL, Trial};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L33",
    title: "several dummies reveal a tail lost in a burst",
    source: source("section 5"),
    paper: "In a burst the last frame and the dummy behind it may both be lost. Several dummies whenever the queue \
           becomes empty reveal such a tail with high probability",
    method: "Flows of 143 B with RDMA (L9), one at a time, over a link that loses 1e-3 of its frames in bursts of two on \
             average: each loss is followed by another with probability 1/2. The tail of a flow stays lost, and waits for \
             the timer of the host, if all k dummies behind it are lost too: 1e-3 · (1/2)^k of the flows, for one, two, \
             three and eight dummies, with four copies of each retransmission",
    note: "The length of a burst counts frames, not time. The testbed has three dummies",
    judge,
    ..Claim::FORM
};

const LOSS: f64 = 1e-3;
const LENGTH: f64 = 2.0;
const PROTOTYPE: &str = "by = \"linkguardian\", profile = \"prototype\"";

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let trial = Trial::new(143, results.effort(), RoundTrip::Rdma);
    let mut shares = Vec::new();
    for dummies in [1, 2, 3, 8_u8] {
        let link = "links = \"switches\", direction = \"forward\"";
        let protect = format!("[{{ {link}, {PROTOTYPE}, copies = 4, dummies = {dummies} }}]");
        let bursts = format!("[{{ {link}, kind = \"bursts\", loss = {LOSS}, length = {LENGTH} }}]");
        let outcome = results.outcome(&trial.run(ALL).set("impair", bursts).set("protect", protect));
        let waiting = outcome.summary.flows_with_timeout.count;
        let name = format!("{dummies} dummies");
        judgement.none(format!("flows that do not finish, {name}"), outcome.unfinished());
        let expected = LOSS * (1.0 - 1.0 / LENGTH).powi(i32::from(dummies));
        judgement.must(
            format!("flows whose tail stays lost, {name}"),
            share(waiting, outcome.summary.flows).expected(expected),
        );
        shares.push((name.clone(), fraction(waiting as f64 / outcome.summary.flows as f64)));
        judgement.row(name, [&outcome.median(), &outcome.p999(), &outcome.longest(), &count(waiting)]);
    }
    let falling: Vec<_> = shares.iter().rev().map(|(name, share)| (name.as_str(), *share)).collect();
    judgement.printed("flows with a timeout", ascending(&falling, 0.0));
    judgement.columns("| median | 99.9 % | slowest | flows with a timeout");
}
