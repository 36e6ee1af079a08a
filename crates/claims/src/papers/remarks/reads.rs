//! J25: dummies behind READs.

use super::short_flows;
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J25",
    title: "dummy READs protect the tail of a READ",
    source: source("section 5.2"),
    paper: "READ is an exception: for the tail of each READ some dummy READs should be injected, which pull dummy \
            headers from the responder. No numbers are given",
    method: "READs of one packet one after the other, over a link that corrupts 10 % of the full packets, without \
             dummies and with one or two dummy READs: timeouts",
    note: "A requester detects a lost response by the response to the next READ. It asks again, and nothing copies the \
           second response: that it is lost too is what remains",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let with = |dummies: u32| {
        let run = short_flows(results.effort()).set("transport.operation", "read");
        results.outcome(&run.set("mend.dummies", dummies))
    };
    let bare = with(0).timeouts();
    for dummies in [0, 1, 2] {
        let outcome = with(dummies);
        let name = format!("{dummies} dummy READs");
        judgement.none(format!("READs that do not finish, {name}"), outcome.unfinished());
        if dummies > 0 {
            // A tenth of the responses that are sent again, and lost dummies and their responses.
            let left = fraction(outcome.timeouts().per(bare).value).at_most(0.15);
            judgement.must(format!("timeouts divided by those without, {name}"), left);
        }
        judgement.row(name, [&outcome.timeouts(), &outcome.p99(), &outcome.p999()]);
    }
    judgement.columns("| timeouts | 99 % | 99.9 %");
}
