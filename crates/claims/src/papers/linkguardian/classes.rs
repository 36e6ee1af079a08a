//! L32: both modes on one link, by class.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::FORWARD;

pub(super) const CLAIM: Claim = Claim {
    id: "L32",
    title: "both modes on one link, by traffic class",
    source: source("section 5"),
    paper: "Both modes can protect different classes of traffic on one link (not built)",
    method: "The hardened protocol on a link of 100G that loses 1e-3: WRITEs with go-back-N in class 0, and a constant \
             load of 30 % in class 1, each with order or without. Go-back-N retransmits what is late: nothing if its \
             class has order, a frame or more for each lost one if it has not, whatever the other class has. The \
             reordering buffer is smaller if the load does not wait",
    note: "",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let outcome = |unordered: &str| {
        let run = Run::new("claims/classes").set("protect.0.unordered", unordered);
        results.outcome(&run.set("stop.after", results.effort().choose("3ms", "30ms")))
    };
    for (name, unordered, is_late) in [
        ("both ordered", "[]", false),
        ("load without order", "[1]", false),
        ("WRITEs without order", "[0]", true),
        ("both without order", "[0, 1]", true),
    ] {
        let outcome = outcome(unordered);
        let resent = outcome.summary.retransmitted_packets;
        judgement.none(format!("timeouts, {name}"), outcome.summary.timeouts.total());
        judgement
            .none(format!("frames that the link did not recover, {name}"), outcome.summary.protection.lost);
        let what = format!("packets that hosts retransmit, {name}");
        if is_late {
            judgement
                .printed(what, number(resent as f64).at_least(outcome.lane(FORWARD).corrupted as f64 / 2.0));
        } else {
            judgement.printed(what, count(resent).is(0));
        }
        let buffer = bytes(outcome.summary.protection.rx_buffer_bytes_max as f64);
        judgement.row(name, [&outcome.goodput(), &outcome.p99(), &count(resent), &buffer]);
    }
    let buffer = |unordered| bytes(outcome(unordered).summary.protection.rx_buffer_bytes_max as f64);
    let order = ascending(&[("load without order", buffer("[1]")), ("both ordered", buffer("[]"))], 0.0);
    judgement.must("largest reordering buffer", order);
    judgement.columns("| goodput | 99 % | retransmitted | reordering buffer");
}
